"""Pages of tables and searches, and the report's file: whole or not at all."""

import base64
import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from flode.reporting import report as module
from flode.reporting.pages import write_search_page, write_table_page
from flode.reporting.report import make_report
from flode.reporting.tidy import tidy_frame, write_table
from tests.configuration import ROOT
from tests.unit.test_reporting_reproduction import record

CAPTION = {"title": "A table", "place": "Section 6", "rests_on": "Rests on <runs>.", "quick": False}


def page(tmp_path, records, kind, quick=False, published=(), **spec):
    write_table(tidy_frame(records), tmp_path / "t.csv")
    (tmp_path / "t.tex").write_text("% the table\n")
    settings = {"spec": {"kind": kind, **spec}, "caption": CAPTION | {"quick": quick}}
    files = (tmp_path / "t.csv", tmp_path / "t.tex", published)
    return write_table_page(settings, *files, tmp_path / "t.html")


def cell(html, text):
    """The tag of the cell that holds these words, from its opening."""
    return re.search(
        rf"<td[^>]*>(?:(?!</td>).)*{re.escape(text)}(?:(?!</td>).)*</td>", html, re.DOTALL
    )[0]


def comparison():
    nothing = {"mean": None, "std": None, "n": None}
    return [
        record("t", "MagNet", "0.1", "", published_mean=79.0, runs="", **nothing),
        record("t", "GCN", "0.1", "", published_mean=85.0, runs="", **nothing),
        record("t", "FLODE", "0.1", "lower", mean=80.0, runs="r.json;s.json"),
        record("t", "FLODE", "0.2", "not run", note="no <file>", **nothing),
    ]


def test_a_comparison_shows_marks_verdicts_and_what_the_numbers_rest_on(tmp_path):
    spec = {"marked": 2, "subtables": {"s": {"caption": r"By $\alpha^{\ast}$.", "header": "x"}}}
    html = page(tmp_path, comparison(), "comparison", **spec)
    assert "rank-1" in cell(html, "85 ± 1") and "rank" not in cell(html, "79 ± 1")
    measured = cell(html, "80 ± 1")
    assert "rank-2" in measured and "[81 ± 1]" in measured and ">lower<" in measured
    assert "r.json\ns.json" in measured
    assert "(a) By α*." in html and "1 lower" in html and "In the paper: Section 6." in html
    assert "Not run, 1 cells: no &lt;file&gt;." in html and "Rests on &lt;runs&gt;." in html
    assert "95 % Welch" in html and "Quick run" not in html


def test_a_comparison_is_ranked_by_what_is_printed(tmp_path):
    """As its .tex is: of 85.5 and 85.54 with one digit each is first."""
    nothing = {"mean": None, "std": None, "n": None}
    records = [
        record("t", "MagNet", "0.1", "", published_mean=85.1, runs="", **nothing),
        record("t", "GCN", "0.1", "", published_mean=85.5, runs="", **nothing),
        record("t", "FLODE", "0.1", "reproduced", mean=85.54, published_mean=85.6),
    ]
    html = page(tmp_path, records, "comparison", marked=2, subtables={})
    assert html.split("</style>")[1].count(" rank-1") == 2
    assert "rank-2" not in html.split("</style>")[1]


def test_the_page_carries_its_files(tmp_path):
    html = page(tmp_path, comparison(), "comparison")
    found = dict(re.findall(r'download="([^"]+)" href="[^"]+base64,([^"]+)"', html))
    assert list(found) == ["t.csv", "t.tex"]
    assert base64.b64decode(found["t.csv"]) == (tmp_path / "t.csv").read_bytes()
    assert base64.b64decode(found["t.tex"]) == b"% the table\n"


@pytest.mark.parametrize("stamped", ["configuration", "cell"])
def test_a_quick_run_is_stamped_and_marks_nothing(tmp_path, stamped):
    records = comparison()
    if stamped == "cell":
        records[2]["note"] = "quick run"
    html = page(tmp_path, records, "comparison", quick=stamped == "configuration", marked=2)
    assert '<p class="quick">Quick run: not the paper' in html
    assert 'rank-1"' not in html and "rank-2" not in html.split("</style>")[1]


def test_an_ablation_is_ranked_in_its_groups(tmp_path):
    header = "subtable,group,row,column,metric,unit,mean,error,error_kind,n,note,source\n"
    lines = [
        f"s,{group},{row},test accuracy,accuracy,%,81,1,std,10,,t\n"
        for group, row in ("0a", "0b", "1c")
    ]
    (tmp_path / "p.csv").write_text(header + "".join(lines))
    records = [
        record("t", row, "test accuracy", "higher", mean=mean)
        for row, mean in (("a", 70.0), ("b", 71.0), ("c", 60.0))
    ]
    html = page(tmp_path, records, "ablation", published=[tmp_path / "p.csv"], marked=1)
    assert "rank-1" in cell(html, "71 ± 1") and "rank-1" in cell(html, "60 ± 1")
    assert "rank" not in cell(html, "70 ± 1")


def test_a_ranking_stands_by_places(tmp_path):
    records = [
        record("t", "1st: FLODE", "Cora", "reproduced"),
        record("t", "2nd: GREAD", "Cora", "", mean=None, std=None, n=None, published_mean=79.0),
    ]
    html = page(tmp_path, records, "ranking", marked=3)
    assert "<th>1st</th>" in html and "rank-1" in cell(html, "FLODE 80 ± 1")
    assert "rank-2" in cell(html, "GREAD 79 ± 1")


def test_claims_and_unknown_kinds_stand_cell_by_cell(tmp_path):
    nothing = dict.fromkeys(("mean", "std", "n", "published_mean", "published_std"))
    claim = record("t", "It is so", "x less than 1", "holds", note="0.5 against 1", **nothing)
    html = page(tmp_path, [claim], "claims")
    assert "<td>\n<span" in html and "0.5 against 1" in html and ">holds<" in html
    html = page(tmp_path, [record("t", "orientation", "text", "lower", note="so")], "other")
    assert "s, orientation, text" in html and "80 ± 1" in html and ">lower<" in html


def test_a_search_shows_what_was_chosen(tmp_path):
    frame = pd.DataFrame(
        {"variant": ["cora", "cora"], "num_layers": [2, 3], "validation_mean": [80.0, None]}
    ).assign(chosen=[True, False], configured=[False, True], runs="r.json")
    frame.to_csv(tmp_path / "s.csv", index=False)
    html = write_search_page({"caption": CAPTION}, tmp_path / "s.csv", tmp_path / "s.html")
    assert html.count('class="chosen"') == 1 and "<th>validation mean</th>" in html
    assert "r.json" not in html.split("base64")[0]


def test_a_damaged_table_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("table,row\n1,2\n")
    settings = {"spec": {"kind": "comparison"}, "caption": CAPTION}
    with pytest.raises(ValueError, match=r"t\.csv: columns are table, row"):
        write_table_page(settings, tmp_path / "t.csv", tmp_path / "t.tex", [], tmp_path / "t.html")
    assert not (tmp_path / "t.html").exists()


def test_a_report_of_what_is_not_there_names_it(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"report\.html: needs what is not there: a\.html, b"
    ):
        make_report({}, ROOT / "Snakefile", ["a.html", "b.svg"], tmp_path / "report.html")


@pytest.mark.parametrize("failure", ["exit", "kill"])
def test_a_report_that_fails_leaves_the_old_one(tmp_path, monkeypatch, failure):
    output = tmp_path / "report.html"
    output.write_text("old")

    def run(command, **options):
        Path(command[command.index("--report") + 1]).write_text("half")
        if failure == "kill":
            raise KeyboardInterrupt
        return subprocess.CompletedProcess(command, 1, stdout="line\nsome error")

    monkeypatch.setattr(module.subprocess, "run", run)
    expected = KeyboardInterrupt if failure == "kill" else RuntimeError
    with pytest.raises(expected) as error:
        make_report({}, ROOT / "Snakefile", [], output)
    assert failure == "kill" or "report.html: snakemake --report failed:\nline\nsome error" in str(
        error.value
    )
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert output.read_text() == "old"
