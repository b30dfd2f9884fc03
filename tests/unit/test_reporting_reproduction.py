"""The verdict on the paper: gathered from the tables, nothing left out, nothing counted twice."""

from decimal import Decimal
from types import SimpleNamespace

import pandas as pd
import pytest

from flode.experiments.validation import ConfigurationError
from flode.reporting.places import cell_words, plain_words
from flode.reporting.published import decimals
from flode.reporting.reproduction import MAX_LISTED, reproduction_table
from flode.reporting.stages import make_table
from flode.reporting.tidy import COLUMNS, PRINTED, tidy_frame, write_table
from tests.configuration import catalogue
from tests.unit.typesetting import fits

CATALOGUE = catalogue()


def record(table, row, column, verdict, **changed):
    cell = dict.fromkeys(COLUMNS, "") | {"table": table, "subtable": "s", "unit": "%"}
    cell |= {"row": row, "column": column, "metric": "accuracy", "verdict": verdict}
    cell |= {"mean": 80.0, "std": 1.0, "n": 10, "published_mean": 81.0, "published_std": 1.0}
    cell |= {"runs": "r.json"} | changed
    digits = {
        name: None if cell[column] is None else decimals(Decimal(f"{cell[column]:g}"))
        for column, name in PRINTED.items()
    }
    return digits | cell


NOT_RUN = {"mean": None, "std": None, "n": None}
TABLES = {
    "dsbm": [
        record("dsbm", "FLODE", "0.1", "reproduced"),
        record("dsbm", "FLODE", "0.2", "lower"),
        record("dsbm", "MagNet", "0.1", ""),
    ],
    "node_classification_full": [
        record("node_classification_full", "FLODE", "Cora", "not run", **NOT_RUN),
    ],
    "node_classification": [
        record("node_classification", "1st: GREAD", "Cora", ""),
        record("node_classification", "2nd: FLODE", "Cora", "published values disagree"),
    ],
    "hyperparameters": [
        record("hyperparameters", "exponent", "Cora", "higher", unit=""),
        record("hyperparameters", "num_layers", "Cora", "reproduced", unit=""),
    ],
    "ablation": [
        record("ablation", "a", "test accuracy", "lower"),
        record("ablation", "a", "test accuracy, published layers", "reproduced"),
        record("ablation", "a", "layers, published layers", "reproduced", std=None),
        record("ablation", "b", "test accuracy, published layers", "not run", **NOT_RUN),
    ],
    "frequency_dominance": [
        record("frequency_dominance", "FD", "Film", "published values disagree"),
        record("frequency_dominance", "predicted_high", "Film", "", published_mean=None),
        record("frequency_dominance", "lambda_1", "Cora", "reproduced", metric="lambda_1"),
    ],
    "datasets": [
        record("datasets", "cora", "raw nodes", "reproduced", note="as counted; not in the paper"),
        record("datasets", "cora", "lambda_1", "reproduced", metric="lambda_1"),
        record("datasets", "cora", "lambda_PF", "reproduced", metric="lambda_pf"),
    ],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduction")
    files = []
    for name, records in TABLES.items():
        write_table(tidy_frame(records), folder / f"{name}.csv")
        files.append(folder / f"{name}.csv")
    settings = CATALOGUE.table_settings("reproduction")
    out = (folder / "reproduction.csv", folder / "reproduction.tex")
    return make_table("reproduction", settings, [], files, *out), out[1].read_text(), files


def test_every_number_of_flode_comes_once_and_no_other(made):
    frame, *_ = made
    found = list(zip(frame["table"], frame["row"], frame["column"], frame["verdict"], strict=True))
    assert found == [
        ("dsbm", "FLODE", "0.1", "reproduced"),
        ("dsbm", "FLODE", "0.2", "lower"),
        ("node_classification_full", "FLODE", "Cora", "not run"),
        ("node_classification", "2nd: FLODE", "Cora", "published values disagree"),
        ("hyperparameters", "exponent", "Cora", "higher"),
        ("ablation", "a", "test accuracy, published layers", "reproduced"),
        ("ablation", "b", "test accuracy, published layers", "not run"),
        ("frequency_dominance", "FD", "Film", "published values disagree"),
        # A graph's λ₁ is printed once; counts of the paper's program are not the paper's.
        ("frequency_dominance", "lambda_1", "Cora", "reproduced"),
        ("datasets", "cora", "lambda_PF", "reproduced"),
    ]
    assert tuple(frame.columns) == (*COLUMNS, *PRINTED.values())


def test_the_summary_counts_verdicts_and_lists_what_was_not_reproduced(made):
    _, tex, _ = made
    assert r"all & 4 & 1 & 1 & 2 & 2 \\" in tex
    assert "4 of the 8 numbers that were measured are reproduced, of 10 published" in tex
    assert r"s: Cora, learned exponent $\alpha$ & 80$\pm$1 & 81$\pm$1 & higher" in tex
    assert "FLODE has the place that the paper gives it" in tex


def test_numbers_that_were_not_reproduced_are_called_as_in_their_tables(tmp_path):
    layouts = CATALOGUE.table_settings("reproduction")["spec"]["layouts"]
    found = {
        name: (cell_words(kind, layouts[name]["subtables"], cell), plain_words(layouts, cell))
        for name, (kind, cell) in {
            "dsbm": ("comparison", {"subtable": "edge_density", "column": "0.08"}),
            "node_classification": (
                "ranking", {"subtable": "directed", "row": "3rd: FLODE", "column": "Film"},
            ),
            "ablation": (
                "ablation",
                {
                    "subtable": "chameleon", "row": "D, heat, ode, standard",
                    "column": "dirichlet energy, published layers", "metric": "dirichlet_energy",
                },
            ),
            "frequency_dominance": (
                "frequency_dominance",
                {"subtable": "schroedinger", "row": "lambda_1_W", "column": "Cora"},
            ),
            "datasets": (
                "datasets", {"subtable": "directed", "row": "film-directed", "column": "lambda_PF"},
            ),
        }.items()
        for cell in [SimpleNamespace(**({"table": name, "row": "FLODE"} | cell))]
    }  # fmt: skip
    assert found == {
        "dsbm": (
            r"Varying edge density: $\alpha^{\ast}$ 0.08", "Varying edge density: α* 0.08",
        ),
        "node_classification": ("Directed graphs: Film", "Directed graphs: Film"),
        "ablation": (
            r"Chameleon: D\enspace $\mathbf{x}_{t+1} = \mathbf{x}_t - h \mathbf{L} "
            r"\mathbf{x}_t \mathbf{W}$, energy",
            "Chameleon: directed, heat, ODE, standard; energy, published layers",
        ),
        "frequency_dominance": (
            r"Schrödinger's equation: $\mathrm{Re}\,\lambda_1(\mathbf{W})$, Cora",
            "Schrödinger's equation: Re λ_1(W), Cora",
        ),
        "datasets": (
            r"Directed graphs: Film, $\lambda_{\mathrm{PF}}$", "Directed graphs: Film, λ_PF",
        ),
    }  # fmt: skip


def test_numbers_of_others_say_whose_they_are():
    layouts = CATALOGUE.layouts(["baselines", "discrepancies", "ablation", "node_classification"])
    baseline = record("baselines", "GCN", "Cora", "", subtable="undirected")
    reading = record("discrepancies", "Cora", "table: as printed", "", subtable="orientation")
    place = record("node_classification", "2nd: GREAD", "Film", "", subtable="directed")
    chosen = record(
        "ablation", "U, heat, no ode, standard", "test accuracy", "", subtable="squirrel"
    )
    unknown = record("gone", "FLODE", "Cora", "", subtable="s")
    assert [
        plain_words(layouts, SimpleNamespace(**one))
        for one in (baseline, place, reading, chosen, unknown)
    ] == [
        "Undirected graphs: Cora, GCN",
        "Directed graphs: Film, 2nd: GREAD",
        "Orientation of edges: Cora, accuracy (%); table: as printed",
        "Squirrel: undirected, heat, no ODE, standard; accuracy, layers chosen by validation",
        "s, FLODE, Cora",
    ]


def test_as_many_numbers_as_are_listed_fit_a_page(tmp_path):
    layouts = CATALOGUE.table_settings("reproduction")["spec"]["layouts"]
    tables = {
        "dsbm": [record("dsbm", "FLODE", "0.08", "higher", subtable="edge_density")],
        "ablation": [
            record("ablation", row, f"{column}, published layers", "lower", subtable=name, **metric)
            for name, subtable in layouts["ablation"]["subtables"].items()
            for row in subtable["rows"]
            for column, metric in (
                ("test accuracy", {}), ("dirichlet energy", {"metric": "dirichlet_energy"}),
            )
        ],
    }  # fmt: skip
    files = [tmp_path / f"{name}.csv" for name in tables]
    for file, records in zip(files, tables.values(), strict=True):
        write_table(tidy_frame(records), file)
    settings = CATALOGUE.table_settings("reproduction")
    make_table("reproduction", settings, [], files, tmp_path / "r.csv", tmp_path / "r.tex")
    text = (tmp_path / "r.tex").read_text(encoding="utf-8")
    assert text.count(r"$\pm$1 & lower \\") == MAX_LISTED - 1 and "more in the CSV" in text
    fits(tmp_path, "r")


def test_a_rankings_numbers_of_flode_are_those_of_its_places():
    rows = ["1st: GREAD", "2nd: FLODE", "FLODE"]  # the last one was not run, and has no place
    ranking = tidy_frame([record("summary", row, "Cora", "reproduced") for row in rows])
    found = reproduction_table("own", {"tables": {"summary": "ranking"}}, {"summary": ranking})
    assert found["row"].tolist() == rows[1:]


def test_the_datasets_table_alone_keeps_its_lambda_1():
    frames = {"datasets": tidy_frame(TABLES["datasets"])}
    found = reproduction_table("own", {"tables": {"datasets": "datasets"}}, frames)
    assert found["column"].tolist() == ["lambda_1", "lambda_PF"]


def test_a_table_that_is_missing_leaves_its_numbers_out(made, tmp_path):
    *_, files = made
    settings = CATALOGUE.table_settings("reproduction")
    out = (tmp_path / "r.csv", tmp_path / "r.tex")
    frame = make_table("reproduction", settings, [], files[1:], *out)
    assert "dsbm" not in set(frame["table"])
    assert len(pd.read_csv(out[0])) == 8


def test_it_is_made_from_tables_that_are_there():
    files = CATALOGUE.table_files("reproduction")
    assert files[0] == "results/tables/dsbm.csv" and len(files) == 7
    with pytest.raises(ConfigurationError, match="did you mean 'dsbm'"):
        catalogue({"tables": {"reproduction": {"tables": ["dsbn"]}}})
    with pytest.raises(ConfigurationError, match="published"):
        catalogue({"tables": {"reproduction": {"published": "x.csv"}}})
    with pytest.raises(ConfigurationError, match="'published' is missing"):
        catalogue({"tables": {"own": {"kind": "comparison", "caption": "", "label": ""}}})


def test_the_summary_names_its_tables_and_those_that_are_missing(made, tmp_path):
    _, tex, files = made
    assert tex.startswith("% Summary of tables dsbm, node") and "No number comes from" not in tex
    settings = CATALOGUE.table_settings("reproduction")
    out = (tmp_path / "r.csv", tmp_path / "r.tex")
    make_table("reproduction", settings, [], files[1:], *out)
    assert "No number comes from: DSBM graphs." in out[1].read_text()
    with pytest.raises(ValueError, match="none of its tables is there"):
        make_table("reproduction", settings, [], [], *out)
