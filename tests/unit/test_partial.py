"""Tables of a workflow in which some runs are missing."""

import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pytest

from flode.experiments.catalogue import Run
from flode.reporting import partial
from flode.reporting.partial import show_partial, write_partial
from flode.reporting.tidy import read_table
from tests.configuration import ROOT, catalogue, configuration
from tests.run_samples import put_run_file

TABLES = Path("results/partial/tables")
PAGES = Path("results/partial/report/tables")
OVERLAY = {"results": "results/partial", "data": {"folder": "results/raw"}}


@pytest.fixture
def found(tmp_path, monkeypatch):
    """The repository's catalogue, results and raw data in a folder of their own."""
    for name in ("config",):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return catalogue(OVERLAY)


@pytest.fixture
def report(found, monkeypatch):
    """What the report shows of those results, under an overlay."""
    items = []
    monkeypatch.setattr(partial, "make_report", lambda *arguments: items.extend(arguments[2]))
    monkeypatch.setattr(partial, "forget", lambda *_: None)
    monkeypatch.setattr(partial, "make_figure", lambda _, source, stem: put(*pictures(stem)))

    def made(overlay=()):
        items.clear()
        show_partial(configuration(OVERLAY | dict(overlay)), ROOT / "Snakefile", whole=True)
        return set(map(Path, items))

    return made


def pictures(stem):
    return [Path(f"{stem}.{suffix}") for suffix in ("pdf", "svg", "csv")]


def put(*paths, date=None):
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        if date is not None:
            os.utime(path, (date, date))


def put_run(found, variant, test):
    run = Run(variant)
    splits = range(found.num_splits(variant))
    weights = {"channel_mixing": [[[0.5, 0.25], [-1.0, 0.5]]], "step_size": [[1.0, 0.0]]}
    record = {"epochs": 1, **weights}
    put_run_file(found, f"{found.results}/runs", run, splits, test=test, record=record)


def test_what_was_run_is_shown_and_the_rest_says_why_not(found):
    put_run(found, "cora", 0.87)
    written = write_partial(found)
    assert TABLES / "node_classification_full.csv" in written
    assert TABLES / "dsbm.csv" not in written  # none of its runs is there
    found = measured("node_classification_full")
    assert found.loc[("undirected", "Cora"), "mean"] == pytest.approx(87)
    pubmed = found.loc[("undirected", "Pubmed")]
    assert pubmed["verdict"] == "not run"
    assert pd.isna(pubmed["mean"])
    assert "results/raw/planetoid/data/ind.pubmed.allx" in pubmed["note"]
    tex = (TABLES / "node_classification_full.tex").read_text(encoding="utf-8")
    assert "not run" in tex


def test_statistics_lack_a_graph_and_no_training(found):
    content = (ROOT / "results/measured/cora/statistics.json").read_text()
    put(path := Path(found.statistics_file("cora")))
    path.write_text(content)
    write_partial(found, whole=True)
    frame = pd.read_csv(TABLES / "datasets.csv").set_index(["row", "column"])
    assert frame.loc[("cora", "nodes"), "mean"] == 2485
    assert frame.loc[("pubmed", "nodes"), "note"] == "the graph is not built yet"


def test_a_damaged_run_is_not_there_and_summaries_come_last(found, capsys):
    put_run(found, "cora", 0.87)
    put_run(found, "dsbm-alpha0.1-beta0.1", 0.9)
    put_run(found, "dsbm-alpha0.1-beta0.2", 0.9)
    (path,) = found.run_files(Run("dsbm-alpha0.1-beta0.2"))
    Path(path).write_text('{"schema": 1, "reco')
    # An overlay's tables follow the summary of them.
    tables = found.config["tables"]
    tables |= {"late.1": tables.pop("node_classification_full")}
    tables["reproduction"] = tables["reproduction"] | {"tables": ["late.1"]}
    written = write_partial(found)
    assert path in capsys.readouterr().err
    assert written.index(TABLES / "late.1.csv") < written.index(TABLES / "reproduction.csv")
    dsbm = read_table(TABLES / "dsbm.csv").query("verdict == 'not run' and row == 'FLODE'")
    notes = dsbm.set_index(["subtable", "column"])["note"]
    assert notes.loc["net_flow", "0.20"].endswith(f"the run file {path} is damaged")
    assert len(notes) == 10 and notes.str.contains("damaged").sum() == 1


def test_where_no_run_is_there_it_says_so(found, capsys):
    overlay = OVERLAY | {"studies": dict.fromkeys(found.config["studies"])}
    figures = {n: None for n, spec in found.config["figures"].items() if "study" in spec}
    tables = {"tables": {"claims": None}, "report": {"learnt": []}}
    show_partial(configuration(overlay | {"figures": figures} | tables), ROOT / "Snakefile")
    assert "nothing to show yet: no run is there" in capsys.readouterr().err


def test_what_cannot_be_written_is_told_of_at_the_end(found, monkeypatch, capsys):
    put_run(found, "cora", 0.87)
    monkeypatch.setattr(partial, "make_report", lambda *_: None)

    def full(name, *_, **__):
        raise OSError(28, "No space left on device", f"tables/{name}.csv")

    monkeypatch.setattr(partial, "make_table", full)
    with pytest.raises(RuntimeError, match=r"without table node_classification_full, .* written"):
        show_partial(found.config, ROOT / "Snakefile")
    assert "table hyperparameters is not written: [Errno 28]" in capsys.readouterr().err


def test_a_whole_table_is_left_alone(found):
    for run in found.table_runs("dsbm"):
        put_run(found, run.variant, 0.9)
    assert TABLES / "dsbm.csv" not in write_partial(found)
    assert TABLES / "dsbm.csv" in write_partial(found, whole=True)


def test_nothing_written_is_a_finished_output(found):
    """The workflow makes it anew, also where a new configuration needs nothing more."""
    put_run(found, "cora", 0.87)
    write_partial(found)
    (run,) = found.run_files(Run("cora"))
    table = TABLES / "node_classification_full.csv"
    assert table.stat().st_mtime < Path(run).stat().st_mtime - 3600


def without_runs(found):
    shutil.rmtree("results/partial/runs")


def damaged(found):
    for path in Path("results/partial/runs").rglob("*.json"):
        path.write_text(path.read_text()[:40])


def of_other_settings(found):
    return {"hyperparameters": {"seed": 7}}


LOSSES = pytest.mark.parametrize("lose", [without_runs, damaged, of_other_settings])


@LOSSES
def test_what_nothing_supports_any_more_is_removed(found, report, lose):
    put_run(found, "cora", 0.87)
    page = PAGES / "node_classification_full.html"
    assert page in report()
    assert {"node_classification_full", "reproduction"} <= tables()
    assert page not in report(lose(found) or {}) and not page.exists()
    assert not {"node_classification_full", "reproduction"} & tables()


@LOSSES
def test_a_finished_table_that_nothing_supports_is_left_and_not_shown(found, report, lose, capsys):
    for run in found.table_runs("dsbm"):
        put_run(found, run.variant, 0.9)
    report()
    finished = [TABLES / "dsbm.csv", TABLES / "dsbm.tex"]
    for path in finished:
        os.utime(path)
    before = [path.read_bytes() for path in finished]
    assert PAGES / "dsbm.html" in report()
    picture = Path("results/partial/figures/dsbm.svg")
    assert "reproduction" in tables() and picture.exists()
    assert PAGES / "dsbm.html" not in report(lose(found) or {})
    assert "table dsbm is left as it is, and not shown" in capsys.readouterr().err
    assert [path.read_bytes() for path in finished] == before
    assert not {"dsbm_hyperparameters", "reproduction"} & tables() and not picture.exists()


def test_studies_figures_and_searches_are_no_longer_shown_either(found, report):
    results = Path("results/partial")
    for name in ("spectrum", "depth"):
        put(results / f"studies/{name}.csv", *pictures(results / f"figures/{name}"), date=1)
    search = results / "search/dsbm.csv"
    put(search)
    shown = {path.stem for path in report()}
    assert "weakly_balanced" in shown and not {"spectrum", "depth", "dsbm"} & shown
    left = {path.stem for folder in ("studies", "figures") for path in (results / folder).iterdir()}
    assert "weakly_balanced" in left and not {"spectrum", "depth"} & left
    assert search.exists()


def test_series_and_searches_are_shown_of_runs_and_statistics_alone(found):
    """No graph, no factors: what is kept of runs and statistics is enough."""
    own = catalogue(OVERLAY | {"measured": str(ROOT / "results/measured")})
    work = partial._Partial(own, whole=False)
    for name in ("depth", "truncated_svd"):
        work.study(name)
    for name in ("dsbm", "alternatives"):
        work.search(name)
    assert not work.failed
    results = Path("results/partial")
    depth, svd = (pd.read_csv(results / f"studies/{n}.csv") for n in ("depth", "truncated_svd"))
    drawn = depth[depth["mean"].notna()]
    assert "Citeseer" in set(drawn["graph"]) and drawn["fd_mean"].notna().all()
    assert depth["note"].notna().tolist() == depth["mean"].isna().tolist()  # not run, or diverged
    assert svd.groupby("graph")["explained_variance"].is_monotonic_increasing.all()
    assert svd["explained_variance"].between(0.08, 1.0001).all()
    assert svd.set_index("configuration").loc["rank=570", "x"] == 570 and (svd["n"] == 10).all()
    search = pd.read_csv(results / "search/dsbm.csv")
    assert search["chosen"].sum() == 10 and (search["n"] == 5).all()
    assert not (results / "search/alternatives.csv").exists()


def test_runs_of_other_settings_are_not_shown(found):
    put_run(found, "cora", 0.87)
    (path,) = found.run_files(Run("cora"))
    document = json.loads(Path(path).read_text())
    document["hyperparameters"]["learning_rate"] = 0.5
    Path(path).write_text(json.dumps(document))
    put_run(found, "citeseer", 0.8)
    write_partial(found)
    cora = measured("node_classification_full").loc[("undirected", "Cora")]
    assert cora["verdict"] == "not run" and cora["note"].endswith("run with other settings")
    assert measured("node_classification_full").loc[("undirected", "Citeseer"), "mean"] == 80


def test_statistics_of_other_settings_are_not_shown(found):
    content = json.loads((ROOT / "results/measured/cora/statistics.json").read_text())
    path = Path(found.statistics_file("cora"))
    path.parent.mkdir(parents=True)

    def shown():
        path.write_text(json.dumps(content))
        write_partial(found)
        frame = pd.read_csv(TABLES / "datasets.csv").set_index("row")
        return frame.loc["cora", "mean"]

    assert shown().notna().any()
    put_run(found, "citeseer", 0.8)
    content["origin"]["factors"]["flow"] = "source_to_target"
    path.write_text(json.dumps(content))
    write_partial(found)
    assert not (TABLES / "datasets.csv").exists()


def test_some_splits_asked_by_name_are_shown(found):
    put_run(found, "cora", 0.87)
    (path,) = found.run_files(Run("cora"))
    document = json.loads(Path(path).read_text())
    for first, last in ((0, 2), (2, 3), (4, 4)):  # the second repeats split 2
        records = [record for record in document["records"] if first <= record["split"] <= last]
        name = Path(path).with_name(f"splits-{first}-{last}.json")
        name.write_text(json.dumps(document | {"records": records}))
    Path(path).unlink()
    write_partial(found)
    assert measured("node_classification_full").loc[("undirected", "Cora"), "n"] == 4


def tables():
    """Names of those that are there."""
    return {path.stem for path in TABLES.glob("*")}


def measured(table):
    frame = pd.read_csv(TABLES / f"{table}.csv")
    return frame[frame["row"] == "FLODE"].set_index(["subtable", "column"])
