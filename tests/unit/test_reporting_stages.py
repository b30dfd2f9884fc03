"""The tables of the real graphs from the repository's configuration, with made-up runs."""

import json
from pathlib import Path

import pytest
import yaml

from flode.experiments.validation import ConfigurationError, Schema
from flode.reporting.layout import parse_options
from flode.reporting.published import cells, read_published
from flode.reporting.stages import make_table
from tests.unit.reporting_samples import run_content, write_run
from tests.unit.test_reporting_statistics import DIRECTED, report
from tests.unit.typesetting import fits

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "workflow" / "schemas" / "table.schema.yaml"
TABLES = yaml.safe_load((ROOT / "config/node_classification.yaml").read_text("utf-8"))["tables"]
DATASETS = yaml.safe_load((ROOT / "config/datasets.yaml").read_text("utf-8"))
#: Not run, as where their raw files cannot be had.
GONE = ("pubmed", "questions")
REASONS = {(name, "default"): f"{name}.npz could not be fetched" for name in GONE}
FULL = TABLES["node_classification_full"]["subtables"]


def published_files(spec):
    names = spec["published"] if isinstance(spec["published"], list) else [spec["published"]]
    return [ROOT / name for name in names]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Ten splits a variant, as published but for the real graphs' noise."""
    folder = tmp_path_factory.mktemp("runs")
    paper = cells(read_published(ROOT / "config/published/node_classification_full.csv"))
    settings = cells(read_published(ROOT / "config/published/hyperparameters.csv"))
    files = []
    for subtable, spec in FULL.items():
        for column, entry in spec["columns"].items():
            if entry["variant"] in GONE:
                continue
            accuracy = paper[subtable, "FLODE", column].mean / 100
            used = {
                row: cell.mean
                for (s, row, c), cell in settings.items()
                if (s, c) == (subtable, column)
            }
            learned = {key: used.pop(key) for key in ("exponent", "step_size", "dirichlet_energy")}
            content = run_content(
                entry["variant"],
                [accuracy + (k - 4.5) / 1000 for k in range(10)],
                metric=entry.get("metric", "accuracy"),
                hyperparameters=used | ({"weight_decay": 0.0125} if column == "Cora" else {}),
            )
            for record in content["records"]:
                record |= learned
            files.append(write_run(folder, entry["variant"], content))
    return files


@pytest.fixture(scope="module")
def statistics(tmp_path_factory):
    folder = tmp_path_factory.mktemp("statistics")
    files = []
    for variant, entry in DATASETS["variants"].items():
        if variant not in GONE:
            symmetric = {} if entry["undirected"] else DIRECTED
            content = report(variant, truncated="rank" in entry, **symmetric)
            files.append(folder / f"{variant}.json")
            files[-1].write_text(json.dumps(content))
    return files


@pytest.fixture(scope="module")
def made(tmp_path_factory, runs, statistics):
    """All four tables in one folder: tidy frames by name."""
    folder = tmp_path_factory.mktemp("tables")
    frames = {
        name: make_table(
            name,
            {"spec": spec, "quick": False},
            published_files(spec),
            statistics if spec["kind"] == "datasets" else runs,
            folder / f"{name}.csv",
            folder / f"{name}.tex",
            REASONS,
        )
        for name, spec in TABLES.items()
    }
    return folder, frames


@pytest.mark.parametrize("name", TABLES)
def test_the_configuration_follows_the_schema(name):
    Schema(SCHEMA).check(TABLES[name], name)


@pytest.mark.parametrize("name", TABLES)
def test_all_that_is_published_has_a_variant(name, made):
    spec, frame = TABLES[name], made[1][name]
    for subtable in spec["subtables"].values():
        entries = subtable.get("columns", {}).values()
        variants = [entry["variant"] for entry in entries] + list(subtable.get("rows", {}))
        assert set(variants) <= set(DATASETS["variants"])
    assert not frame["note"].str.contains("the configuration names no run").any()
    gone = frame[frame["verdict"] == "not run"]
    assert len(gone)
    assert gone["note"].str.contains("could not be fetched").all()


def test_every_variant_is_a_row_of_the_statistics(made):
    assert set(made[1]["datasets"]["row"]) == set(DATASETS["variants"])


def test_the_summary_is_the_papers_where_runs_are(made):
    frame = made[1]["node_classification"]
    verdicts = frame[frame["row"].str.endswith("FLODE")].set_index(["subtable", "column"])
    expected = dict.fromkeys(verdicts.index, "reproduced")
    expected |= {
        ("heterophilous", "Questions"): "not run",
        ("directed", "Chameleon"): "published values disagree",
    }
    assert verdicts["verdict"].to_dict() == expected
    run = frame[~frame["column"].eq("Questions")]
    assert not run["note"].str.contains("the paper has").any()


def test_hyperparameters_with_published_ones_in_brackets(made):
    folder, frames = made
    frame = frames["hyperparameters"]
    assert list(dict.fromkeys(frame["row"]))[-3:] == ["exponent", "step_size", "dirichlet_energy"]
    verdicts = frame[frame["column"] != "Pubmed"].set_index(["subtable", "row", "column"])[
        "verdict"
    ]
    assert verdicts["undirected", "weight_decay", "Cora"] == "differs"
    assert verdicts["undirected", "num_layers", "Citeseer"] == "published values disagree"
    assert verdicts["directed", "dirichlet_energy", "Chameleon"] == "published values disagree"
    assert verdicts["undirected", "dirichlet_energy", "Cora"] == "reproduced"
    tex = (folder / "hyperparameters.tex").read_text(encoding="utf-8")
    assert r"$1.25\cdot10^{-2}$\\{}[$5\cdot10^{-3}$]" in tex
    assert r"$2$$^\ddagger$" in tex
    assert r"0.0227$\pm$0.0000\\{}[0.0227$\pm$0.0006]" in tex
    two_values = "printed 2 here and t = 5 in the table of the ablation"
    assert f"In the paper, (a) Citeseer layers: {two_values}." in tex
    assert r"$^\dagger$\,Not published." not in tex


def test_blocks_stand_beside_each_other(made):
    tex = (made[0] / "node_classification_full.tex").read_text(encoding="utf-8")
    (b, c) = (tex.index(f"({letter}) ") for letter in "bc")
    assert r"\hspace{14pt minus 8pt}%" in tex[b:c] and r"\par" not in tex[b:c]


def test_each_table_fits_a_page(made):
    fits(made[0], *TABLES)


def test_files_of_a_kind(tmp_path):
    spec = TABLES["node_classification"]
    outputs = (tmp_path / "t.csv", tmp_path / "t.tex")
    with pytest.raises(ValueError, match=r"published is .*full\.csv; kind ranking needs 2 file"):
        make_table("t", {"spec": spec, "quick": False}, published_files(spec)[0], [], *outputs)
    with pytest.raises(ValueError, match="kind is 'pie'; allowed: comparison, "):
        make_table("t", {"spec": {"kind": "pie"}, "quick": False}, "x.csv", [], *outputs)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("datasets", {"kind": "dataset"}, "kind is 'dataset'; allowed are comparison, ranking"),
        ("datasets", {"subtables": {}}, "subtables"),
        ("datasets", {"subtables": FULL}, "unknown key 'columns'"),
        ("node_classification", {"marked": 0}, "marked is 0; at least 1"),
        ("node_classification", {"published": "a.csv"}, "published is 'a.csv'"),
        ("node_classification_full", {"published": ["a.csv"]}, "published is"),
        ("node_classification_full", {"subtables": TABLES["datasets"]["subtables"]}, "key 'rows'"),
        ("node_classification_full", {"color": 1}, "unknown key 'color'"),
    ],
)
def test_the_schema_refuses(name, change, message):
    with pytest.raises(ConfigurationError, match=message):
        Schema(SCHEMA).check(TABLES[name] | change, name)


def test_a_published_row_of_an_ablation_that_is_removed_is_not_shown():
    left = "U, schroedinger, ode, standard"
    spec = {"subtables": {"citeseer": {"caption": "", "rows": {left: {}}}}}
    published = read_published(ROOT / "config/published/ablation.csv")
    (block,) = parse_options("ablation", spec, published)
    assert (block.name, list(block.rows)) == ("citeseer", [left])
