"""Tables of a workflow in which some runs are missing."""

import json
from pathlib import Path

import pandas as pd
import pytest

from flode.experiments.catalogue import Run
from flode.reporting.partial import write_partial
from tests.configuration import ROOT, catalogue

TABLES = Path("results/partial/tables")


@pytest.fixture
def found(tmp_path, monkeypatch):
    """The repository's catalogue, results and raw data in a folder of their own."""
    for name in ("config",):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return catalogue({"results": "results/partial", "data": {"folder": "results/raw"}})


def put_run(found, variant, test):
    (path,) = found.run_files(Run(variant))
    settings = found.run_settings(Run(variant))
    scores = dict.fromkeys(("train", "validation", "test"), test)
    records = [{"split": split, **scores, "epochs": 1} for split in range(10)]
    document = {"schema": 1, **settings, "metric": "accuracy", "training": {}, "seed": 0}
    Path(path).parent.mkdir(parents=True)
    Path(path).write_text(json.dumps(document | {"records": records}))


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


def test_a_damaged_run_stops_its_own_tables_only_and_summaries_come_last(found, capsys):
    put_run(found, "cora", 0.87)
    put_run(found, "dsbm-alpha0.1-beta0.2", 0.9)
    (path,) = found.run_files(Run("dsbm-alpha0.1-beta0.2"))
    Path(path).write_text('{"schema": 1, "reco')
    # An overlay's tables follow the summary of them.
    tables = found.config["tables"]
    tables |= {"late.1": tables.pop("node_classification_full")}
    tables["reproduction"] = tables["reproduction"] | {"tables": ["late.1"]}
    written = write_partial(found)
    assert TABLES / "dsbm.csv" not in written
    assert f"table dsbm is not written: {path}" in capsys.readouterr().err
    assert written.index(TABLES / "late.1.csv") < written.index(TABLES / "reproduction.csv")
    folder = TABLES
    assert (folder / "late.1.csv").exists() and not (folder / "dsbm.csv").exists()


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


def measured(table):
    frame = pd.read_csv(TABLES / f"{table}.csv")
    return frame[frame["row"] == "FLODE"].set_index(["subtable", "column"])
