"""Other models beside FLODE in a comparison: measured, ranked and shown, and not judged."""

import pandas as pd
import pytest

from flode.reporting.figures.comparison import comparison_figure
from flode.reporting.latex import render_comparison
from flode.reporting.pages import write_table_page
from flode.reporting.records import load_runs
from flode.reporting.reproduction import reproduction_table
from flode.reporting.tables import comparison_table
from flode.reporting.tidy import write_table
from tests.unit.reporting_samples import SPEC, published, run_content, write_run
from tests.unit.test_reporting_latex import row, tabulars
from tests.unit.test_reporting_tables import cell

#: MagNet is measured and published, Mine measured only.
MODELS = {"MagNet": "model=magnet", "Mine": "model=mine"}
WITH_MODELS = SPEC | {"models": MODELS}
ACCURACIES = {
    ("a0.1", "default"): [0.991, 0.993],
    ("a0.1", "model=magnet"): [0.995, 0.997],
    ("a0.1", "model=mine"): [0.988, 0.99],
    ("b0.2", "default"): [0.95, 0.951],
    ("b0.2", "model=mine"): [0.96, 0.97],
}


@pytest.fixture
def runs(tmp_path):
    return runs_of(tmp_path)


def runs_of(folder, **changes):
    files = [
        write_run(folder, f"r{index}", run_content(variant, tests, configuration=name, **changes))
        for index, ((variant, name), tests) in enumerate(ACCURACIES.items())
    ]
    return load_runs(files)


def test_a_measured_model_has_no_verdict_and_says_where_it_was_not_run(runs):
    frame = comparison_table("demo", WITH_MODELS, published(), runs)
    magnet = cell(frame, "density", "MagNet", "0.10")
    assert (magnet["mean"], magnet["n"]) == (pytest.approx(99.6), 2)
    assert magnet["published_mean"] == 99.6 and magnet["verdict"] == ""
    assert magnet["runs"].endswith("r1.json")
    mine = cell(frame, "density", "Mine", "0.10")
    assert mine["mean"] == pytest.approx(98.9) and pd.isna(mine["published_mean"])
    missing = cell(frame, "flow", "MagNet", "0.2")
    assert missing["verdict"] == "not run" and "configuration model=magnet" in missing["note"]
    # All else is as without them.
    flode = frame[frame["row"].isin(["FLODE", "Cheb_Net"])].reset_index(drop=True)
    alone = comparison_table("demo", SPEC, published(), runs)
    alone = alone[alone["row"] != "MagNet"].reset_index(drop=True)
    pd.testing.assert_frame_equal(flode, alone)


def test_rows_stand_in_their_places(runs):
    frame = comparison_table("demo", WITH_MODELS, published(), runs)
    assert list(dict.fromkeys(frame["row"])) == ["Cheb_Net", "MagNet", "Mine", "FLODE"]
    some = WITH_MODELS | {"rows": ["Mine", "FLODE", "MagNet"]}
    frame = comparison_table("demo", some, published(), runs)
    assert list(dict.fromkeys(frame["row"])) == some["rows"]
    tex = render_comparison(frame, some, published())
    assert "Cheb" not in tex and "Mine (published)" not in tex and "MagNet (published)" in tex
    # A choice of rows is one of columns, too.
    given = SPEC["subtables"]["density"]
    density = given | {"columns": {"0.10": given["columns"]["0.10"]}}
    for spec, columns in ((some, ["0.10"]), (WITH_MODELS, ["0.10", "0.05"])):
        spec = spec | {"subtables": {"density": density}}
        frame = comparison_table("demo", spec, published(), runs)
        assert list(dict.fromkeys(frame["column"])) == columns


def test_the_typeset_table_ranks_what_was_measured(runs):
    frame = comparison_table("demo", WITH_MODELS, published(), runs)
    tex = render_comparison(frame, WITH_MODELS, published())
    assert [cells[0] for cells in tabulars(tex)[0][1:]] == [
        r"Cheb\_Net", "MagNet (measured)", r"\flodepublished{MagNet (published)}",
        "Mine (measured)", r"\textbf{FLODE (measured)}", r"\flodepublished{FLODE (published)}",
    ]  # fmt: skip
    assert row(tex, 0, "MagNet (measured)")[0] == r"\first{99.6$\pm$0.1}"
    assert row(tex, 0, "FLODE (measured)")[0] == r"\second{99.2$\pm$0.1}"
    assert row(tex, 0, "Mine (measured)")[0] == r"\third{98.9$\pm$0.1}"
    assert row(tex, 0, "MagNet (published)") == [
        r"\flodepublished{99.6$\pm$0.2}", r"\flodepublished{OOM}",
    ]  # fmt: skip
    # Nothing is won against a model that was not run.
    assert row(tex, 1, "Mine (measured)") == [r"96.5$\pm$0.5"]
    assert row(tex, 1, "MagNet (measured)") == [r"\emph{not run}"]
    assert "what the paper prints for a measured model, not ranked" in tex
    assert "Not run (no run of b0.2, configuration model=magnet): (b) $.2$: MagNet." in tex
    assert "Verdicts on FLODE: 1 reproduced, 1 higher [(b) $.2$]." in tex


def test_the_notes_say_what_is_marked_and_which_columns_are_not(runs):
    frame = comparison_table("demo", WITH_MODELS, published(), runs)
    tex = render_comparison(frame, WITH_MODELS, published())
    marks = r"\first{1st}, \second{2nd}, \third{3rd} of measured models"
    assert rf"{marks} and the other, published baselines, by their printed means" in tex
    assert "A column in which one other than FLODE was not run is left unmarked." in tex
    # Neither where all were run and no other row is there.
    flow = {"columns": {"0.2": SPEC["subtables"]["flow"]["columns"]["0.2"]}}
    alone = WITH_MODELS | {"rows": ["Mine", "FLODE"], "subtables": {"flow": flow}, "marked": 1}
    alone["models"] = {"Mine": "model=mine"}
    tex = render_comparison(comparison_table("demo", alone, published(), runs), alone, published())
    assert r"Marked in each column: \first{1st} of measured models, by" in tex
    assert "baselines" not in tex and "unmarked" not in tex


def test_models_of_other_splits_are_not_ranked(runs, tmp_path):
    frame = comparison_table("demo", WITH_MODELS, published(), runs)
    others = {
        "FLODE": "a/splits-0-1.json",
        "MagNet": "b/splits-0-1.json",
        "Mine": "c/splits-2-3.json",
    }
    frame["runs"] = frame["row"].map(others).fillna("").where(frame["runs"] != "", "")
    tex = render_comparison(frame, WITH_MODELS, published())
    assert r"\first{" not in "".join(row(tex, 0, "MagNet (measured)")[:1])
    assert "No best is marked among means over different splits." in tex
    assert "rank-" not in page_of(frame, tmp_path).split("</style>")[1]
    diverged = frame.assign(mean=frame["mean"].mask(frame["row"] == "Mine"))
    assert "different splits" not in render_comparison(diverged, WITH_MODELS, published())


@pytest.mark.parametrize("stamped", ["configuration", "run"])
def test_a_quick_run_ranks_no_measured_model(tmp_path, stamped):
    runs = runs_of(tmp_path, quick=stamped == "run")
    frame = comparison_table("demo", WITH_MODELS, published(), runs)
    tex = render_comparison(frame, WITH_MODELS, published(), quick=stamped == "configuration")
    measured = row(tex, 0, "MagNet (measured)") + row(tex, 0, "Mine (measured)")
    assert measured[0] == r"99.6$\pm$0.1" and not any(r"\first" in text for text in measured)


def page_of(frame, folder):
    write_table(frame, folder / "t.csv")
    (folder / "t.tex").write_text("%\n")
    caption = {"title": "A table", "place": "", "rests_on": "", "quick": False}
    spec = {"kind": "comparison", "marked": 3, "subtables": {}}
    settings = {"spec": spec, "caption": caption}
    return write_table_page(settings, folder / "t.csv", folder / "t.tex", [], folder / "t.html")


def test_the_page_ranks_alike_and_shows_both_numbers(runs, tmp_path):
    page = page_of(comparison_table("demo", WITH_MODELS, published(), runs), tmp_path)
    cells = [part.partition("</td>")[0] for part in page.split("<td")]
    (magnet,) = (text for text in cells if "99.6 ± 0.1" in text)
    assert "rank-1" in magnet and "[99.6 ± 0.2]" in magnet
    assert "rank-1" not in page.split("</style>")[1].partition("96.5 ± 0.5")[0][-40:]
    (mine,) = (text for text in cells if "98.9 ± 0.1" in text)
    assert "rank-3" in mine and "[" not in mine


def test_they_are_no_number_of_the_paper(runs):
    frame = comparison_table("demo", WITH_MODELS, published(), runs)
    spec = {"kind": "reproduction", "tables": {"demo": "comparison"}}
    found = reproduction_table("reproduction", spec, {"demo": frame})
    assert set(found["row"]) == {"FLODE"} and len(found) == 3


def test_the_figure_draws_them_as_measured(runs):
    frame = comparison_table("demo", WITH_MODELS, published(), runs)
    spec = {"panels": {"density": {"label": "x"}, "flow": {"label": "y"}}}
    _, plotted = comparison_figure(frame, spec)
    drawn = {(one.series, one.x): one.y for one in plotted.itertuples()}
    assert drawn["MagNet (measured)", 0.1] == pytest.approx(99.6)
    assert drawn["Mine (measured)", 0.2] == pytest.approx(96.5)
    # Where it was not run, as published.
    assert ("MagNet (measured)", 0.2) not in drawn and drawn["MagNet", 0.2] == 94.2
    assert drawn["Cheb_Net", 0.1] == pytest.approx(19.9)
