"""What the README says to do, done."""

import json
import re
import subprocess

import numpy as np
import pandas as pd
import pytest
import yaml

from flode.experiments.catalogue import Run
from flode.experiments.measured import measured_files
from flode.experiments.runfiles import run_files_in
from flode.experiments.runs import run_configuration
from flode.reporting.claims import OPEN, claim_verdict
from flode.reporting.partial import write_partial
from flode.reporting.published import DISAGREE
from flode.reporting.records import load_runs
from flode.reporting.verdicts import FAILS, HOLDS, NOT_RUN, REPRODUCED
from tests.configuration import ROOT, TINY, catalogue, merge
from tests.unit.trainings import tiny_files
from tests.workflow_runner import command, environment, snakemake, working_copy

README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(section, language):
    """The first block in a language of a section."""
    body = README.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    found = re.search(rf"```{language}\n(.*?)```", body, re.DOTALL)
    assert found, f"README: no {language} block under {section}"
    return found[1]


def test_the_example_of_the_library_learns_what_it_says(capsys):
    code = compile(block("The library", "python"), "README.md", "exec")
    exec(code, {})
    (printed,) = re.findall(r"test accuracy (\d+\.\d)%", capsys.readouterr().out)
    # Four seeds gave 92.8 to 95.2; chance is 20.
    assert 85 < float(printed) <= 100


def write_archive(path, nodes=40, splits=10):
    """Two communities, told by their features with noise."""
    rng = np.random.default_rng(0)
    labels = np.arange(nodes) % 2
    chance = np.where(labels[:, None] == labels, 0.4, 0.1)
    edges = np.stack(np.nonzero(np.triu(rng.random((nodes, nodes)) < chance, 1)), axis=1)
    masks = np.zeros((3, splits, nodes), dtype=bool)
    for split in range(splits):
        parts = np.split(rng.permutation(nodes), [20, 30])
        for mask, part in zip(masks, parts, strict=True):
            mask[split, part] = True
    features = rng.normal(size=(nodes, 3)) + labels[:, None]
    names = ("train_masks", "val_masks", "test_masks")
    np.savez(
        path,
        node_features=features.astype(np.float32),
        node_labels=labels,
        edges=edges,
        **dict(zip(names, masks, strict=True)),
    )


def test_a_graph_a_model_and_an_ablation_row_are_added_as_described(tmp_path):
    folder = working_copy(tmp_path, {})
    overlay = yaml.safe_load(block("Adding to it", "yaml"))
    short = {"device": "cpu", "hyperparameters": {"epochs": 3}}
    for name in ("mine.yaml", "overlay.yaml"):
        (folder / name).write_text(yaml.safe_dump(overlay | short), encoding="utf-8")
    write_archive(folder / "friends.npz")
    script = block("Adding to it", "sh").replace("snakemake", " ".join(command()))
    done = subprocess.run(
        f"set -e\n{script}",
        shell=True,
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    assert (folder / "results" / "raw" / "mine" / "friends.npz").is_file()
    for variant, parts in (("friends", 2), ("friends-heat", 1)):
        path = folder / "results" / "mine" / "runs" / variant / "default" / "splits-0-9.json"
        records = json.loads(path.read_text())["records"]
        assert len(records) == 10
        assert {len(record["step_size"][0]) for record in records} == {parts}
        assert np.mean([record["test"] for record in records]) > 0.3

    printed = snakemake(folder, "-n", "results/mine/tables/ablation.tex").stdout
    added = set(re.findall(r"Training chameleon-directed, (\S*sign=1\S*), splits", printed))
    assert added == {"sign=1," + f"layers={n}" for n in (2, 3, 4, 6)} | {"sign=1"}


def test_the_runs_of_an_added_row_are_those_described():
    overlay = yaml.safe_load(block("Adding to it", "yaml"))
    found = catalogue({key: overlay[key] for key in ("results", "tables")})
    runs = found.table_runs("ablation")
    assert f"all {len(runs)} runs" in README
    own = [run for run in runs if "sign=1" in run.configuration.split(",")]
    assert len(own) == 5 and "The new row's five runs" in README
    (files,) = re.findall(r"^snakemake (\S*sign=1\S*) --configfile", README, re.MULTILINE)
    expanded = subprocess.run(["bash", "-c", f"echo {files}"], capture_output=True, text=True)
    assert set(expanded.stdout.split()) == set(found.files_of(own))


def test_a_model_of_ones_own_stands_beside_flode_as_described(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    section = README.partition("### Your model beside FLODE\n")[2]
    python, overlay = (
        re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)[1]
        for language in ("python", "yaml")
    )
    (tmp_path / "my_model.py").write_text(python)
    overlay = yaml.safe_load(overlay)
    found = catalogue(overlay)
    names = {run.configuration for run in found.table_runs("mine")}
    assert names == {"default", "model=mine", "model=gcn"}
    assert all(measured_files(found, Run(v), "0", "9") for v in ("cora", "citeseer"))
    found = catalogue(merge(TINY, overlay))
    graphs, _ = tiny_files(tmp_path, "dsbm-alpha0.1-beta0.2")
    run = Run("dsbm-alpha0.1-beta0.2", "model=mine")
    document = run_configuration(
        found.train_settings(run), graphs, None, [0, 1], model_class=found.model_class(run)
    )
    assert len(document["records"]) == 2


REAL_GRAPHS = re.findall(
    r"^\| ([A-Z][a-z]+)(?:, (directed|undirected))?(?: \(AUROC\))?(, \w+ splits)?"
    r" \| (\S+ ± \S+) \| (\S+) ± \S+ \|",
    README,
    re.MULTILINE,
)


@pytest.mark.parametrize(("title", "direction", "splits", "shown", "published"), REAL_GRAPHS)
def test_accuracies_are_those_of_the_measured_runs(title, direction, splits, shown, published):
    variant = "-".join(filter(None, [title.lower(), direction]))
    files = run_files_in(ROOT / "results" / "measured" / variant / "default")
    (runs,) = load_runs(files).values()
    score = runs.score()
    assert f"{score.mean:.1f} ± {score.std:.1f}" == shown
    assert bool(splits) == (score.n < 10)
    table = pd.read_csv(ROOT / "config" / "published" / "node_classification_full.csv")
    own = table[(table["row"] == "FLODE") & (table["column"] == title)]
    assert float(published) in own["mean"].tolist()


BASELINES = re.findall(
    r"^\| (\w+)(, directed)? \| ([\d. ±()|]+|.*not run.*) \|$",
    (ROOT / "docs/findings.md").read_text(encoding="utf-8").partition("\n## Baselines\n")[2],
    re.MULTILINE,
)


@pytest.mark.parametrize(("graph", "directed", "cells"), BASELINES)
def test_baselines_are_those_of_the_measured_runs(graph, directed, cells):
    alone = graph in ("Cora", "Citeseer")
    variant = graph.lower() + ("" if alone else "-directed" if directed else "-undirected")
    for model, cell in zip(("mlp", "gcn", "gat", None), cells.split(" | "), strict=True):
        folder = ROOT / "results/measured" / variant / (f"model={model}" if model else "default")
        if cell == "not run":
            assert not run_files_in(folder)
            continue
        (found,) = load_runs(run_files_in(folder)).values()
        score = found.score()
        assert cell.startswith(f"{score.mean:.1f} ± {score.std:.1f}") and score.n == 10


def test_all_rows_of_baselines_are_found():
    assert len(BASELINES) >= 7


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The verdicts on the measured runs, and on what the text says."""
    folder = tmp_path_factory.mktemp("partial")
    (folder / "config").symlink_to(ROOT / "config")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_partial(catalogue({"measured": str(ROOT / "results" / "measured")}))
        names = ("reproduction", "claims")
        return {name: pd.read_csv(f"results/tables/{name}.csv") for name in names}


@pytest.fixture(scope="module")
def reproduction(tables):
    return tables["reproduction"]


def found(pattern):
    """Groups of the one sentence like this."""
    (groups,) = re.findall(pattern, " ".join(README.split()))
    return groups


def test_as_many_numbers_are_measured_as_it_says(reproduction):
    verdicts = reproduction["verdict"]
    counts = (verdicts != NOT_RUN).sum(), len(verdicts), (verdicts == REPRODUCED).sum()
    said = found(r"So far (\d+) of the (\d+) numbers .* and (\d+) of the (\d+) are reproduced")
    assert tuple(map(int, said)) == (*counts, counts[0])


def test_tables_reproduce_as_far_as_it_says(reproduction):
    row = r"^\| .* \(`(\w+)`\) \| (\d+) \| (\d+) \| (\d+) \| (?:(\d+) )?\|$"
    said = re.findall(row, README, re.MULTILINE)
    tables = {name: own["verdict"] for name, own in reproduction.groupby("table")}
    tables["reproduction"] = reproduction["verdict"]
    assert {name: [int(number or 0) for number in numbers] for name, *numbers in said} == {
        name: [len(own), (own != NOT_RUN).sum(), (own == REPRODUCED).sum(), (own == DISAGREE).sum()]
        for name, own in tables.items()
    }
    differing = found(r"The (\d+) that differ are (\d+) of the ablation")
    differ = reproduction[~reproduction["verdict"].isin([NOT_RUN, REPRODUCED, DISAGREE])]
    assert list(map(int, differing)) == [len(differ), (differ["table"] == "ablation").sum()]


def test_numbers_of_few_splits_are_as_many_as_it_says(reproduction):
    few = reproduction[reproduction["n"] == 3]
    said = found(r"(\d+) of the measured numbers, (\d+) of them reproduced, rest on three of ten")
    assert list(map(int, said)) == [len(few), (few["verdict"] == REPRODUCED).sum()]


def test_claims_hold_as_far_as_it_says(tables):
    verdicts = tables["claims"].groupby("row")["verdict"].apply(claim_verdict)
    said = found(
        r"Of (\d+) statements of the text .* (\d+) hold in all their checks,"
        r" (\d+) fail in at least one and (\d+) are open"
    )
    counts = [(verdicts == one).sum() for one in (HOLDS, FAILS, OPEN)]
    assert list(map(int, said)) == [len(verdicts), *counts]


def test_dsbm_reproduces_as_far_as_it_says(reproduction):
    cells = reproduction[reproduction["table"] == "dsbm"]
    said = found(r"(\d+) of the (\d+) cells reproduce .* is (\S+) points \(β\* = (\S+)\)")
    assert int(said[0]) == (cells["verdict"] == REPRODUCED).sum()
    assert int(said[1]) == len(cells)
    differences = (cells["mean"] - cells["published_mean"]).abs()
    largest = cells.loc[differences.idxmax()]
    assert largest["subtable"] == "net_flow" and float(largest["column"]) == float(said[3])
    assert f"{differences.max():.1f}" == said[2]


def test_all_rows_of_that_table_are_found():
    assert len(REAL_GRAPHS) == 10


@pytest.mark.parametrize("name", ["CITATION.cff", "CHANGELOG.md"])
def test_the_version_is_that_of_the_package(name):
    import flode

    versions = re.findall(r"^(?:version:|##) (\d\S*)", (ROOT / name).read_text(), re.MULTILINE)
    assert versions[0] == flode.__version__
