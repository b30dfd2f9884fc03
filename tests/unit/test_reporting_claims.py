"""Claims of the text: comparisons of what was measured, and nothing published in its place."""

import pandas as pd
import pytest

from flode.experiments.checks import STUDY_COLUMNS
from flode.experiments.validation import ConfigurationError
from flode.reporting.claims import (
    checks_held,
    claim_verdict,
    claims_table,
    load_sources,
    render_claims,
)
from flode.reporting.stages import make_table
from flode.reporting.tidy import tidy_frame, write_table
from tests.configuration import catalogue
from tests.unit.test_reporting_reproduction import record
from tests.unit.typesetting import fits

CATALOGUE = catalogue()

TABLE = tidy_frame(
    [
        record("t", "FLODE", "0.1", "", mean=90.0, runs="a/splits-0-9.json"),
        record("t", "FLODE", "0.05", "", mean=88.0, runs="b/splits-0-9.json;statistics.json"),
        record("t", "MagNet", "0.1", "", mean=None, published_mean=95.0, runs=""),
        record("t", "MagNet", "0.05", "", mean=None, published_mean=85.0, runs=""),
        record("t", "part", "0.1", "", mean=80.0, runs="c/splits-0-2.json;c/splits-5-5.json"),
        record("t", "near", "", "", mean=85.8, runs=""),
        record("t", "lost", "0.1", "not run", mean=None, published_mean=99.0, runs=""),
    ]
)
STUDY = pd.DataFrame({"graph": ["Cora", "Cora"], "x": [4, 256], "mean": [86.0, None]})
SOURCES = {"t": TABLE, "s": STUDY}


def cell(row, column, **more):
    return {"source": "t", "where": {"row": row, "column": column}, **more}


def drop(row, **more):
    return cell(row, "0.1", minus={"where": {"row": row, "column": "0.05"}}, **more)


def rise(row, **more):
    return cell(row, "0.05", minus={"where": {"row": row, "column": "0.1"}, **more})


def judge(*checks):
    spec = {"claims": {"It is so": {"source": "Section 6", "checks": list(checks)}}}
    return claims_table("claims", spec, SOURCES)


@pytest.mark.parametrize(
    ("check", "verdict", "note"),
    [
        ({"greater": [cell("FLODE", "0.1"), 89]}, "holds", "90 against 89"),
        ({"greater": [cell("FLODE", "0.1"), 90]}, "fails", "90 against 90"),
        ({"at_least": [cell("FLODE", "0.1"), 90]}, "holds", "90 against 90"),
        (
            {"less": [drop("FLODE"), drop("MagNet", value="published_mean")]},
            "holds",
            "2 against 10",
        ),
        ({"less": [drop("MagNet"), 5]}, "not run", ""),
        ({"less": [rise("FLODE"), -1]}, "holds", "-2 against -1"),
        ({"less": [rise("FLODE", absolute=True), 1]}, "fails", "2 against 1"),
        ({"greater": [cell("lost", "0.1"), 5]}, "not run", ""),
        ({"greater": [{"source": "s", "where": {"graph": "Cora", "x": 4}}, 5]}, "holds", "86"),
        ({"greater": [{"source": "s", "where": {"graph": "Cora", "x": 256}}, 5]}, "not run", ""),
        ({"greater": [{"source": "gone", "where": {"x": 4}}, 5]}, "not run", ""),
    ],
)
def test_a_check_compares_what_was_measured(check, verdict, note):
    frame = judge(check)
    assert frame["verdict"].tolist() == [verdict]
    assert frame["note"].item().startswith(note)
    assert frame["mean"].isna().all() and frame["published_mean"].isna().all()


def test_accuracies_that_are_nearly_equal_are_called_close():
    frame = judge({"greater": [cell("FLODE", "0.1"), cell("FLODE", "0.1")]})
    assert frame["note"].item() == "90 against 90; less than half a point apart"
    assert "less than" not in judge({"greater": [cell("FLODE", "0.1"), 89.9]})["note"].item()
    near = judge(
        {"greater": [{"source": "s", "where": {"graph": "Cora", "x": 4}}, cell("near", "")]}
    )
    assert near["note"].item() == "86 against 85.8; less than half a point apart"
    spread = [cell("FLODE", one, value="std") for one in ("0.1", "0.05")]
    assert judge({"at_least": spread})["note"].item() == "1 against 1"


def test_means_over_different_splits_are_called_unequal():
    frame = judge(
        {"greater": [drop("FLODE"), cell("part", "0.1")]},
        {"greater": [cell("FLODE", "0.1"), cell("FLODE", "0.05")]},
        {"less": [cell("part", "0.1"), cell("MagNet", "0.1", value="published_mean")]},
    )
    assert frame["note"].tolist() == [
        "2 against 80; means over different splits: 0 to 9 and 0 to 2, 5",
        "90 against 88",
        "80 against 95",
    ]
    assert checks_held(frame) == "2 of 3 (1 unequal)"


def test_the_runs_of_a_check_are_named():
    frame = judge({"less": [drop("FLODE"), 5]})
    assert frame["runs"].item() == "a/splits-0-9.json;b/splits-0-9.json;statistics.json"
    assert frame["column"].item() == "FLODE / 0.1 minus 0.05 less than 5"


@pytest.mark.parametrize(
    ("side", "words"),
    [
        ({"source": "t", "where": {"row": "FLODE"}}, "2 rows of t"),
        (cell("FLOD", "0.1"), "0 rows of t"),
        ({"source": "t", "where": {"rwo": "FLODE"}}, "no column 'rwo'"),
        (cell("FLODE", "0.1", value="median"), "no column 'median'"),
        (cell("FLODE", "0.1", value="runs"), "runs of t is 'a/splits-0-9.json'; allowed: a number"),
    ],
)
def test_a_side_must_be_one_number(side, words):
    with pytest.raises(ValueError, match=words):
        judge({"greater": [side, 1]})


def test_a_claim_holds_if_all_its_checks_do():
    assert claim_verdict(["holds", "holds"]) == "holds"
    assert claim_verdict(["holds", "fails", "not run"]) == "fails"
    assert claim_verdict(["holds", "not run"]) == "open"


def test_the_repositorys_claims_read_what_is_configured(tmp_path):
    """Every cell that a claim names exists in tables made without any run."""
    files = []
    for file in CATALOGUE.table_files("claims"):
        group, name = file.split("/")[-2:]
        name = name.removesuffix(".csv")
        path = tmp_path / group / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        if group == "tables":
            settings = CATALOGUE.table_settings(name)
            published = settings["spec"]["published"]
            make_table(name, settings, published, [], path, tmp_path / "t.tex")
        else:
            write_series(CATALOGUE.study_settings(name), path)
        files.append(path)
    settings = CATALOGUE.table_settings("claims")
    out = (tmp_path / "claims.csv", tmp_path / "claims.tex")
    frame = make_table("claims", settings, [], files, *out)
    assert set(frame["verdict"]) == {"not run"} and len(frame) > 80
    tex = out[1].read_text()
    claims = frame.groupby("row").size()
    assert tex.count("not run") == tex.count("& open") == len(claims) > 20
    assert all(f" 0 of 0 ({checks} not run) &" in tex for checks in claims)
    fits(tmp_path, "claims")


def write_series(settings, path):
    rows = [
        {"graph": graph, "distance": distance, "exponent": exponent, "edges": None}
        for graph in settings["spec"]["graphs"]
        for exponent in settings["spec"].get("exponents", [])
        for distance in range(20)
    ]
    for label, by_series in settings["series"].items():
        for series, points in by_series.items():
            for configuration, values in points.items():
                row = dict.fromkeys(STUDY_COLUMNS[settings["spec"]["kind"]])
                row |= {"graph": label, "series": series, "configuration": configuration}
                rows.append(row | {"x": values.get("num_layers", values.get("rank"))})
    pd.DataFrame(rows).to_csv(path, index=False)


def test_a_source_that_is_not_there_is_refused_before_any_job():
    check = {"greater": [{"source": "ablatoin", "where": {"row": "a"}}, 1]}
    claims = {"own": {"source": "here", "checks": [check]}}
    with pytest.raises(ConfigurationError, match="did you mean 'ablation'"):
        catalogue({"tables": {"claims": {"claims": claims}}})


def test_sources_survive_their_files(tmp_path):
    write_table(TABLE, tmp_path / "tables" / "t.csv")
    spec = {"kind": "claims", "caption": "", "label": ""}
    spec["claims"] = {"It is so": {"source": "S", "checks": [{"less": [drop("FLODE"), 5]}]}}
    out = (tmp_path / "c.csv", tmp_path / "c.tex")
    settings = {"spec": spec, "quick": False}
    frame = make_table("c", settings, [], [tmp_path / "tables" / "t.csv"], *out)
    assert frame["verdict"].tolist() == ["holds"]
    assert "1 of 1 & holds" in out[1].read_text()


def test_what_is_published_is_said_to_be():
    frame = judge(
        {"at_least": [cell("FLODE", "0.1"), cell("MagNet", "0.1", value="published_mean")]}
    )
    assert frame["column"].item() == "FLODE / 0.1 at least MagNet (published)"
    tex = render_claims(frame, {"caption": "", "label": ""})
    assert "Baselines are as published" in tex and "measured means" not in tex


def test_a_check_that_is_not_run_says_why_and_one_of_a_quick_run_too():
    frame = judge(
        {"greater": [{"source": "gone", "where": {"x": 4}}, 5]},
        {"greater": [cell("lost", "0.1"), 5]},
    )
    assert frame["note"].tolist() == ["gone was not made", "t has no mean of lost / 0.1"]
    quick = {"t": TABLE.assign(note="quick run")}
    spec = {"claims": {"a": {"source": "b", "checks": [{"less": [cell("FLODE", "0.1"), 5]}]}}}
    assert "quick run" in claims_table("claims", spec, quick)["note"].item()


@pytest.mark.parametrize("text", ["", "table,row", "a,b\n"])
@pytest.mark.parametrize("group", ["tables", "studies"])
def test_a_damaged_source_is_named(tmp_path, text, group):
    path = tmp_path / group / "t.csv"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(ValueError, match=r"t\.csv"):
        load_sources([path])
