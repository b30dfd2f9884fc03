"""Each rule alone, on tiny inputs: what it reads is put in place, what it writes is checked."""

import json

import numpy as np
import pandas as pd
import pytest

import flode
from flode.datasets.dsbm import generate_graphs
from flode.datasets.graph import Graph, count_graphs, save_graphs
from flode.experiments.catalogue import Run
from flode.experiments.factorization import factorize_graphs
from flode.experiments.runfiles import read_run, save_run
from flode.spectral import Factors, sna
from flode.spectral.factors import save_factors
from tests.configuration import ROOT, TINY, catalogue, merge
from tests.run_samples import put_run_file
from tests.workflow_runner import snakemake, working_copy, write_overlay

VARIANT = "dsbm-alpha0.1-beta0.2"
PREFIX = TINY["results"]
GRAPHS = f"{PREFIX}/graphs/{VARIANT}.npz"
CATALOGUE = catalogue(TINY)
FACTORS = f"{PREFIX}/factors/{VARIANT}.safetensors"


@pytest.fixture
def folder(tmp_path):
    return working_copy(tmp_path, TINY)


def put_graphs(folder):
    settings = catalogue(TINY).graph_settings(VARIANT)
    save_graphs(generate_graphs(settings["generator"], settings["seed"]), folder / GRAPHS)


def put_factors(folder):
    settings = catalogue(TINY).factor_settings(VARIANT)
    save_factors(factorize_graphs(folder / GRAPHS, settings, "cpu"), folder / FACTORS)


def put_runs(folder, runs):
    """Run files with accuracies drawn from a seed, in place of trainings."""
    found = CATALOGUE
    rng = np.random.default_rng(0)
    for run in runs:
        learned = {"exponent": [1.1], "step_size": [[0.9, 0.1]], "dirichlet_energy": 0.2}
        put_run_file(
            found,
            folder / PREFIX / "runs",
            run,
            range(found.num_splits(run.variant)),
            test=lambda _: float(rng.uniform(0.5, 1)),
            record={"best_epoch": 3, "epochs": 4} | learned,
        )


def run_alone(folder, rule, target):
    """One rule and no other."""
    return snakemake(folder, target, "--allowed-rules", rule, "--rerun-triggers", "mtime")


def test_generate_graphs(folder):
    run_alone(folder, "generate_graphs", GRAPHS)
    assert count_graphs(folder / GRAPHS) == 2
    first, second = (Graph.load(folder / GRAPHS, number) for number in range(2))
    assert first.num_nodes == 60 and first.num_classes == 5
    assert first.train.sum() == 15 and first.validation.sum() == 15
    assert not np.array_equal(first.features, second.features)
    log = (folder / f"{PREFIX}/logs/graphs/{VARIANT}.log").read_text()
    assert "2 graphs of 60 nodes" in log


def test_factorize_graphs(folder):
    put_graphs(folder)
    run_alone(folder, "factorize_graphs", FACTORS)
    for number in range(2):
        graph = Graph.load(folder / GRAPHS, number)
        factors = Factors.load(folder / FACTORS, number)
        laplacian = sna(graph.edge_index, graph.edge_weight, graph.num_nodes).toarray()
        np.testing.assert_allclose(factors.fractional_power(1.0).numpy(), laplacian, atol=1e-5)


@pytest.mark.parametrize(
    ("configuration", "splits"), [("default", "0-1"), ("exponent=1,layers=2", "1-1")]
)
def test_train(folder, configuration, splits):
    put_graphs(folder)
    put_factors(folder)
    target = f"{PREFIX}/runs/{VARIANT}/{configuration}/splits-{splits}.json"
    run_alone(folder, "train", target)
    document = json.loads((folder / target).read_text())
    first, last = map(int, splits.split("-"))
    assert [record["split"] for record in document["records"]] == list(range(first, last + 1))
    assert document["configuration"] == configuration and document["quick"] is True
    hyperparameters = catalogue(TINY).hyperparameters(Run(VARIANT, configuration))
    assert document["hyperparameters"] == hyperparameters
    needed = {"train", "validation", "test", "best_epoch", "epochs", "exponent", "step_size"}
    needed |= {"channel_mixing", "dirichlet_energy", "path", "seconds"}
    for record in document["records"]:
        assert needed <= set(record)
        assert record["epochs"] <= 4
        assert (record["exponent"] == [1.0]) == ("exponent=1" in configuration)
    assert {"seed", "versions", "device", "commit"} <= set(document)
    assert not (folder / f"{PREFIX}/.partial").exists() or not list(
        (folder / f"{PREFIX}/.partial").rglob("*.pt")
    )


def test_train_keeping_models(folder):
    write_overlay(folder, TINY, {"training": {"save_models": [f"{VARIANT}/layers=2"]}})
    put_graphs(folder)
    put_factors(folder)
    name = f"{VARIANT}/layers=2/splits-1-1"
    run_alone(folder, "train_keeping_models", f"{PREFIX}/runs/{name}.json")
    (record,) = json.loads((folder / f"{PREFIX}/runs/{name}.json").read_text())["records"]
    model = flode.load_model(folder / f"{PREFIX}/models/{name}.safetensors", split=1)
    graph, factors = Graph.load(folder / GRAPHS, 1), Factors.load(folder / FACTORS, 1)
    right = model(graph.features, factors).argmax(dim=1).numpy() == graph.labels
    assert right[graph.test[0]].mean() == pytest.approx(record["test"])


def test_train_a_model_of_ones_own(folder):
    """Without factors, and anew once its file is another."""
    code = (ROOT / "tests/own_model.py").read_text()
    (folder / "mine.py").write_text(code)
    entry = {"class": "mine.py:OwnModel", "keywords": {"width": 4}}
    write_overlay(folder, TINY, {"models": {"mine": entry}})
    put_graphs(folder)
    target = f"{PREFIX}/runs/{VARIANT}/model=mine/splits-0-1.json"
    run_alone(folder, "train", target)
    document = json.loads((folder / target).read_text())
    assert [record["split"] for record in document["records"]] == [0, 1]
    assert document["model"]["class"] == "mine.py:OwnModel"
    assert document["model"]["keywords"] == {"width": 4}
    assert not (folder / FACTORS).exists()
    assert "Nothing to be done" in snakemake(folder, "-n", target).stdout
    (folder / "mine.py").write_text(code + "# another\n")
    assert "Params have changed" in snakemake(folder, "-n", target).stdout


def test_take_run(folder):
    """In place of a training while it is asked for; then it is trained here after all."""
    put_runs(folder, [Run(VARIANT)])
    (file,) = CATALOGUE.run_files(Run(VARIANT))
    (folder / PREFIX / "runs").rename(folder / "before")
    write_overlay(folder, TINY, {"measured": "before"})
    run_alone(folder, "take_run", file)
    taken = json.loads((folder / file).read_text())
    (source,) = taken.pop("taken_from")
    assert source == file.replace(f"{PREFIX}/runs", "before")
    before = json.loads((folder / source).read_text())
    assert taken["records"] == before["records"]
    assert taken["origin"] == before["origin"]
    assert "Nothing to be done" in snakemake(folder, "-n", file).stdout
    other = file.replace("default", "layers=2")
    assert "Training dsbm" in snakemake(folder, "-n", other).stdout
    write_overlay(folder, TINY)
    assert "Training dsbm" in snakemake(folder, "-n", file).stdout


def test_take_statistics(folder):
    """Of a graph that is read from raw files, which are not there."""
    settings = CATALOGUE.statistics_settings("cora")
    before = folder / "before" / "cora" / "statistics.json"
    before.parent.mkdir(parents=True)
    before.write_text(json.dumps(settings | {"rank": 5}))
    write_overlay(folder, TINY, {"measured": "before"})
    file = CATALOGUE.statistics_file("cora")
    run_alone(folder, "take_statistics", file)
    taken = json.loads((folder / file).read_text())
    assert taken["rank"] == 5
    assert taken["taken_from"] == ["before/cora/statistics.json"]
    other = CATALOGUE.statistics_file("citeseer")
    assert "Taking" not in snakemake(folder, "-n", other).stdout


def test_collect(folder):
    run, whole = Run(VARIANT, "layers=4"), merge(TINY, {"quick": False})
    write_overlay(folder, whole)
    put_graphs(folder)
    put_factors(folder)
    (file,) = CATALOGUE.run_files(run)
    run_alone(folder, "train", file)
    # Whatever this test's own code is: what no commit has is not collected.
    save_run(read_run(folder / file) | {"commit": "c" * 40}, folder / file)
    done = run_alone(folder, "collect", "collect")
    assert "run files added: 1; replaced by these: 0; there already: 0" in done.stdout
    kept = file.replace("/runs/", "/measured/")
    assert (folder / kept).read_bytes() == (folder / file).read_bytes()
    (folder / file).unlink()
    write_overlay(folder, whole, {"measured": f"{PREFIX}/measured"})
    run_alone(folder, "take_run", file)
    assert json.loads((folder / file).read_text())["taken_from"] == [kept]


def test_table(folder):
    put_runs(folder, catalogue(TINY).table_runs("dsbm"))
    run_alone(folder, "table", f"{PREFIX}/tables/dsbm.tex")
    frame = pd.read_csv(folder / f"{PREFIX}/tables/dsbm.csv", dtype={"column": str})
    measured = frame[frame["row"] == "FLODE"]
    assert len(measured) == 11 and (measured["n"] == 2).all()
    assert (measured["verdict"] == "quick run").all()
    assert frame.loc[frame["row"] != "FLODE", "mean"].isna().all()
    assert "Quick run" in (folder / f"{PREFIX}/tables/dsbm.tex").read_text()


def test_hyperparameter_table(folder):
    put_runs(folder, catalogue(TINY).table_runs("dsbm_hyperparameters"))
    run_alone(folder, "table", f"{PREFIX}/tables/dsbm_hyperparameters.tex")
    frame = pd.read_csv(folder / f"{PREFIX}/tables/dsbm_hyperparameters.csv")
    used = frame[(frame["row"] == "learning_rate")]
    assert (used["mean"] == used["published_mean"]).all() and len(used) == 11


def test_figure(folder):
    put_runs(folder, catalogue(TINY).table_runs("dsbm"))
    run_alone(folder, "table", f"{PREFIX}/tables/dsbm.csv")
    run_alone(folder, "figure", f"{PREFIX}/figures/dsbm.pdf")
    for extension in ("pdf", "svg", "csv"):
        assert (folder / f"{PREFIX}/figures/dsbm.{extension}").stat().st_size > 500
    plotted = pd.read_csv(folder / f"{PREFIX}/figures/dsbm.csv")
    assert len(plotted) > 11


def test_search(folder):
    found = catalogue(TINY)
    candidates = found.search_runs("dsbm")
    put_runs(folder, [run for runs in candidates.values() for run in runs])
    run_alone(folder, "search", f"{PREFIX}/search/dsbm.csv")
    frame = pd.read_csv(folder / f"{PREFIX}/search/dsbm.csv")
    assert len(frame) == 4
    for _, own in frame.groupby("variant"):
        assert own["chosen"].sum() == 1 and own["configured"].sum() == 1
        best = own.loc[own["chosen"], "validation_mean"].item()
        assert best == own["validation_mean"].max()


def test_an_ablation_chooses_by_validation(folder):
    """A new row is an entry; its runs are those of any other study."""
    published = folder / "published.csv"
    header = "subtable,group,row,column,metric,unit,mean,error,error_kind,n,note,source"
    published.write_text(f"{header}\nown,0,fixed,test accuracy,accuracy,%,60.0,2.0,std,5,,t\n")
    rows = {
        "learned": {"variant": VARIANT, "set": {}, "label": "learned"},
        "fixed": {"variant": VARIANT, "set": {"exponent": 1}, "label": "fixed"},
    }
    spec = {
        "kind": "ablation",
        "caption": "Own.",
        "label": "tab:own",
        "published": "published.csv",
        "choose": {"num_layers": [2, 3]},
        "subtables": {"own": {"caption": "Own.", "rows": rows}},
    }
    overlay = merge(TINY, {"tables": {"own": spec}})
    write_overlay(folder, overlay)
    runs = catalogue(overlay).table_runs("own")
    assert {run.configuration for run in runs} == {
        "default", "layers=2", "exponent=1", "exponent=1,layers=2",
    }  # fmt: skip
    put_runs(folder, runs)
    run_alone(folder, "table", f"{PREFIX}/tables/own.tex")
    frame = pd.read_csv(folder / f"{PREFIX}/tables/own.csv").set_index(["row", "column"])
    assert frame.loc[("fixed", "layers"), "mean"] in (2, 3)
    assert frame.loc[("fixed", "test accuracy"), "published_mean"] == 60
    assert frame["n"].dropna().eq(2).all()


def test_a_study_of_an_operator_and_its_figure(folder):
    overlay = {
        "studies": {"own": {"kind": "spectrum", "graphs": {"DSBM": VARIANT}}},
        "figures": {"own": {"kind": "spectrum", "study": "own"}},
    }
    write_overlay(folder, TINY, overlay)
    put_graphs(folder)
    put_factors(folder)
    run_alone(folder, "study", f"{PREFIX}/studies/own.csv")
    frame = pd.read_csv(folder / f"{PREFIX}/studies/own.csv")
    graph = Graph.load(folder / GRAPHS)
    laplacian = sna(graph.edge_index, graph.edge_weight, graph.num_nodes).toarray()
    found = frame[frame["kind"] == "eigenvalue"]
    assert len(found) == 60
    assert found["real"].sum() == pytest.approx(np.trace(laplacian), abs=1e-8)
    perron = frame.loc[frame["kind"] == "perron", "real"].item()
    assert perron == pytest.approx(np.abs(np.linalg.eigvals(laplacian)).max(), abs=1e-8)
    run_alone(folder, "figure", f"{PREFIX}/figures/own.pdf")
    assert (folder / f"{PREFIX}/figures/own.svg").stat().st_size > 500


def test_a_study_of_a_series_of_runs_and_its_figure(folder):
    spec = {
        "kind": "truncated_svd",
        "graphs": {"DSBM": VARIANT},
        "series": {"ranks": {"points": [{"rank": 5}, {"rank": None}]}},
    }
    overlay = {"studies": {"own": spec}, "figures": {"own": {"kind": "truncated_svd"}}}
    overlay["figures"]["own"]["study"] = "own"
    write_overlay(folder, TINY, overlay)
    put_graphs(folder)
    put_factors(folder)
    put_runs(folder, [Run(VARIANT, "rank=5"), Run(VARIANT)])
    run_alone(folder, "study", f"{PREFIX}/studies/own.csv")
    frame = pd.read_csv(folder / f"{PREFIX}/studies/own.csv")
    assert frame["configuration"].tolist() == ["rank=5", "default"]
    assert frame["x"].tolist() == [5, Factors.load(folder / FACTORS).rank]
    run_alone(folder, "figure", f"{PREFIX}/figures/own.pdf")


def test_what_was_run_so_far_is_shown_and_made_whole_by_the_next_call(folder):
    runs = catalogue(TINY).table_runs("dsbm")
    put_runs(folder, runs[:3])
    run_alone(folder, "partial", "partial")
    table = f"{PREFIX}/tables/dsbm.csv"
    assert (pd.read_csv(folder / table)["verdict"] == "not run").sum() == 7  # a run has two cells
    put_runs(folder, runs[3:])
    run_alone(folder, "table", table)
    assert not (pd.read_csv(folder / table)["verdict"] == "not run").any()


def test_clean(folder):
    put_graphs(folder)
    put_runs(folder, [Run(VARIANT)])
    mine = folder / PREFIX / "tables" / "mine.csv"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    raw = folder / "results/raw/planetoid/data/ind.cora.graph"
    raw.parent.mkdir(parents=True)
    raw.write_text("raw")
    snakemake(folder, "clean", "-n")
    assert (folder / GRAPHS).exists()
    done = snakemake(folder, "clean")
    assert "files removed: 2" in done.stdout
    assert "does not make: 1, such as results/tiny/tables/mine.csv" in done.stdout
    left = {str(path.relative_to(folder)) for path in (folder / "results").rglob("*.*")}
    expected = {f"{PREFIX}/tables/mine.csv", f"{PREFIX}/logs/clean.log"}
    assert left == expected | {"results/raw/planetoid/data/ind.cora.graph"}
    snakemake(folder, "clean_all")
    assert mine.exists() and not raw.exists()
