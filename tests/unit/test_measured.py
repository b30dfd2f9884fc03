"""Runs that were trained before: found, taken and collected."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from flode.experiments.catalogue import Run
from flode.experiments.measured import (
    STATISTICS,
    collect_runs,
    measured_files,
    measured_statistics,
    take_run,
    take_statistics,
)
from flode.experiments.runfiles import most_splits, of_settings, read_run, run_files_in, save_run
from flode.experiments.validation import ConfigurationError
from flode.jsonfiles import MADE_AGAIN, RESTORE
from flode.reporting.partial import write_partial
from flode.reporting.statistics import load_statistics
from tests.configuration import ROOT, catalogue
from tests.run_samples import put_run_file

RUN = Run("cora", "layers=3")
MEASURED = ROOT / "results" / "measured"


@pytest.fixture
def found(tmp_path, monkeypatch):
    """The repository's catalogue, with measured runs in a folder of their own."""
    (tmp_path / "config").symlink_to(ROOT / "config")
    monkeypatch.chdir(tmp_path)
    Path("before").mkdir()
    return catalogue({"measured": "before"})


def put(found, root, splits, run=RUN, **options):
    return put_run_file(found, root, run, splits, test=lambda split: 0.01 * split, **options)


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


def test_files_that_share_splits_serve_too(found):
    for first, last in ((0, 6), (0, 4), (5, 9)):
        put(found, "before", range(first, last + 1))
    both = ["splits-0-6.json", "splits-5-9.json"]
    files = measured_files(found, RUN, "0", "9")
    assert names(files) == both
    assert names(measured_files(found, RUN, "8", "9")) == ["splits-5-9.json"]
    take_run(files, range(10), "taken.json")
    assert [record["split"] for record in read_run("taken.json")["records"]] == list(range(10))


def test_fewer_splits_of_the_dataset_leave_a_run_what_it_was(found):
    put(found, "before", range(10))
    fewer = catalogue({"measured": "before", "datasets": {"cora": {"splits": 5}}})
    assert names(measured_files(fewer, RUN, "0", "4")) == ["splits-0-9.json"]


def other_graph(settings):
    origin = json.loads(json.dumps(settings["origin"]))
    origin["graph"]["raw"]["graph"] = "sha256:" + "0" * 64
    return {"origin": origin}


def other_split(settings):
    origin = json.loads(json.dumps(settings["origin"]))
    origin["splits"]["9"] = "sha256:" + "0" * 64
    return {"origin": origin}


def no_split_named(settings):
    return {"origin": {key: settings["origin"][key] for key in ("graph", "factors")}}


def other_factors(settings):
    origin = json.loads(json.dumps(settings["origin"]))
    origin["factors"]["tolerance"] = 1e-5
    return {"origin": origin}


@pytest.mark.parametrize(
    "change",
    [
        other_graph,
        other_factors,
        other_split,
        no_split_named,
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
    assert of_settings(files, found.run_settings(RUN)) == ([], files)


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


@pytest.mark.parametrize("missing", ["origin", "versions", "training"])
def test_a_run_that_does_not_say_how_it_was_made_is_not_taken(found, missing):
    path = put(found, "before", range(10))
    document = json.loads(path.read_text())
    document[missing] = {}
    save_run(document, path)
    assert measured_files(found, RUN, "0", "9") == []


def test_a_damaged_file_is_taken_for_what_its_name_says_and_then_named(found):
    """Rather than trained anew for hours."""
    path = put(found, "before", range(10))
    path.write_text('{"schema": 1')
    assert measured_files(found, RUN, "0", "9") == [str(path)]
    with pytest.raises(
        ValueError, match=rf"{path}: is damaged: it is not JSON .*; restore it, from"
    ):
        take_run([str(path)], range(10), "taken.json")
    own = put(found, "results/runs", range(10))
    own.write_text("")
    assert measured_files(found, RUN, "0", "9") == []  # left to who reads it


@pytest.mark.parametrize(
    ("splits", "problem"),
    [
        (range(5), "splits 0, 1, 2, 3, 4, not those that the file's name says"),
        ([*range(10), 4], "split 4 twice"),
        (range(10, 20), "not those that the file's name says"),
    ],
)
def test_records_are_those_of_the_files_name(found, splits, problem):
    path = put(found, "before", range(10))
    document = json.loads(path.read_text())
    document["records"] = [{**document["records"][0], "split": split} for split in splits]
    save_run(document, path)
    with pytest.raises(ValueError, match=problem):
        read_run(path)


@pytest.mark.parametrize("text", ["", '{"schema": 1', "[]", '{"schema": 2}'])
def test_a_damaged_file_is_made_again_where_a_job_wrote_it(found, text):
    own, kept = put(found, "results/runs", range(10)), put(found, "before", range(10))
    for path, remedy in [(own, MADE_AGAIN), (kept, RESTORE)]:
        path.write_text(text)
        with pytest.raises(ValueError, match=rf"{path}: .*; {remedy}$"):
            read_run(path)
    # A folder of measured runs may be the results of another clone.
    with pytest.raises(ValueError, match=rf"{own}: .*; {RESTORE}$"):
        take_run([str(own)], range(10), "taken.json")
    statistics = put_statistics(found, found.statistics_file("cora"))
    statistics.write_text(text)
    with pytest.raises(ValueError, match=rf"{statistics}: .*; {MADE_AGAIN}$"):
        load_statistics([statistics])


def test_a_folder_that_is_not_there_is_refused(found):
    Path("file").write_text("")
    for name in ("befor", "file"):
        with pytest.raises(ConfigurationError, match=f"measured is '{name}', which is no folder"):
            catalogue({"measured": name})
    with pytest.raises(ConfigurationError, match="measured"):
        catalogue({"measured": "a{b}"})


def test_splits_are_taken_with_where_they_come_from(found):
    versions = {"torch": "2.9.0", "cuda": "13.0", "training_stage": 3}
    gpu = {"commit": "d" * 40, "device": "NVIDIA", "versions": versions}
    files = [
        str(put(found, "before", range(0, 5))),
        str(put(found, "before", range(5, 10), **gpu)),
    ]
    take_run(files, range(3, 7), "taken.json")
    taken, before = read_run("taken.json"), read_run(files[0])
    assert [record["split"] for record in taken["records"]] == [3, 4, 5, 6]
    assert taken["records"][0] == before["records"][3]
    assert taken["taken_from"] == files
    assert sorted(taken["origin"]["splits"]) == ["3", "4", "5", "6"]
    assert (taken["commit"], taken["device"]) == ("c" * 40, "cpu")
    assert {key: taken["records"][2][key] for key in gpu} == gpu
    take_run(["taken.json"], [5, 6], "again.json")
    again = read_run("again.json")
    assert {key: again[key] for key in gpu} == gpu
    assert again["records"] == read_run(files[1])["records"][:2]


def test_a_partial_report_shows_what_holds_most_splits(found):
    table = Path("results/tables/node_classification_full.csv")
    put(found, "before", range(4), run=Run("cora"))
    assert table in write_partial(found)
    put(found, "results/runs", range(2), run=Run("cora"))
    write_partial(found)
    assert "before/cora/default/splits-0-3.json" in table.read_text()
    put(found, "results/runs", range(4), run=Run("cora"))
    write_partial(found)
    assert "before" not in table.read_text()
    assert "results/runs/cora/default/splits-0-3.json" in table.read_text()


COUNTS = dict.fromkeys(("added", "replaced", "there", "no_place", "left_out"), 0)


def test_collecting_keeps_what_is_there_and_replaces_fewer_splits(found):
    own = put(found, "results/runs", range(3))
    assert collect_runs(found, "before") == COUNTS | {"added": 1}
    kept = Path("before", *own.parts[2:])
    assert kept.read_bytes() == own.read_bytes()
    put(found, "results/runs", range(3), commit="d" * 40)
    assert collect_runs(found, "before") == COUNTS | {"there": 1}
    assert read_run(kept)["commit"] == "c" * 40
    own.unlink()
    more = put(found, "results/runs", range(3, 6))
    assert collect_runs(found, "before") == COUNTS | {"added": 1}
    assert names(run_files_in(kept.parent)) == ["splits-0-2.json", "splits-3-5.json"]
    more.unlink()
    put(found, "results/runs", range(10))
    assert collect_runs(found, "before") == COUNTS | {"added": 1, "replaced": 2}
    assert names(run_files_in(kept.parent)) == ["splits-0-9.json"]


def test_collecting_leaves_out_what_no_one_could_make_again(found, caplog):
    put(found, "results/runs", range(10), run=Run("cora"), changes={"quick": True})
    put(found, "results/runs", range(10), run=Run("citeseer"), changes={"version": 1})
    for unknown in (Run("cora", "layers=2"), Run("cora", "no=1")):  # 2 is the default
        folder = Path("results/runs", unknown.variant, unknown.configuration)
        folder.mkdir(parents=True)
        (folder / "splits-0-9.json").write_text("{}")
    put(found, "results/runs", range(10), run=Run("cora", "layers=4"), taken_from=["x"])
    put(found, "results/runs", range(10), commit="c" * 40 + "+changes")
    assert collect_runs(found, "before") == COUNTS | {"left_out": 6}
    assert "layers=3/splits-0-9.json is not collected: commit is cccc" in caplog.text
    assert not any(Path("before").iterdir())


def test_collecting_removes_nothing_of_other_settings(found, caplog):
    put(found, "results/runs", range(10))
    old = put(found, "before", range(10), changes={"version": 1})
    before = old.read_bytes()
    assert collect_runs(found, "before") == COUNTS | {"no_place": 1}
    assert old.read_bytes() == before
    assert f"{old} is of other settings" in caplog.text


def put_statistics(found, path, variant="cora", **facts):
    """As `graph_report` gives them."""
    keys = ("variant", "dataset", "title", "published", "version", "origin")
    settings = found.statistics_settings(variant)
    content = {key: settings[key] for key in keys} | {"rank": 5, "lambda_1": -0.5}
    content |= {"commit": "0123456789" * 4} | facts
    counts = dict.fromkeys(("nodes", "edges", "directed_edges", "self_loops", "features"), 7)
    content |= counts | {"classes": 2, "homophily": 0.5, "truncated": False}
    content |= {"explained_variance": 1.0, "symmetric": True, "lambda_pf": None}
    content |= {"raw_nodes": 7, "raw_edges": 7}
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(content))
    return Path(path)


def test_statistics_are_taken_and_collected_too(found):
    own = put_statistics(found, found.statistics_file("cora"))
    assert measured_statistics(found, "cora") is None
    collect_runs(found, "before")
    own.unlink()
    kept = Path("before/cora/statistics.json")
    assert measured_statistics(found, "cora") == str(kept)
    write_partial(found)
    shown = pd.read_csv("results/tables/datasets.csv").set_index(["row", "column"])
    assert shown.loc[("cora", "rank"), "mean"] == 5
    take_statistics(str(kept), own)
    assert json.loads(own.read_text())["taken_from"] == [str(kept)]
    assert measured_statistics(found, "cora") == str(kept)
    put_statistics(found, own, version=0)
    assert measured_statistics(found, "cora") == str(kept)
    before = kept.read_bytes()
    put_statistics(found, own, rank=6)
    collect_runs(found, "before")
    assert kept.read_bytes() == before


def test_statistics_are_kept_with_the_commit_that_made_them(found, caplog):
    for commit in (None, "unknown", "0123456789" * 4 + "+changes"):
        own = put_statistics(found, found.statistics_file("cora"), commit=commit)
        collect_runs(found, "before")
        assert f"{own} is not collected: commit is {commit}" in caplog.text
        assert not Path("before/cora").exists()
    # A damaged one is named, after the others were collected.
    kept = put_statistics(found, "before/citeseer/statistics.json", variant="citeseer")
    kept.write_text("{")
    put_statistics(found, own)
    with pytest.raises(ValueError, match=r"citeseer/statistics.json: is damaged.*; restore it"):
        collect_runs(found, "before")
    kept.unlink()
    # One of which no commit is known gives way to one of which it is.
    kept = Path("before/cora/statistics.json")
    assert kept.is_file()
    put_statistics(found, kept, commit=None)
    put_statistics(found, own, rank=6)
    collect_runs(found, "before")
    assert json.loads(kept.read_text())["rank"] == 6


def test_statistics_of_another_graph_are_not_taken(found):
    settings = found.statistics_settings("cora")
    for change in ({"version": 0}, {"origin": settings["origin"] | {"graph": {}}}, {"title": "C"}):
        put_statistics(found, "before/cora/statistics.json", **change)
        assert measured_statistics(found, "cora") is None
    Path("before/cora/statistics.json").write_text("{")
    assert measured_statistics(found, "cora")
    with pytest.raises(ValueError, match=r"cora/statistics.json: is damaged.*; restore it"):
        take_statistics("before/cora/statistics.json", "taken.json")


def test_collecting_names_damaged_runs_after_the_others(found):
    put(found, "results/runs", range(10), run=Run("citeseer")).write_text("[]")
    put(found, "results/runs", range(10))
    put(found, "results/runs", range(10), run=Run("cora"))
    put(found, "before", range(10), run=Run("cora")).write_text("")
    with pytest.raises(ValueError, match=r"citeseer/default/splits-0-9.json: holds a list") as told:
        collect_runs(found, "before")
    own, kept = str(told.value).split("; before/cora/default/splits-0-9.json: ")
    assert own.endswith("delete it to have it made again")
    assert kept.startswith("is damaged") and kept.endswith(RESTORE)
    assert Path("before/cora/layers=3/splits-0-9.json").is_file()


def test_the_runs_of_this_repository_are_of_its_configuration():
    """Where a change of the configuration or of a stage makes some of other settings, they go."""
    found = catalogue({"measured": str(MEASURED)})
    for path in MEASURED.glob(f"*/{STATISTICS}"):
        assert measured_statistics(found, path.parent.name) == str(path)
    folders = sorted({path.parent for path in MEASURED.glob("*/*/*")})
    assert folders
    for folder in folders:
        run, files = Run(*folder.relative_to(MEASURED).parts), run_files_in(folder)
        assert sorted(files) == sorted(folder.iterdir()), f"{folder} holds other files"
        right, others = most_splits([files], found.run_settings(run))
        assert not others, "of other settings"
        assert right == files, "of the same splits"
        for path in files:
            content = read_run(path)
            splits = [record["split"] for record in content["records"]]
            assert splits == found.splits(run.variant, *re.findall(r"\d+", path.name)), path
            assert re.fullmatch("[0-9a-f]{40}", content["commit"]), f"{path}: uncommitted code"
