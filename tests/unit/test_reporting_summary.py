"""The summary counts what the tables hold, and says what is missing."""

import docutils.core
import jinja2
import pandas as pd
import pytest

from flode.experiments.captions import plain_text, rst_escape
from flode.experiments.catalogue import Run
from flode.experiments.report import Report
from flode.experiments.validation import ConfigurationError
from flode.reporting.plain import digits_of, measured_text, published_text
from flode.reporting.summary import summary_text, write_summary
from flode.reporting.tidy import read_table, tidy_frame, write_table
from flode.reporting.typeset import QUICK_STAMP
from tests.configuration import catalogue
from tests.run_samples import put_run_file
from tests.unit.test_reporting_reproduction import record

NOTHING = {"mean": None, "std": None, "n": None}
NO_FILE = "printed 1 here and 2 there; raw file x could not be fetched"
A = [
    record("a", "FLODE", "Cora", "reproduced"),
    record("a", "FLODE", "Film", "higher", mean=90.123),
    record("a", "FLODE", "Pubmed", "not run", note=NO_FILE, **NOTHING),
    record(
        "a", "FLODE", "Citeseer", "published values disagree",
        note="printed 1 here and 2 there; published values disagree",
    ),
]  # fmt: skip
B = [record("b", "exponent", "{% x %} *y*", "lower", unit="", published_mean=0.125, std=None)]


def claim(row, verdict, note=""):
    published = {"published_mean": None, "published_std": None}
    return record("claims", row, "x less than 1", verdict, note=note, **NOTHING, **published)


CLAIMS = [
    claim("It holds", "holds"),
    claim("It fails", "holds"),
    claim("It fails", "fails"),
    claim("It is close", "holds", "77.5 against 77.4; less than half a point apart"),
    claim("It is open", "not run", "b was not made"),
]
TABLES = {
    "a": tidy_frame(A),
    "b": tidy_frame(B),
    "reproduction": tidy_frame([*A, *B]),
    "claims": tidy_frame(CLAIMS),
}
KINDS = {"a": "comparison", "b": "any", "reproduction": "reproduction"}
KINDS |= {"claims": "claims"}
TITLES = {"a": r"Of $\alpha$"}
LEARNT = [
    {"statement": "Of b", "table": "b", "cells": [{"row": "exponent"}]},
    {"statement": "Drawn", "figure": "depth"},
    {"statement": "Seen", "figure": "spectrum"},
    {"statement": "Proved in", "document": "docs/theory.md"},
]
LINKS = {"a.html", "reproduction.html", "depth.svg"}


def layouts(kinds):
    return {
        name: {"kind": kind, "title": TITLES.get(name), "subtables": {}}
        for name, kind in kinds.items()
    }


def summed_up(tables=TABLES, quick=False, kinds=KINDS, learnt=LEARNT):
    settings = {"layouts": layouts(kinds), "learnt": learnt, "quick": quick}
    settings["splits"] = {"cora": 10}
    return summary_text(settings, tables, LINKS)


def row(text, *cells):
    return (
        "\n".join(f"   {'*' if k == 0 else ' '} - {cell}".rstrip() for k, cell in enumerate(cells))
        in text
    )


def test_numbers_are_counted_by_table_and_verdict():
    text = summed_up()
    assert (
        "Of the 5 numbers that the paper publishes for FLODE, 4 were measured; **1 of these 4"
        in text
    )
    header = (
        "table",
        "reproduced",
        "higher",
        "lower",
        "published values disagree",
        "not run",
        "all",
    )
    assert row(text, *header)
    assert row(text, "`Of α <a.html_>`__", 1, 1, 0, 1, 1, 4)
    assert row(text, "b", 0, 0, 1, 0, 0, 1)  # not in the report: no link
    assert row(text, "**all**", 1, 1, 1, 1, 1, 5)


@pytest.mark.parametrize("name", ["A. b", "1. b", "(a) b", "- b", ".. b"])
def test_a_name_that_would_begin_a_list_is_printed_whole(name):
    rows = [record(name, "FLODE", "Cora", "reproduced")]
    text = summed_up(TABLES | {"reproduction": tidy_frame(rows)})
    assert row(text, rf"\ {name}", 1, 0, 0, 1)
    body = docutils.core.publish_parts(text, writer_name="html")["html_body"]
    assert f"<p>{name}</p>" in body or f">{name}<" in body


@pytest.mark.parametrize(("n", "says"), [(3, True), (10, False)])
def test_numbers_of_some_of_the_splits_are_counted(n, says):
    runs = "results/runs/cora/default/splits-0-2.json;results/runs/cora/default/splits-5-5.json"
    rows = [record("a", "FLODE", "Cora", "reproduced", n=n, runs=runs), A[1], A[2]]
    text = summed_up(TABLES | {"reproduction": tidy_frame(rows)})
    assert (
        "1 of the measured ones, of which 1 are reproduced, rest on some of their splits" in text
    ) == says


def test_where_the_numbers_come_from(tmp_path, monkeypatch):
    assert "Where the numbers come from" not in summed_up()
    monkeypatch.chdir(tmp_path)
    found, run = catalogue(), Run("cora")
    one = {"record": {"seconds": 1800.0}, "threads": 2}
    files = [
        str(put_run_file(found, "runs", run, range(0, 3), **one)),
        str(put_run_file(found, "runs", run, range(3, 5), commit="d" * 40 + "+changes", **one)),
        str(put_run_file(found, "runs", run, range(5, 9), device="H200", **one)),
        "runs/cora/default/splits-9-9.json",  # has gone
        "statistics/cora.json",
    ]
    gpu = {"device": "H200", "commit": "c" * 40}
    files += [
        str(put_run_file(found, "runs", Run("citeseer"), range(1), record=gpu | one["record"])),
    ]
    rows = [record("a", "FLODE", "Cora", "reproduced", runs=";".join(files))] * 2
    text = summed_up(TABLES | {"a": tidy_frame(rows), "claims": tidy_frame(rows)})
    assert row(text, "c" * 10, "2.13.0", "cpu", 1, 3, "3.0")
    assert row(text, "d" * 10 + "+changes", "2.13.0", "cpu", 1, 2, "2.0")
    assert row(text, "c" * 10, "2.13.0", "H200", 2, 5, "2.5")


def test_what_was_not_reproduced_is_listed_with_both_numbers():
    text = summed_up()
    assert "Not reproduced: 2." in text
    assert row(text, "`Of α <a.html_>`__", "s: Film", "90 ± 1", "81 ± 1", "higher")


def test_claims_hold_fail_or_are_open():
    text = summed_up()
    assert "Of 4 claims 2 hold, 1 fail and 1 are open, as not all checks were run." in text
    assert row(text, "It holds", "s", "1 of 1", "holds")
    assert row(text, "It fails", "s", "1 of 2", "**fails**")
    assert row(text, "It is open", "s", "0 of 0 (1 not run)", "open")
    assert row(text, "It is close", "s", "1 of 1 (1 close)", "holds")


def test_what_was_not_run_says_why_and_counts_no_cell_twice():
    text = summed_up()
    assert row(text, "raw file x could not be fetched", "`Of α <a.html_>`__ (1)")
    assert "b was not made" not in text
    whole = {name: frame[frame["verdict"] != "not run"] for name, frame in TABLES.items()}
    assert "Nothing: each cell" in summed_up(whole)


def test_what_was_learnt_points_to_what_measures_it():
    text = summed_up()
    assert "Of b: the table “b”." in text
    assert row(text, r"s, exponent, \{\% x %\} \*y\*", "80", "0.125 ± 1", "lower")
    assert "Drawn: `the figure depth <depth.svg_>`__." in text
    assert "Seen: the figure spectrum, which was not drawn." in text
    assert "Proved in: ``docs/theory.md``." in text
    assert row(
        text,
        "`Of α <a.html_>`__",
        "s: Citeseer",
        "80 ± 1",
        "81 ± 1",
        "printed 1 here and 2 there",
    )


def test_a_table_of_discrepancies_is_shown_where_there_is_one():
    assert "readings were measured" not in summed_up()
    readings = [
        record("discrepancies", "orientation", "as the text says", "lower"),
        record("discrepancies", "orientation", "as measured", "reproduced"),
        record("discrepancies", "weights", "as the text says", "lower"),
        record("discrepancies", "weights", "rank=1", "higher"),
    ]
    frame = tidy_frame(readings)
    tables, kinds = {**TABLES, "discrepancies": frame}, {**KINDS, "discrepancies": "any"}
    text = summed_up(tables, kinds=kinds)
    assert row(text, "s, orientation, as the text says", "80 ± 1", "81 ± 1", "lower")
    assert "4 of 4 readings were measured, all in the table “discrepancies”. Of these" in text
    assert "weights" not in text
    same = summed_up({**tables, "discrepancies": frame[2:]}, kinds=kinds)
    assert (
        "2 of 2 readings were measured, all in the table “discrepancies”.\n" in same
        and "weights" not in same
    )
    assert "The table “discrepancies” was not made." in summed_up(TABLES, kinds=kinds)


def test_numbers_of_tables_that_were_not_made_are_said_to_be_left_out():
    assert "those of tables that were not made" not in summed_up()
    tables = {name: frame for name, frame in TABLES.items() if name != "a"}
    tables["reproduction"] = tidy_frame(B)
    words = (
        "Of the 1 numbers that the paper publishes for FLODE (those of tables that were not made"
    )
    assert f"{words}, Of α, not counted), 1 were measured" in summed_up(tables)


def test_what_is_printed_twice_has_the_remark_that_says_so():
    note = "for the sign s = +i; printed 1 here and 2 there; published values disagree"
    cell = record("a", "FLODE", "Cora", "published values disagree", note=note)
    text = summed_up(TABLES | {"reproduction": tidy_frame([cell])})
    assert row(
        text, "`Of α <a.html_>`__", "s: Cora", "80 ± 1", "81 ± 1", "printed 1 here and 2 there"
    )


def test_tables_that_are_missing_are_said_to_be():
    text = summed_up({"a": TABLES["a"]})
    for words in ("The table “reproduction” was not made.", "The table “claims” was not made."):
        assert words in text
    assert row(text, "the table was not made", "b")
    assert "Of b: the table “b”.\n\nThe table “b” was not made." in text


@pytest.mark.parametrize("note", [None, "quick run"])
def test_a_quick_run_is_stamped_and_claims_no_reproduction(note):
    tables = TABLES if note is None else {**TABLES, "a": TABLES["a"].assign(note=note)}
    text = summed_up(tables, quick=note is None)
    assert f"**{QUICK_STAMP}.**" in text
    assert "are reproduced" not in text
    assert "Quick run" not in summed_up()


def test_a_cell_that_is_not_there_is_refused():
    learnt = [{"statement": "", "table": "b", "cells": [{"row": "exponnt"}]}]
    with pytest.raises(ValueError, match=r"no cell of table b has .*exponnt"):
        summed_up(learnt=learnt)


def test_it_is_valid_restructuredtext_after_jinja():
    """As Snakemake renders it: Jinja first, then docutils with a target for each file."""
    targets = "".join(f"\n.. _{name}: javascript:show('{name}')" for name in LINKS)
    text = jinja2.Environment().from_string(summed_up() + "\n" + targets).render()
    options = {"report_level": 1, "halt_level": 1}
    html = docutils.core.publish_parts(text, writer_name="html", settings_overrides=options)[
        "html_body"
    ]
    assert "{% x %} *y*" in html and "javascript:show" in html


def test_it_is_written_from_files(tmp_path):
    files = []
    for name in ("a", "reproduction"):
        write_table(TABLES[name], tmp_path / f"{name}.csv")
        files.append(tmp_path / f"{name}.csv")
    shown = {"layouts": layouts(KINDS), "learnt": LEARNT}
    settings = shown | {"quick": False, "splits": {}}
    write_summary(settings, files, ["x/a.html"], tmp_path / "out" / "summary.rst")
    text = (tmp_path / "out" / "summary.rst").read_text(encoding="utf-8")
    assert "`Of α <a.html_>`__" in text and "The table “claims” was not made." in text


def test_numbers_have_the_papers_digits():
    frame = tidy_frame(
        [
            record(
                "t", "r", "1", "", mean=77.456, std=1.26, published_mean=97.5, published_std=1.1
            ),
            record("t", "r", "2", "", mean=97.96, std=0.04, published_mean=98.0, decimals=1),
            record(
                "t", "r", "3", "", metric="lr", unit="", mean=5e-4, std=None, published_mean=0.01
            ),
            record("t", "r", "4", "", metric="n", mean=12345, std=None, published_mean=None),
            record("t", "r", "5", "", metric="l", mean=-0.93372, std=None, published_mean=-0.9337),
        ]
    )
    digits, cells = digits_of(frame), list(frame.itertuples(index=False))
    assert [measured_text(cell, digits) for cell in cells] == [
        "77.5 ± 1.3", "98.0 ± 0.04", "0.0005", "12,345", "−0.9337",
    ]  # fmt: skip
    assert published_text(cells[0], digits) == "97.5 ± 1.1"
    assert published_text(cells[3], digits) == ""


def test_published_numbers_keep_their_printed_digits_in_files(tmp_path):
    """A trailing zero is one; of a standard error times √n nothing is printed."""
    printed = [("0.590", 3, "0.010", 3), ("-0.48", 2, "0.03", 2), ("99.3", 1, None, None)]
    rows = [
        record(
            "t", "r", str(place), "", metric="x", unit="", mean=0.5, std=0.001234,
            published_mean=float(mean), decimals=digits, error_decimals=places,
            published_std=5**0.5 / 10 if spread is None else float(spread),
        )
        for place, (mean, digits, spread, places) in enumerate(printed)
    ]  # fmt: skip
    write_table(tidy_frame(rows), tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text().splitlines()[1:]
    assert [line.split(",")[9:11] for line in lines] == [
        ["0.590", "0.010"], ["-0.48", "0.03"], ["99.3", str(5**0.5 / 10)],
    ]  # fmt: skip
    frame = read_table(tmp_path / "t.csv")
    pd.testing.assert_frame_equal(frame, tidy_frame(rows))
    digits, cells = digits_of(frame), list(frame.itertuples(index=False))
    texts = [published_text(cell, digits) for cell in cells]
    assert texts == ["0.590 ± 0.010", "−0.48 ± 0.03", "99.3 ± 0.2"]
    assert measured_text(cells[1], digits) == "0.50 ± 0.001"


def test_captions_are_plain():
    assert plain_text(r"Learned $\alpha$ and $\mathbf{W}$: \first{1st}, 5\,\%.") == (
        "Learned α and W: 1st, 5 %."
    )
    assert plain_text(r"density $\alpha^{\ast}$ of \emph{Platonov et al.\ found}") == (
        "density α* of Platonov et al. found"
    )
    assert rst_escape("a_b *c* {{ d }}\n e") == r"a\_b \*c\* \{\{ d \}\} e"


def test_every_table_and_figure_of_the_repository_is_in_the_report():
    found = catalogue()
    report = Report(found)
    items = report.items()
    assert len(items) >= len(found.config["tables"]) + len(found.config["figures"])
    for table in found.config["tables"]:
        assert report.page(table) in items
        assert "$" not in report.table_caption(table)["title"]
    for figure in found.config["figures"]:
        caption = report.figure_caption(figure)
        assert report.picture(figure) in items and caption["place"]
    # The search for DSBM's depths has runs of its own, which the report does not ask for.
    assert report.search_page("dsbm") not in items
    shown = report.summary_settings()["layouts"]
    assert {"reproduction", "claims", "dsbm", "ablation"} <= set(shown)
    assert [path.split("/")[-1] for path in report.summary_inputs()] == [
        f"{name}.csv" for name in shown
    ]


def test_a_search_whose_runs_are_there_anyway_is_shown():
    grid = {"grid": {"num_layers": [2, 3]}, "variants": ["chameleon-directed"]}
    report = Report(catalogue({"searches": {"own": grid}}))
    assert report.search_page("own") in report.items()
    assert "2 runs of 1 variant" in report.search_caption("own")["rests_on"]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"table": "ablatoin"}, r"report\.learnt\.0\.table is 'ablatoin'; allowed are"),
        ({"figure": "dsmb"}, r"report\.learnt\.0\.figure is 'dsmb'; allowed are"),
        (
            {"table": "ablation", "cells": [{"subtable": "cameleon"}]},
            r"report\.learnt\.0\.cells\.subtable is 'cameleon'",
        ),
        ({"table": "ablation", "cells": [{"rwo": "x"}]}, r"cells: a key is 'rwo'"),
        ({"table": "claims", "cells": [{"row": "x"}]}, "of kind claims; a table that measures"),
    ],
)
def test_an_entry_that_names_what_is_not_there_is_refused_before_any_job(entry, words):
    overlay = {"report": {"learnt": [{"statement": "It is so", **entry}]}}
    with pytest.raises(ConfigurationError, match=words):
        Report(catalogue(overlay))


@pytest.mark.parametrize(
    "entry", [{}, {"table": "dsbm", "figure": "dsbm"}, {"figure": "dsbm", "cells": [{"row": "x"}]}]
)
def test_an_entry_points_to_one_thing(entry):
    with pytest.raises(ConfigurationError):
        catalogue({"report": {"learnt": [{"statement": "It is so", **entry}]}})
