"""The transcribed numbers of the paper: shape, uniqueness, plausibility."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

PUBLISHED = Path(__file__).resolve().parents[2] / "config" / "published"
COLUMNS = [
    *("subtable", "group", "row", "column", "metric", "unit"),
    *("mean", "error", "error_kind", "n", "note", "source"),
]
ROWS = {
    "ablation": {"chameleon": 36, "squirrel": 32, "citeseer": 12},
    "datasets": {"undirected": 18, "directed": 8, "heterophilous": 8},
    "dsbm": {"edge_density": 33, "net_flow": 88},
    "dsbm_hyperparameters": {"edge_density": 15, "net_flow": 40},
    "frequency_dominance": {"graph": 6, "heat": 24, "schroedinger": 24},
    "frequency_dominance_seeds": {"schroedinger": 20},
    "hyperparameters": {"undirected": 66, "directed": 33, "heterophilous": 44},
    "node_classification": {"undirected": 9, "heterophilous": 9, "directed": 9},
    "node_classification_full": {"undirected": 120, "directed": 15, "heterophilous": 72},
}
AUROC_DATASETS = {"Minesweeper", "Tolokers", "Questions"}


def load(name: str) -> pd.DataFrame:
    return pd.read_csv(PUBLISHED / f"{name}.csv", dtype=str, keep_default_na=False)


def numbers(column: pd.Series) -> pd.Series:
    """The printed numbers; an empty cell is left out, anything else must parse."""
    return column[column != ""].map(float)


@pytest.fixture(params=sorted(ROWS))
def name(request):
    return request.param


@pytest.fixture
def table(name):
    return load(name)


def test_no_file_is_unknown():
    assert {path.stem for path in PUBLISHED.glob("*.csv")} == set(ROWS)


def test_columns(name, table):
    extra = ["method"] if name == "node_classification" else []
    assert list(table.columns) == COLUMNS + extra


def test_row_counts(name, table):
    assert table["subtable"].value_counts().to_dict() == ROWS[name]


def test_numbers_parse_and_are_plausible(table):
    mean, error = numbers(table["mean"]), numbers(table["error"])
    assert (error >= 0).all()
    percent = mean[table["unit"] == "%"]
    assert percent.between(0, 100).all()
    assert set(table["unit"]) <= {"", "%"}
    assert ((table["unit"] == "%") == table["metric"].isin(["accuracy", "auroc"])).all()


def test_a_missing_mean_is_explained(table):
    assert (table.loc[table["mean"] == "", "note"] != "").all()


def test_errors_have_a_kind(table):
    assert ((table["error"] != "") == (table["error_kind"] != "")).all()
    assert set(table["error_kind"]) <= {"", "std", "standard error"}
    assert (table.loc[table["error"] != "", "n"] != "").all()


def test_repetitions(name, table):
    assert set(table["n"]) <= {"", "5" if name.startswith("dsbm") else "10"}


def test_cells_are_unique(name, table):
    key = ["subtable", "row", "column", "metric"]
    if name == "node_classification":
        key.append("method")
    assert not table.duplicated(key).any()


def test_groups_count_up_from_zero(table):
    for _, rows in table.groupby("subtable"):
        groups = rows["group"].map(int).tolist()
        assert groups == sorted(groups)
        assert sorted(set(groups)) == list(range(max(groups) + 1))


def test_every_row_fills_its_columns(name, table):
    if name in ("ablation", "datasets"):  # not every number is printed for every row
        return
    for _, rows in table.groupby("subtable"):
        assert len(rows) == rows["row"].nunique() * rows["column"].nunique()


def test_text_columns(name, table):
    assert (table[["subtable", "row", "column", "metric", "source"]] != "").all().all()
    places = ("Table tab:", "Figure fig:", "The paper's program")
    assert table["source"].str.startswith(places).all()
    assert (
        not table[["row", "column", "note"]].apply(lambda c: c.str.contains(r"[\\${}]")).any().any()
    )
    if name == "node_classification":
        assert (table["method"] != "").all()


@pytest.mark.parametrize("name", ["dsbm", "node_classification_full"])
def test_flode_has_every_column(name):
    table = load(name)
    for _, rows in table.groupby("subtable"):
        flode = rows[rows["row"] == "FLODE"]
        assert set(flode["column"]) == set(rows["column"])
        assert (flode["mean"] != "").all()


def test_dsbm_error_kinds():
    table = load("dsbm")
    expected = (table["row"] == "FLODE").map({True: "standard error", False: "std"})
    assert (table["error_kind"] == expected).all()


@pytest.mark.parametrize("name", ["node_classification", "node_classification_full"])
def test_metric_follows_the_dataset(name):
    table = load(name)
    assert ((table["metric"] == "auroc") == table["column"].isin(AUROC_DATASETS)).all()


def test_summary_repeats_the_full_table():
    full = load("node_classification_full").set_index(["subtable", "row", "column"])
    summary = load("node_classification")
    assert "FLODE" in set(summary["method"])
    for cell in summary.itertuples():
        printed = full.loc[(cell.subtable, cell.method, cell.column)]
        assert (cell.mean, cell.error) == (printed["mean"], printed["error"])


def test_statistics_repeat_the_configuration_and_the_spectra():
    config = yaml.safe_load((PUBLISHED.parent / "datasets.yaml").read_text(encoding="utf-8"))
    spectra = load("frequency_dominance").set_index(["subtable", "row", "column"])["mean"]
    statistics = load("datasets")
    for cell in statistics.itertuples():
        dataset = config["datasets"][config["variants"][cell.row]["dataset"]]
        if cell.column.startswith("raw "):
            assert float(cell.mean) == dataset["published"][cell.column.removeprefix("raw ")]
        elif cell.column == "lambda_1":
            assert cell.mean == spectra["graph", "lambda_1", dataset["title"]]
    assert set(statistics["column"]) == {"raw nodes", "raw edges", "lambda_1", "lambda_PF"}
