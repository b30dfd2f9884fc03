import copy
import json

import pandas as pd
import pytest

from flode.reporting.latex_statistics import render_statistics
from flode.reporting.statistics import QUANTITIES, load_statistics, statistics_table
from flode.reporting.tables import COLUMNS, read_table, write_table
from flode.reporting.tidy import PRINTED
from tests.unit.reporting_samples import published

PUBLISHED = """\
subtable,group,row,column,metric,unit,mean,error,error_kind,n,note,source
u,0,film,raw nodes,raw_nodes,,7600,,,,,t
u,0,film,raw edges,raw_edges,,26752,,,,,t
u,0,film,lambda_1,lambda_1,,-0.9486,,,,,t
u,0,gone,raw nodes,raw_nodes,,22662,,,,,t
d,0,squirrel,lambda_PF,lambda_pf,,0.89,,,,,t
"""

SPEC = {
    "caption": "The graphs.",
    "label": "tab:graphs",
    "subtables": {
        "u": {
            "caption": "Undirected",
            "rows": {"film": {"label": "Film"}, "gone": {}, "other_1": {}},
        },
        "d": {"caption": "Directed", "rows": {"squirrel": {"label": "Squirrel"}}},
    },
}


def report(variant="film", **changes):
    content = {
        "variant": variant,
        "dataset": variant,
        "title": variant.title(),
        "nodes": 7600,
        "edges": 26752,
        "directed_edges": 53411,
        "self_loops": 93,
        "features": 932,
        "classes": 5,
        "homophily": 0.22426,
        "rank": 6468,
        "truncated": False,
        "explained_variance": 1.0,
        "symmetric": True,
        "lambda_1": -0.948631,
        "lambda_pf": None,
        "raw_nodes": 7600,
        "raw_edges": 26752,
        "published": {},
    }
    return content | changes


DIRECTED = {"symmetric": False, "lambda_1": None, "lambda_pf": 0.8857}


def load(folder, *reports):
    paths = []
    for number, content in enumerate(reports):
        paths.append(folder / f"{number}.json")
        paths[-1].write_text(content if isinstance(content, str) else json.dumps(content))
    return load_statistics(paths)


@pytest.fixture
def frame(tmp_path):
    """Three variants, one of them truncated; ``gone`` is not run."""
    own = {"published": {"nodes": 7601}, "truncated": True, "raw_edges": None}
    found = load(
        tmp_path, report(), report("other_1", **own), report("squirrel", **DIRECTED, raw_nodes=None)
    )
    table = statistics_table(
        "graphs", SPEC, published(PUBLISHED), found, {("gone", "default"): "x.npz is missing; see"}
    )
    write_table(table, tmp_path / "graphs.csv")
    pd.testing.assert_frame_equal(read_table(tmp_path / "graphs.csv"), table)
    return table


def row(frame, variant):
    return frame[frame["row"] == variant].set_index("column")


def test_a_cell_a_variant_and_quantity(frame):
    assert tuple(frame.columns) == (*COLUMNS, *PRINTED.values())
    assert list(dict.fromkeys(frame["row"])) == ["film", "gone", "other_1", "squirrel"]
    assert len(frame) == 4 * len(QUANTITIES)
    assert frame[["std", "n"]].isna().all(axis=None)


def test_exact_verdicts_at_printed_digits(frame):
    film = row(frame, "film")
    assert film.loc["lambda_1", "mean"] == -0.948631
    found = film.loc[["raw nodes", "raw edges", "lambda_1"], "verdict"]
    assert set(found) == {"reproduced"}
    assert set(film.loc[["nodes", "edges", "homophily", "rank"], "verdict"]) == {"not published"}
    assert film.loc["nodes", "runs"].endswith("0.json")
    assert row(frame, "squirrel").loc["lambda_PF", "verdict"] == "reproduced"


def test_the_configuration_tells_sizes_that_the_file_lacks(frame):
    other = row(frame, "other_1")
    assert other.loc["raw nodes", "published_mean"] == 7601
    assert other.loc["raw nodes", "verdict"] == "lower"
    assert pd.isna(other.loc["nodes", "published_mean"])


def test_a_number_that_the_graph_does_not_have(frame):
    for variant, column in [
        ("film", "lambda_PF"), ("squirrel", "lambda_1"), ("squirrel", "raw nodes"),
    ]:  # fmt: skip
        cell = row(frame, variant).loc[column]
        assert pd.isna(cell["mean"])
        assert (cell["verdict"], cell["note"]) == ("", "")


def test_a_published_number_that_was_not_measured(tmp_path):
    found = load(tmp_path, report(raw_edges=None))
    table = statistics_table("graphs", SPEC, published(PUBLISHED), found)
    cell = row(table, "film").loc["raw edges"]
    assert cell["verdict"] == "not run"
    assert cell["note"].endswith("0.json has no raw_edges")


def test_a_variant_without_statistics(frame):
    gone = row(frame, "gone")
    assert gone["mean"].isna().all()
    assert set(gone["verdict"]) == {"not run"}
    assert set(gone["note"]) == {"x.npz is missing, see"}
    assert gone.loc["raw nodes", "published_mean"] == 22662
    table = statistics_table("graphs", SPEC, published(PUBLISHED), {})
    assert set(row(table, "film")["note"]) == {"no statistics of film"}


def test_published_rows_that_the_specification_lacks_follow(tmp_path):
    spec = copy.deepcopy(SPEC)
    spec["subtables"]["u"]["rows"] = {"other_1": {}}
    table = statistics_table("graphs", spec, published(PUBLISHED), {})
    assert list(dict.fromkeys(table["row"])) == ["other_1", "film", "gone", "squirrel"]


def lines(tex):
    """The rows of the tabular by their label."""
    rows = [line.removesuffix(r" \\").split(" & ") for line in tex.splitlines() if " & " in line]
    return {cells[0].removeprefix(r"\raggedright "): cells[1:] for cells in rows}


def test_tex(frame):
    tex = render_statistics(frame, SPEC, published(PUBLISHED))
    assert "from 3 statistics files" in tex
    assert r"\multicolumn{12}{@{}l}{\emph{Undirected}} \\" in tex
    found = lines(tex)
    assert found["Film"] == [
        r"7,600$^\ast$", r"26,752$^\ast$", "7,600", "26,752", "932", "5", "0.224", "6,468",
        "1.000", r"$-$0.9486$^\ast$", "--",
    ]  # fmt: skip
    assert found["gone"] == [
        r"\flodepublished{[22,662]}", r"\multicolumn{10}{c}{\emph{not run}}"
    ]  # fmt: skip
    other = found[r"other\_1"]
    assert (other[0], other[1], other[7]) == (
        r"\begin{tabular}{@{}c@{}}7,600\\{}[7,601]\end{tabular}",
        "--",
        r"6,468$^\dagger$",
    )
    assert found["Squirrel"][-1] == r"0.8857$^\ast$"
    assert r"($^\dagger$ truncated)" in tex
    assert r"Verdicts: 4 reproduced, 1 lower [Undirected: other\_1, raw nodes]." in tex
    assert "Not run (x.npz is missing, see): Undirected: gone." in tex
    assert "Quick run" not in tex
    assert "Quick run" in render_statistics(frame, SPEC, published(PUBLISHED), quick=True)


def test_a_table_that_lacks_a_cell(frame):
    with pytest.raises(ValueError, match=r"lacks cell \('d', 'squirrel', 'raw nodes'\)"):
        render_statistics(frame[frame["subtable"] == "u"], SPEC, published(PUBLISHED))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", r"0\.json: holds a list"),
        ("{", r"0\.json: is damaged: it is not JSON"),
        (report(nodes=1.5), r"0\.json: nodes is 1.5"),
        (report(rank=-1), r"rank is -1; allowed: an integer from 0"),
        (report(truncated=0), "truncated is 0"),
        (report(lambda_1="x"), "lambda_1 is 'x'; allowed: a number or null"),
        (report(lambda_1=float("nan")), "lambda_1 is nan"),
        (report(lambda_pf=True), "lambda_pf is True"),
        (report(published=None), "published is None"),
        ({"variant": "film"}, "key 'title' is missing"),
    ],
)
def test_a_wrong_file_is_named(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        load(tmp_path, content)


def test_a_variant_comes_once(tmp_path):
    with pytest.raises(ValueError, match=r"1\.json: variant 'film' is already in .*0\.json"):
        load(tmp_path, report(), report())


@pytest.mark.parametrize(
    ("subtables", "message"),
    [
        ({}, "'graphs': subtables is {}"),
        (SPEC["subtables"] | {"u": 3}, "subtable 'u' is 3; allowed: .* 'rows'"),
        (SPEC["subtables"] | {"u": {"columns": {}}}, "subtable 'u': rows is None"),
        (SPEC["subtables"] | {"u": {"rows": {"film": 1}}}, "row 'film': is 1"),
    ],
)
def test_a_wrong_specification_names_table_and_key(subtables, message):
    with pytest.raises(ValueError, match=message):
        statistics_table("graphs", {"subtables": subtables}, published(PUBLISHED), {})


def test_a_published_subtable_that_is_left_out_is_not_shown():
    left = {"subtables": {"u": SPEC["subtables"]["u"]}}
    frame = statistics_table("graphs", left, published(PUBLISHED), {})
    assert set(frame["subtable"]) == {"u"}


def test_a_published_quantity_that_is_unknown():
    text = PUBLISHED.replace("raw edges,raw_edges", "size,size")
    with pytest.raises(ValueError, match="published column 'size'; allowed: raw nodes, "):
        statistics_table("graphs", SPEC, published(text), {})
