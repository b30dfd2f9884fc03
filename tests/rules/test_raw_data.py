"""Raw data through the workflow: fetched from a mirror, verified, built, and what goes wrong."""

import json
import os
import shutil

import pytest
import yaml

from flode.datasets.graph import Graph
from tests.configuration import ROOT, TINY, merge
from tests.unit.rawfiles import write_mirror
from tests.workflow_runner import snakemake, working_copy, write_overlay

PREFIX = TINY["results"]
VARIANTS = ("chameleon-directed", "cora", "minesweeper")
SMALL = {"hidden_channels": 4, "epochs": 4, "patience": 3}


@pytest.fixture(scope="module")
def mirror(tmp_path_factory):
    """Every raw file of the repository's datasets, tiny."""
    root = tmp_path_factory.mktemp("mirror")
    config = yaml.safe_load((ROOT / "config" / "datasets.yaml").read_text(encoding="utf-8"))
    return root, write_mirror(config, root)


@pytest.fixture
def overlay(mirror):
    root, manifest = mirror
    return merge(
        TINY,
        {
            "data": {"mirror": str(root), "manifest": str(manifest), "folder": "raw"},
            "variants": {name: {"hyperparameters": SMALL} for name in VARIANTS},
        },
    )


def test_from_raw_files_to_a_run(tmp_path, overlay):
    folder = working_copy(tmp_path, overlay)
    targets = [f"{PREFIX}/runs/{name}/default/splits-0-9.json" for name in VARIANTS]
    snakemake(folder, *targets)
    for name, target in zip(VARIANTS, targets, strict=True):
        document = json.loads((folder / target).read_text())
        assert [record["split"] for record in document["records"]] == list(range(10))
        assert document["metric"] == ("auroc" if name == "minesweeper" else "accuracy")
        assert Graph.load(folder / f"{PREFIX}/graphs/{name}.npz").num_splits == 10
    assert (folder / "raw/heterophilous-graphs/data/chameleon_directed.npz").exists()


def test_a_verified_file_is_not_fetched_again(tmp_path, overlay):
    folder = working_copy(tmp_path, overlay)
    target = f"{PREFIX}/graphs/chameleon-directed.npz"
    snakemake(folder, target)
    (folder / target).unlink()
    write_overlay(folder, overlay, {"data": {"mirror": "/nowhere"}})
    done = snakemake(folder, target)
    assert "download" not in done.stdout.split("Job stats")[1].split("Select")[0]


def test_a_file_that_is_there_is_verified_and_not_fetched_again(tmp_path, overlay, mirror):
    """Put there by hand, older than the workflow; and a workflow that has changed since."""
    root, _ = mirror
    folder = working_copy(tmp_path, overlay)
    raw = "heterophilous-graphs/data/chameleon_directed.npz"
    path = folder / "raw" / raw
    path.parent.mkdir(parents=True)
    shutil.copyfile(root / raw, path)
    os.utime(path, (1e9, 1e9))
    write_overlay(folder, overlay, {"data": {"mirror": "/nowhere"}})
    target = f"{PREFIX}/graphs/chameleon-directed.npz"
    assert "already there and verified" in snakemake(folder, target).stdout
    assert path.read_bytes() == (root / raw).read_bytes()


def test_a_file_of_other_bytes_is_not_built_from(tmp_path, overlay, mirror):
    """First fetched from a source that is a folder."""
    root, _ = mirror
    folder = working_copy(tmp_path, overlay)
    sources = {"heterophilous-graphs": f"{root}/heterophilous-graphs/"}
    write_overlay(folder, overlay, {"data": {"mirror": None}, "sources": sources})
    target = f"{PREFIX}/graphs/chameleon-directed.npz"
    snakemake(folder, target)
    path = folder / "raw/heterophilous-graphs/data/chameleon_directed.npz"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    (folder / target).unlink()
    done = snakemake(folder, target, check=False)
    assert done.returncode != 0 and not (folder / target).exists()
    assert f"{path.relative_to(folder)}: expected" in done.stdout
    assert "Delete the file to have it fetched again" in done.stdout


def test_wrong_bytes_stop_the_download_and_leave_nothing(tmp_path, overlay, mirror):
    root, _ = mirror
    wrong = tmp_path / "wrong"
    path = "heterophilous-graphs/data/chameleon_directed.npz"
    (wrong / path).parent.mkdir(parents=True)
    content = bytearray((root / path).read_bytes())
    content[100] ^= 1
    (wrong / path).write_bytes(content)
    folder = working_copy(tmp_path / "copy", overlay)
    write_overlay(folder, overlay, {"data": {"mirror": str(wrong)}})
    done = snakemake(folder, f"{PREFIX}/graphs/chameleon-directed.npz", check=False)
    assert done.returncode != 0
    for words in (path, "sha256", "data: {mirror:"):
        assert words in done.stdout
    assert not list((folder / "raw").rglob("*.npz*"))


def test_an_unknown_raw_file_is_refused(tmp_path, overlay):
    folder = working_copy(tmp_path, overlay)
    done = snakemake(folder, "raw/planetoid/data/ind.dora.x", check=False)
    assert done.returncode != 0
    assert "planetoid/data/ind.dora.x is not in" in done.stdout


def test_keep_going_writes_the_table_and_says_what_was_not_run(tmp_path, overlay, mirror):
    """Statistics of three graphs, one of whose files is not in the mirror."""
    root, _ = mirror
    partial = tmp_path / "mirror"
    for path in root.rglob("*.*"):
        if path.is_file() and path.name != "minesweeper.npz":
            copy = partial / path.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.symlink_to(path)
    rows = {
        "undirected": "chameleon-undirected",
        "directed": "chameleon-directed",
        "heterophilous": "minesweeper",
    }
    table = {
        "kind": "datasets",
        "caption": "Three graphs.",
        "label": "tab:three",
        "published": "config/published/datasets.csv",
        "subtables": {
            name: {"caption": name, "rows": {variant: {}}} for name, variant in rows.items()
        },
    }
    folder = working_copy(tmp_path / "copy", overlay)
    write_overlay(folder, overlay, {"data": {"mirror": str(partial)}, "tables": {"three": table}})
    target = f"{PREFIX}/tables/three.csv"
    done = snakemake(folder, target, check=False)
    assert done.returncode != 0
    assert "minesweeper.npz could not be fetched" in done.stdout
    assert not (folder / target).exists()
    done = snakemake(folder, target, "--keep-going", check=False)
    assert done.returncode != 0
    assert "table three is written with what was run" in done.stdout
    text = (folder / target).read_text()
    assert "raw/heterophilous-graphs/data/minesweeper.npz was not fetched" in text
    assert f"{PREFIX}/statistics/chameleon-directed.json" in text
    next_call = snakemake(folder, target, "-n").stdout  # makes it whole
    assert "Nothing to be done" not in next_call and "minesweeper.npz" in next_call
