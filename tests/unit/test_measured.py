"""Runs that were trained before: found, taken and collected."""

import json
import re
from pathlib import Path

import pytest

from flode.experiments.catalogue import Run
from flode.experiments.measured import collect_runs, measured_files, take_run
from flode.experiments.runfiles import fitting, read_run, run_files_in, save_run
from flode.experiments.validation import ConfigurationError
from flode.reporting.partial import write_partial
from tests.configuration import ROOT, catalogue

RUN = Run("cora", "layers=3")
MEASURED = ROOT / "results" / "measured"


@pytest.fixture
def found(tmp_path, monkeypatch):
    """The repository's catalogue, with measured runs in a folder of their own."""
    (tmp_path / "config").symlink_to(ROOT / "config")
    monkeypatch.chdir(tmp_path)
    return catalogue({"measured": "before"})


def put(found, root, splits, run=RUN, changes=(), **facts):
    """A run file of some splits, as a training writes it."""
    settings = found.run_settings(run) | dict(changes)
    document = {
        "schema": 1,
        **{key: settings[key] for key in ("variant", "configuration", "dataset", "origin")},
        "metric": "accuracy",
        "hyperparameters": settings["hyperparameters"],
        "training": {"tf32": settings["tf32"], "flow": settings["flow"]},
        "seed": settings["hyperparameters"]["seed"],
        "quick": settings["quick"],
        "versions": {"torch": "2.13.0", "training_stage": settings["version"]},
        "device": "cpu",
        "threads": 1,
        "commit": "c" * 40,
        "records": [
            {"split": split, "test": 0.01 * split, "train": 1.0, "validation": 0.5}
            for split in splits
        ],
    }
    folder = Path(root, run.variant, run.configuration)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"splits-{splits[0]}-{splits[-1]}.json"
    save_run(document | facts, path)
    return path


def names(paths):
    return [Path(path).name for path in paths]


def test_a_run_that_was_written_is_read_as_it_was(found):
    path = put(found, "before", range(3))
    document = json.loads(path.read_text())
    assert read_run(path) == document
    save_run(document, "again.json")
    assert Path("again.json").read_bytes() == path.read_bytes()
    assert sum(line.startswith('  {"split"') for line in path.read_text().splitlines()) == 3


def test_files_of_all_splits_are_found_together(found):
    put(found, "before", range(0, 3))
    assert measured_files(found, RUN, "0", "9") == []
    assert names(measured_files(found, RUN, "1", "2")) == ["splits-0-2.json"]
    put(found, "before", range(3, 10))
    both = ["splits-0-2.json", "splits-3-9.json"]
    assert names(measured_files(found, RUN, "0", "9")) == both
    put(found, "before", range(10))
    assert names(measured_files(found, RUN, "0", "9")) == ["splits-0-9.json"]
    assert names(measured_files(found, RUN, "4", "4")) == ["splits-0-9.json"]


def other_graph(settings):
    origin = json.loads(json.dumps(settings["origin"]))
    origin["graph"]["raw"]["graph"] = "sha256:" + "0" * 64
    return {"origin": origin}


def other_factors(settings):
    origin = json.loads(json.dumps(settings["origin"]))
    origin["factors"]["tolerance"] = 1e-5
    return {"origin": origin}


@pytest.mark.parametrize(
    "change",
    [
        other_graph,
        other_factors,
        lambda settings: {"version": settings["version"] - 1},
        lambda settings: {"hyperparameters": settings["hyperparameters"] | {"seed": 7}},
        lambda settings: {"flow": "source_to_target"},
        lambda settings: {"quick": True},
    ],
)
def test_a_run_of_other_settings_is_not_taken(found, change):
    put(found, "before", range(10), changes=change(found.run_settings(RUN)))
    assert measured_files(found, RUN, "0", "9") == []
    files = run_files_in(Path("before", RUN.variant, RUN.configuration))
    assert fitting(files, found.run_settings(RUN)) == ([], files)


def test_what_was_trained_here_stays_and_what_was_taken_is_taken_again(found):
    measured = put(found, "before", range(10))
    own = put(found, "results/runs", range(10))
    assert measured_files(found, RUN, "0", "9") == []
    take_run([str(measured)], range(10), own)
    assert measured_files(found, RUN, "0", "9") == [str(measured)]
    put(found, "results/runs", range(10), changes={"version": 1})
    assert measured_files(found, RUN, "0", "9") == [str(measured)]


def test_models_to_be_kept_are_trained(found):
    put(found, "before", range(10))
    overlay = {"measured": "before", "training": {"save_models": [f"{RUN.variant}/layers=3"]}}
    assert measured_files(catalogue(overlay), RUN, "0", "9") == []
    assert measured_files(catalogue(), RUN, "0", "9") == []  # no folder is named


def test_a_damaged_file_is_named(found):
    path = put(found, "before", range(10))
    path.write_text('{"schema": 1')
    with pytest.raises(ConfigurationError, match=rf"measured: {path}: is not JSON"):
        measured_files(found, RUN, "0", "9")
    own = put(found, "results/runs", range(10))
    own.write_text("")
    assert measured_files(found, RUN, "0", "9") == []  # left to who reads it


def test_splits_are_taken_with_where_they_come_from(found):
    files = [
        str(put(found, "before", range(0, 5))),
        str(put(found, "before", range(5, 10), commit="d" * 40)),
    ]
    take_run(files, range(3, 7), "taken.json")
    taken = read_run("taken.json")
    assert [record["split"] for record in taken["records"]] == [3, 4, 5, 6]
    assert taken["records"][0] == read_run(files[0])["records"][3]
    assert taken["taken_from"] == files
    assert taken["commit"] == ["c" * 40, "d" * 40]
    assert taken["device"] == "cpu"
    assert taken["versions"] == {"torch": "2.13.0", "training_stage": 3}


def test_a_partial_report_shows_them(found):
    put(found, "before", range(4), run=Run("cora"))
    assert Path("results/tables/node_classification_full.csv") in write_partial(found)
    put(found, "results/runs", range(2), run=Run("cora"))
    write_partial(found)
    text = Path("results/tables/node_classification_full.csv").read_text()
    assert "before/cora/default/splits-0-3.json" in text  # more than what was run here
    put(found, "results/runs", range(4), run=Run("cora"))
    Path("results/runs/cora/default/splits-0-1.json").unlink()
    write_partial(found)
    text = Path("results/tables/node_classification_full.csv").read_text()
    assert "before" not in text


def test_collecting_keeps_what_is_there_and_replaces_fewer_splits(found):
    own = put(found, "results/runs", range(3))
    assert collect_runs(found, "before")["added"] == 1
    kept = Path("before", *own.parts[2:])
    assert kept.read_bytes() == own.read_bytes()
    put(found, "results/runs", range(3), commit="d" * 40)
    assert collect_runs(found, "before") == {"added": 0, "there": 1, "removed": 0, "left_out": 0}
    assert read_run(kept)["commit"] == "c" * 40
    own.unlink()
    put(found, "results/runs", range(10))
    assert collect_runs(found, "before") == {"added": 1, "there": 0, "removed": 1, "left_out": 0}
    assert names(run_files_in(kept.parent)) == ["splits-0-9.json"]
    put(found, "results/runs", range(3, 6))
    Path("results/runs/cora/layers=3/splits-0-9.json").unlink()
    assert collect_runs(found, "before")["there"] == 1


def test_collecting_leaves_out_what_is_not_measured_here_and_removes_the_outdated(found):
    old = put(found, "before", range(5), changes={"version": 1})
    put(found, "results/runs", range(10), run=Run("cora"), changes={"quick": True})
    put(found, "results/runs", range(10), run=Run("citeseer"), changes={"version": 1})
    for unknown in (Run("cora", "layers=2"), Run("cora", "no=1")):  # 2 is the default
        folder = Path("results/runs", unknown.variant, unknown.configuration)
        folder.mkdir(parents=True)
        (folder / "splits-0-9.json").write_text("{}")
    taken = put(found, "results/runs", range(10), run=Run("cora", "layers=4"), taken_from=["x"])
    counts = collect_runs(found, "before")
    assert counts == {"added": 0, "there": 0, "removed": 0, "left_out": 5}
    assert taken.exists() and old.exists()
    put(found, "results/runs", range(10))
    counts = collect_runs(found, "before")
    assert counts == {"added": 1, "there": 0, "removed": 1, "left_out": 5}
    assert not old.exists()


def test_collecting_names_a_damaged_run(found):
    put(found, "results/runs", range(10)).write_text("[]")
    with pytest.raises(ValueError, match=r"results/runs/cora/layers=3/splits-0-9.json: holds a"):
        collect_runs(found, "before")


def test_the_runs_of_this_repository_are_of_its_configuration():
    """Where a change of the configuration or of a stage makes some of other settings, they go."""
    found, folders = catalogue(), sorted({path.parent for path in MEASURED.glob("*/*/*")})
    assert folders
    for folder in folders:
        run, files = Run(*folder.relative_to(MEASURED).parts), run_files_in(folder)
        assert files == sorted(folder.iterdir()), f"{folder} holds other files"
        right, others = fitting(files, found.run_settings(run))
        assert right == files, f"{others or files} of other settings, or of the same splits"
        for path in files:
            content = read_run(path)
            splits = [record["split"] for record in content["records"]]
            assert splits == found.splits(run.variant, *re.findall(r"\d+", path.name)), path
            assert re.fullmatch("[0-9a-f]{40}", content["commit"]), f"{path}: uncommitted code"
