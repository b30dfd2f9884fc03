import os

import pandas as pd
import pytest

from flode.reporting.figures import comparison_figure, save_figure
from flode.reporting.figures.comparison import PLOTTED
from flode.reporting.figures.style import BASELINES
from flode.reporting.records import load_runs
from flode.reporting.tables import comparison_table
from tests.unit.reporting_samples import SPEC, published, run_content, write_run

FIGURE = {
    "table": "demo",
    "panels": {
        "density": {"label": r"Inter-cluster edge density $\alpha^{\ast}$"},
        "flow": {"label": r"Net flow $\beta^{\ast}$"},
    },
}


@pytest.fixture
def frame(tmp_path):
    runs = load_runs(
        [
            write_run(tmp_path, "a", run_content("a0.1")),
            write_run(tmp_path, "b", run_content("b0.2")),
        ]
    )
    return comparison_table("demo", SPEC, published(), runs)


def test_what_is_plotted(frame):
    _, plotted = comparison_figure(frame, FIGURE)
    assert tuple(plotted.columns) == PLOTTED
    density = plotted[plotted["panel"] == "density"].set_index(["series", "x"])
    assert density.loc[("FLODE (measured)", 0.1), "y"] == pytest.approx(99.3)
    assert density.loc[("FLODE (measured)", 0.1), "error"] == pytest.approx(0.1414214)
    assert density.loc[("FLODE (published)", 0.1), "y"] == 99.3
    assert density.loc[("Cheb_Net", 0.05), "y"] == 20.0
    # Neither what was not run nor what the paper does not print is plotted.
    assert ("FLODE (measured)", 0.05) not in density.index
    assert ("MagNet", 0.05) not in density.index
    assert set(plotted[plotted["error"].notna()]["kind"]) == {"measured"}


def test_the_panels(frame):
    fig, plotted = comparison_figure(frame, FIGURE)
    density, flow = fig.axes
    assert density.get_xlabel() == FIGURE["panels"]["density"]["label"]
    assert density.get_ylabel() == "Test accuracy (%)"
    assert flow.get_ylabel() == ""
    assert density.xaxis_inverted()  # the table's columns descend
    assert not flow.xaxis_inverted()
    assert [tick.get_text() for tick in density.get_xticklabels()] == ["0.10", "0.05"]
    assert [text.get_text() for text in density.texts] == ["FLODE not run: 0.05"]
    assert not flow.texts
    (legend,) = fig.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert set(names) == set(plotted["series"])
    assert names[:2] == ["FLODE (measured)", "FLODE (published)"]


def test_baselines_look_the_same_in_both_panels_and_differ_from_each_other(frame):
    fig, _ = comparison_figure(frame, FIGURE)

    def looks(ax):
        return {
            (line.get_color(), line.get_linestyle(), line.get_marker())
            for line in ax.lines
            if line.get_color() in colours
        }

    colours = [colour for colour, *_ in BASELINES]
    density, flow = map(looks, fig.axes)
    assert (len(density), len(flow)) == (2, 1)
    assert flow < density


@pytest.mark.parametrize("told", [True, False])
def test_the_stamp_of_a_quick_run(frame, told, tmp_path):
    fig, _ = comparison_figure(frame, FIGURE)
    assert fig.get_suptitle() == ""
    if not told:
        runs = load_runs([write_run(tmp_path, "quick", run_content("b0.2", quick=True))])
        frame = comparison_table("demo", SPEC, published(), runs)
    fig, _ = comparison_figure(frame, FIGURE, quick=told)
    assert fig.get_suptitle() == "Quick run: not the paper's graphs and protocol"


def test_nothing_measured_yet():
    fig, plotted = comparison_figure(comparison_table("demo", SPEC, published(), {}), FIGURE)
    assert "measured" not in set(plotted["kind"])
    assert fig.axes[0].texts[0].get_text() == "FLODE not run: 0.10, 0.05"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "panels is None"),
        ({"panels": {"depth": {"label": "x"}}}, "panel 'depth'; allowed: 'density', 'flow'"),
        ({"panels": {"flow": {}}}, "panel 'flow' is {}; allowed: a key 'label'"),
    ],
)
def test_a_wrong_specification(frame, spec, message):
    with pytest.raises(ValueError, match=message):
        comparison_figure(frame, spec)


def test_columns_must_be_numbers(frame):
    frame["column"] = "Chameleon"
    with pytest.raises(ValueError, match="panel 'density', column 'Chameleon'; allowed: a number"):
        comparison_figure(frame, FIGURE)


def test_files_are_complete_and_repeat_byte_by_byte(frame, tmp_path):
    contents = []
    for name in ("first", "second"):
        stem = tmp_path / name / "dsbm.v1"  # a dot in the name is no suffix
        paths = save_figure(*comparison_figure(frame, FIGURE), stem)
        assert [path.name for path in paths] == ["dsbm.v1.pdf", "dsbm.v1.svg", "dsbm.v1.csv"]
        assert sorted(os.listdir(stem.parent)) == sorted(path.name for path in paths)
        contents.append([path.read_bytes() for path in paths])
    assert contents[0] == contents[1]
    pdf, svg, _ = contents[0]
    assert pdf.startswith(b"%PDF")
    assert b"/CreationDate" not in pdf
    assert b"/Subtype /Type3" not in pdf  # Type 42 fonts only
    assert b"<dc:date>" not in svg


def test_the_csv_holds_what_was_plotted(frame, tmp_path):
    fig, plotted = comparison_figure(frame, FIGURE)
    csv = save_figure(fig, plotted, tmp_path / "dsbm")[2]
    pd.testing.assert_frame_equal(pd.read_csv(csv), plotted, check_dtype=False, rtol=0, atol=0)
