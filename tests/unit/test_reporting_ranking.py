import copy
import re

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flode.reporting.latex_ranking import render_ranking
from flode.reporting.ranking import ordinal, place_of, ranking_table
from flode.reporting.records import load_runs
from flode.reporting.tables import COLUMNS, comparison_table, is_quick, read_table, write_table
from flode.reporting.tidy import PRINTED
from flode.reporting.verdicts import place_verdict
from tests.unit.reporting_samples import published, run_content, write_run

FULL = """\
subtable,group,row,column,metric,unit,mean,error,error_kind,n,note,source
u,0,GGCN,Film,accuracy,%,70.0,1.0,std,10,,t
u,0,GRAFF,Film,accuracy,%,71.4,1.5,std,10,,t
u,0,MLP,Film,accuracy,%,,,,,OOM,t
u,0,GGCN,Cora,accuracy,%,80.0,1.0,std,10,,t
u,0,GRAFF,Cora,accuracy,%,81.0,1.0,std,10,,t
u,1,GREAD,Film,accuracy,%,71.4,1.3,std,10,,t
u,1,GREAD,Cora,accuracy,%,82.0,1.0,std,10,,t
u,1,GCN,Cora,accuracy,%,60.0,1.0,std,10,,t
u,2,FLODE,Film,accuracy,%,73.6,1.55,std,10,,t
u,2,FLODE,Cora,accuracy,%,81.5,0.9,std,10,,t
"""

SUMMARY = """\
subtable,group,row,column,metric,unit,mean,error,error_kind,n,note,source,method
u,0,1st,Film,accuracy,%,73.6,1.55,std,10,,t,FLODE
u,0,1st,Cora,accuracy,%,82.0,1.0,std,10,,t,GREAD
u,1,2nd,Film,accuracy,%,71.4,1.3,std,10,,t,GREAD
u,1,2nd,Cora,accuracy,%,81.5,0.9,std,10,,t,FLODE
u,2,3rd,Film,accuracy,%,71.4,1.5,std,10,,t,GRAFF
u,2,3rd,Cora,accuracy,%,81.0,1.0,std,10,,t,GRAFF
"""

SPEC = {
    "caption": "Top three models.",
    "label": "tab:top",
    "metric": "accuracy",
    "marked": 3,
    "subtables": {
        "u": {
            "caption": "Undirected.",
            "columns": {"Film": {"variant": "film"}, "Cora": {"variant": "cora"}},
        }
    },
}


def tidy(folder, accuracies, full=FULL, summary=SUMMARY, spec=SPEC, reasons=None, **changes):
    """The ranking with these test accuracies by variant; through its CSV."""
    files = [
        write_run(folder, variant, run_content(variant, values, **changes))
        for variant, values in accuracies.items()
    ]
    frame = ranking_table(
        "top", spec, published(full), published(summary), load_runs(files), reasons
    )
    write_table(frame, folder / "top.csv")
    pd.testing.assert_frame_equal(read_table(folder / "top.csv"), frame)
    return frame


def column(frame, name):
    return frame[frame["column"] == name].set_index("row")


def tex_of(frame, full=FULL, summary=SUMMARY, **options):
    return render_ranking(frame, SPEC, published(full), published(summary), **options)


def test_the_papers_ranking(tmp_path):
    frame = tidy(tmp_path, {"film": [0.736, 0.736], "cora": [0.815, 0.815]})
    assert tuple(frame.columns) == (*COLUMNS, *PRINTED.values())
    assert list(frame["row"]) == [
        "1st: FLODE", "2nd: GREAD", "3rd: GRAFF", "1st: GREAD", "2nd: FLODE", "3rd: GRAFF",
    ]  # fmt: skip
    film = column(frame, "Film")
    flode = film.loc["1st: FLODE"]
    assert (flode["mean"], flode["n"], flode["published_mean"]) == (pytest.approx(73.6), 2, 73.6)
    assert flode["runs"].endswith("film.json")
    # A baseline's cell has published values only, and no verdict.
    great = film.loc["2nd: GREAD"]
    assert pd.isna(great[["mean", "std", "n"]]).all()
    assert (great["published_mean"], great["published_std"], great["verdict"]) == (71.4, 1.3, "")
    assert list(frame["verdict"]) == ["reproduced", "", "", "", "reproduced", ""]


def test_places_in_the_paper_are_what_its_rows_say_in_any_order(tmp_path):
    first, *lines = SUMMARY.splitlines(keepends=True)
    turned = tidy(tmp_path, {"film": [0.736, 0.736]}, summary=first + "".join(reversed(lines)))
    assert column(turned, "Film").loc["1st: FLODE", "verdict"] == "reproduced"


def test_equal_means_share_their_places_and_the_smaller_spread_stands_first(tmp_path):
    film = column(tidy(tmp_path, {"film": [0.736]}), "Film")
    assert film.loc["2nd: GREAD", "note"] == "same mean as GRAFF"
    assert film.loc["3rd: GRAFF", "note"] == "same mean as GREAD"
    # 71.36 prints as 71.4, as two baselines do, with a smaller spread.
    film = column(tidy(tmp_path, {"film": [0.7136, 0.7136]}), "Film")
    assert list(film.index) == ["1st: FLODE", "2nd: GREAD", "3rd: GRAFF"]
    assert film.loc["1st: FLODE", "verdict"] == "reproduced"
    assert "same mean as GREAD, GRAFF" in film.loc["1st: FLODE", "note"]
    # A larger one puts it behind them, where it still shares the best place.
    film = column(tidy(tmp_path, {"film": [0.74, 0.688]}), "Film")
    assert list(film.index) == ["1st: GREAD", "2nd: GRAFF", "3rd: FLODE"]
    assert film.loc["3rd: FLODE", "verdict"] == "reproduced"
    tex = tex_of(tidy(tmp_path, {"film": [0.7136]}))
    assert "[(a) Film FLODE = GRAFF = GREAD]" in tex


def test_another_model_in_a_place_is_told(tmp_path):
    cora = column(tidy(tmp_path, {"cora": [0.83, 0.83]}), "Cora")
    assert list(cora.index) == ["1st: FLODE", "2nd: GREAD", "3rd: GRAFF"]
    assert cora.loc["1st: FLODE", "verdict"] == "higher"
    note = "in this place the paper has GREAD, 82.0; 2nd in the paper"
    assert cora.loc["1st: FLODE", "note"] == note
    assert cora.loc["2nd: GREAD", "note"] == "in this place the paper has FLODE, 81.5"
    assert cora.loc["3rd: GRAFF", "note"] == ""


def test_flode_beyond_the_best_stands_last(tmp_path):
    frame = tidy(tmp_path, {"film": [0.736], "cora": [0.7, 0.72]})
    cora = column(frame, "Cora")
    assert list(cora.index) == ["1st: GREAD", "2nd: GRAFF", "3rd: GGCN", "4th: FLODE"]
    assert (cora.loc["4th: FLODE", "verdict"], cora.loc["4th: FLODE", "mean"]) == (
        "lower", pytest.approx(71.0),
    )  # fmt: skip
    tex = tex_of(frame)
    last = next(line for line in tex.splitlines() if line.startswith(r"\textbf{FLODE} & "))
    film, cora = last.removeprefix(r"\textbf{FLODE} & ").removesuffix(r" \\").split(" & ")
    assert film == ""
    assert r"4$^{\mathrm{th}}$\\{}71.0$\pm$1.0\\{}\flodepublished{[81.5$\pm$0.9]}" in cora


def test_a_column_without_runs_ranks_the_baselines(tmp_path):
    frame = tidy(tmp_path, {"film": [0.736]}, reasons={("cora", "default"): "no file; see data"})
    cora = column(frame, "Cora")
    assert list(cora.index) == ["1st: GREAD", "2nd: GRAFF", "3rd: GGCN", "FLODE"]
    assert cora.loc["1st: GREAD", "note"] == "FLODE was not run, and the baselines are ranked alone"
    flode = cora.loc["FLODE"]
    assert pd.isna(flode["mean"])
    assert (flode["verdict"], flode["published_mean"]) == ("not run", 81.5)
    assert flode["note"] == "no file, see data"
    tex = tex_of(frame)
    assert r"\emph{not run}\\{}\flodepublished{[81.5$\pm$0.9]}" in tex
    assert "Where FLODE was not run, the baselines are ranked alone." in tex
    assert "Not run (no file, see data): (a) Cora." in tex


def test_the_papers_shape(tmp_path):
    tex = tex_of(tidy(tmp_path, {"film": [0.73, 0.74], "cora": [0.815, 0.815]}))
    assert "& Film & Cora \\\\" in tex
    assert tex.count(r"\midrule") == 3  # below the header and between places
    assert r"1$^{\mathrm{st}}$ & \begin{tabular}{@{}c@{}}\textbf{FLODE}\\{}73.5$\pm$0.50" in tex
    # The paper's number in grey where it differs: FLODE's always, a baseline's never.
    assert r"\flodepublished{[73.6$\pm$1.55]}" in tex
    assert r"\begin{tabular}{@{}c@{}}GREAD\\{}71.4$\pm$1.3\end{tabular}" in tex
    assert not re.search(r"^\\textbf\{FLODE\} &", tex, flags=re.MULTILINE)
    assert "Verdicts: 2 reproduced." in tex
    assert "FLODE has the place that the paper gives it" in tex


def test_the_stamp_of_a_quick_run(tmp_path):
    frame = tidy(tmp_path, {"film": [0.736]}, quick=True)
    assert is_quick(frame)
    assert "Quick run" in tex_of(frame)
    assert "Quick run" in tex_of(tidy(tmp_path, {"film": [0.736]}), quick=True)


def test_published_values_that_disagree(tmp_path):
    full = FULL.replace(
        "73.6,1.55,std,10,,t",
        "73.6,1.55,std,10,73.6 here and 72 there; published values disagree,t",
    )
    frame = tidy(tmp_path, {"film": [0.736]}, full=full)
    assert column(frame, "Film").loc["1st: FLODE", "verdict"] == "published values disagree"
    assert "In the paper, (a) Film: 73.6 here and 72 there." in tex_of(frame, full)


def test_the_ranking_is_that_of_the_comparison(tmp_path):
    """FLODE's numbers are those of the full table."""
    runs = load_runs([write_run(tmp_path, "film", run_content("film", [0.71, 0.75]))])
    full = comparison_table("full", SPEC, published(FULL), runs)
    flode = full[(full["row"] == "FLODE") & (full["column"] == "Film")].iloc[0]
    cell = column(tidy(tmp_path, {"film": [0.71, 0.75]}), "Film").loc["1st: FLODE"]
    same = ["mean", "std", "n", "published_mean", "published_std", "metric", "unit", "runs"]
    assert cell[same].tolist() == flode[same].tolist()


@settings(deadline=None)  # writes files
@given(st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_places_follow_the_printed_means(tmp_path_factory, accuracies):
    folder = tmp_path_factory.mktemp("ranking")
    frame = tidy(folder, {"film": accuracies, "cora": accuracies})
    for _, cells in frame.groupby("column", sort=False):
        means = cells["mean"].fillna(cells["published_mean"]).round(1).tolist()
        assert means == sorted(means, reverse=True)
        assert sum(cells["row"].str.endswith("FLODE")) == 1
        assert 3 <= len(cells) <= 4


def test_a_tie_beyond_the_last_place_is_noted(tmp_path):
    spec = SPEC | {"marked": 2}
    film = column(tidy(tmp_path, {"film": [0.736]}, spec=spec), "Film")
    assert list(film.index) == ["1st: FLODE", "2nd: GREAD"]
    assert film.loc["2nd: GREAD", "note"] == "same mean as GRAFF"


def changed(**columns):
    spec = copy.deepcopy(SPEC)
    spec["subtables"]["u"]["columns"] |= columns
    return spec


@pytest.mark.parametrize(
    ("spec", "summary", "message"),
    [
        (SPEC | {"marked": 0}, SUMMARY, "'top': marked is 0; allowed: 1 to 3"),
        (SPEC, FULL, "summary lacks a column 'method'"),
        (SPEC, SUMMARY.replace("2nd", "second"), "row of the summary is 'second'; allowed: 1st"),
        (
            changed(New={"variant": "n"}),
            SUMMARY,
            "column 'New' is not in the full .*: 'Film', 'Cora'",
        ),
        (SPEC | {"metric": "auroc"}, SUMMARY, "column 'Film': metric is 'accuracy' in the publ"),
    ],
)
def test_what_does_not_fit_is_refused(spec, summary, message):
    with pytest.raises(ValueError, match=message):
        ranking_table("top", spec, published(FULL), published(summary), {})


def test_runs_of_another_metric_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"'Film': metric is 'auroc' in .*film\.json"):
        tidy(tmp_path, {"film": [0.7]}, metric="auroc")


def test_a_table_that_lacks_a_column(tmp_path):
    frame = tidy(tmp_path, {"film": [0.736]})
    with pytest.raises(ValueError, match="lacks column 'Cora' of 'u'"):
        tex_of(frame[frame["column"] == "Film"])


@pytest.mark.parametrize(
    ("place", "tied", "printed", "disagrees", "verdict"),
    [
        (1, 1, 1, False, "reproduced"), (1, 2, 2, False, "reproduced"), (2, 1, 1, False, "lower"),
        (1, 1, 3, False, "higher"), (None, 1, 1, False, "not run"),
        (1, 1, None, False, "not published"), (1, 1, 1, True, "published values disagree"),
    ],
)  # fmt: skip
def test_place_verdict(place, tied, printed, disagrees, verdict):
    assert place_verdict(place, tied, printed, disagrees) == verdict


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("2nd: GREAD", (2, "GREAD")),
        ("11th: FLODE", (11, "FLODE")),
        ("FLODE", (None, "FLODE")),
        ("H²GCN: own", (None, "H²GCN: own")),
        ("2th: GREAD", (None, "2th: GREAD")),
        ("0th: GREAD", (None, "0th: GREAD")),
        ("²: of", (None, "²: of")),
    ],
)
def test_the_place_of_a_row(row, found):
    assert place_of(row) == found


def test_ordinals():
    numbers = [1, 2, 3, 4, 11, 12, 13, 21, 112]
    expected = ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th"]
    assert [ordinal(number) for number in numbers] == expected
