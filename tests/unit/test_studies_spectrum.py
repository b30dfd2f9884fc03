"""Studies and figures of the spectrum, balance and virtual edges, on tiny graphs."""

import os

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from flode.experiments.checks import STUDY_COLUMNS
from flode.experiments.studies import STUDIES
from flode.reporting.figures import FIGURES, save_figure
from flode.spectral import factorize, symmetrically_normalize
from tests.configuration import configuration

KINDS = (
    "cycle_eigenvectors",
    "fractional_edges_cycle",
    "fractional_edges_distance",
    "spectrum",
    "weakly_balanced",
)


class TinyGraph:
    """What a study reads of a `StudyGraph`, without files."""

    def __init__(self, matrix):
        self.laplacian = symmetrically_normalize(sparse.csr_array(matrix))
        self.factors = factorize(self.laplacian)


#: The path P_4 and the directed path of 3 nodes with a chord to a fourth.
GRAPHS = {
    "Path": TinyGraph(np.eye(4, k=1) + np.eye(4, k=-1)),
    "Directed": TinyGraph(np.array([[0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]])),
}

SPECS = {
    "cycle_eigenvectors": {"nodes": 8},
    "fractional_edges_cycle": {"nodes": 8, "exponents": [0.5, 1.0, 2.0]},
    "fractional_edges_distance": {"exponents": [0.5, 1.0, 2.0], "size": 0.01},
    "spectrum": {},
    "weakly_balanced": {
        "edges": {
            "No": [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0]],
            "Weakly": [[0, 1], [0, 2], [1, 2], [2, 0]],
            "Yes": [[0, 1], [1, 2], [2, 0]],
        }
    },
}


def study(kind):
    return STUDIES[kind]({"spec": {"kind": kind} | SPECS[kind]}, GRAPHS)


def figure(kind, quick=False):
    return FIGURES[kind](study(kind), {"kind": kind, "study": kind}, quick)


def texts(fig):
    return [text.get_text() for ax in fig.axes for text in ax.texts]


# Studies -----------------------------------------------------------------------------------------


def test_eigenvalues_of_the_path_and_of_a_directed_cycle():
    frame = study("spectrum").set_index(["graph", "kind"])
    path = frame.loc[("Path", "eigenvalue")]
    assert_allclose(np.sort(path["real"]), [-1, -0.5, 0.5, 1], atol=1e-9)
    assert_allclose(path["imaginary"], 0, atol=1e-9)
    assert frame.loc[("Path", "perron"), "real"].item() == pytest.approx(1)
    # The triangle loses half of what passes node 1: λ³ = 1/√2, and node 3 has 0.
    directed = frame.loc[("Directed", "eigenvalue")]
    moduli = np.hypot(directed["real"], directed["imaginary"])
    assert_allclose(moduli, [2 ** (-1 / 6)] * 3 + [0], atol=1e-9)
    assert frame.loc[("Directed", "perron"), "real"].item() == pytest.approx(2 ** (-1 / 6))
    # The upper half of a conjugate pair comes first.
    assert directed["imaginary"].round(6).tolist()[1:3] == [0.771541, -0.771541]


def test_balance_of_listed_graphs():
    frame = study("weakly_balanced").drop_duplicates("graph").set_index("graph")
    assert frame["balanced"].to_dict() == {"No": False, "Weakly": False, "Yes": True}
    assert frame["weakly_balanced"].to_dict() == {"No": False, "Weakly": True, "Yes": True}
    # Its characteristic polynomial: λ³ − λ/√2 − 1/4.
    largest = np.roots([1, 0, -(0.5**0.5), -0.25]).real.max()
    assert_allclose(frame["perron"], [largest, 1, 1], atol=1e-9)
    edges = study("weakly_balanced").query("graph == 'Weakly'")[["source", "target"]]
    assert edges.to_numpy().tolist() == SPECS["weakly_balanced"]["edges"]["Weakly"]


def test_the_configured_graphs_are_what_their_labels_say():
    spec = configuration()["studies"]["weakly_balanced"]
    frame = STUDIES["weakly_balanced"]({"spec": spec}, {}).drop_duplicates("graph")
    assert frame["graph"].tolist() == ["Not weakly balanced", "Weakly balanced", "Balanced"]
    assert frame["weakly_balanced"].tolist() == [False, True, True]
    assert frame["balanced"].tolist() == [False, False, True]
    # The paper's caption: about 0.97 on the left, 1 for the others.
    assert_allclose(frame["perron"].round(2), [0.97, 1, 1])
    assert abs(frame["perron"].iloc[0] - 1) > 0.02


def test_edges_of_the_cycles_powers():
    frame = study("fractional_edges_cycle").set_index(["exponent", "distance"])["weight"]
    assert len(frame) == 3 * 28
    assert_allclose(frame.loc[0.5, 1], (1 + 2**0.25) / 4)
    assert_allclose(frame.loc[0.5, 3], (1 - 2**0.25) / 4)
    assert (frame.loc[0.5, 3] < 0).all()
    assert (frame.loc[2.0, 3] > 0).all()
    for even in (2, 4):
        assert (frame.loc[0.5, even] == 0).all()
    assert (frame.loc[1.0, 3] == 0).all()


def test_frequencies_of_the_cycle():
    frame = study("cycle_eigenvectors")
    by_frequency = frame.drop_duplicates("frequency")
    assert_allclose(by_frequency["eigenvalue"], [1, 0.5**0.5, 0, -(0.5**0.5), -1])
    assert by_frequency["homophily"].tolist() == [1, 0.75, 0.5, 0.25, 0]
    assert frame.query("frequency == 2")["label"].tolist() == [1, 1, -1, -1] * 2
    # Exact zeros: the highest frequency has one eigenvector only.
    assert not frame.query("frequency in (0, 4)")["imaginary"].any()
    assert (frame.query("frequency == 3")["real"] == 0).sum() == 2


def test_virtual_edges_by_distance():
    frame = study("fractional_edges_distance").set_index(["graph", "exponent", "distance"])
    path = frame.loc["Path"]
    assert path.loc[0.5, "pairs"].to_dict() == {0.0: 4, 1.0: 6, 2.0: 4, 3.0: 2}
    power = np.abs(GRAPHS["Path"].factors.fractional_power(0.5).numpy())
    assert path.loc[(0.5, 3), "max"] == pytest.approx(power[0, 3])
    assert path.loc[(0.5, 3), "median"] == pytest.approx(power[0, 3])
    assert path.loc[(0.5, 3), "edges"] == 2
    # P_4 is bipartite: nothing at even distances; at α = 1 nothing beyond 1, rounding included.
    assert path.loc[(0.5, 2), ["edges", "max"]].tolist() == [0, 0]
    assert path.loc[(1.0, 3), ["edges", "max"]].tolist() == [0, 0]
    assert path.loc[(1.0, 1), "edges"] == 6


def test_the_bound_stands_where_it_holds():
    frame = study("fractional_edges_distance")
    far = frame["distance"].between(2, np.inf, inclusive="left")
    assert (frame["bound"].notna() == (far & (frame["exponent"] <= 1))).all()
    assert (frame["guaranteed"] == (frame["bound"].notna() & (frame["graph"] == "Path"))).all()
    assert frame.query("graph == 'Path' and exponent == 0.5 and distance == 3")[
        "bound"
    ].item() == pytest.approx((1 + np.pi**2 / 2) / 2)
    bounded = frame[frame["guaranteed"]]
    assert (bounded["max"] <= bounded["bound"]).all()


def test_unreachable_pairs_stand_apart():
    """Node 3 leads nowhere: 3 pairs."""
    frame = study("fractional_edges_distance")
    apart = frame[np.isinf(frame["distance"])]
    assert set(apart["graph"]) == {"Directed"}
    assert (apart["pairs"] == 3).all()
    assert apart["bound"].isna().all()


# Figures -----------------------------------------------------------------------------------------


def test_the_figure_of_spectra():
    fig, plotted = figure("spectrum")
    assert [ax.get_title() for ax in fig.axes] == ["Path", "Directed"]
    assert texts(fig) == [
        r"$\lambda_\mathrm{PF} = 1.0000$",
        r"$\lambda_\mathrm{PF} = 0.8909$",
    ]
    offsets = fig.axes[0].collections[0].get_offsets()
    own = plotted.query("graph == 'Path' and kind == 'eigenvalue'")
    assert_allclose(offsets, own[["real", "imaginary"]])


def test_the_figure_of_balance():
    fig, plotted = figure("weakly_balanced")
    assert [ax.get_title() for ax in fig.axes] == ["No", "Weakly", "Yes"]
    numbers = [text for text in texts(fig) if "lambda" in text]
    assert [text.split("PF} ")[-1] for text in numbers] == [r"\approx 0.98$", "= 1$", "= 1$"]
    for ax, (_, own) in zip(fig.axes, plotted.groupby("graph", sort=False), strict=True):
        arrows = [text for text in ax.texts if getattr(text, "arrow_patch", None)]
        assert len(arrows) == len(own)
        start, end = arrows[0].xyann, arrows[0].xy
        places = np.array(ax.collections[0].get_offsets())
        assert_allclose(start, places[own["source"].iloc[0]])
        assert_allclose(end, places[own["target"].iloc[0]])


def test_a_perron_eigenvalue_near_one_is_not_printed_as_one():
    frame = study("weakly_balanced").assign(perron=0.9996, weakly_balanced=False)
    fig, _ = FIGURES["weakly_balanced"](frame, {})
    numbers = [text for text in texts(fig) if "lambda" in text]
    assert all("0.999600" in text for text in numbers)


def test_the_figure_of_the_cycles_powers():
    fig, _ = figure("fractional_edges_cycle")
    half, one, two = fig.axes
    assert half.get_title() == r"$\alpha = 0.5$"
    assert [len(ax.lines) for ax in (half, one, two)] == [16, 8, 16]
    dashed = [line for line in half.lines if line.get_linestyle() != "-"]
    assert len(dashed) == 8
    assert all(line.get_linestyle() == "-" for line in two.lines)
    assert half.texts[-1].get_text() == "$d = 1$: $+0.547$\n$d = 3$: $-0.047$"


def test_the_figure_of_frequencies():
    fig, _ = figure("cycle_eigenvectors")
    grid = np.array(fig.axes[:15]).reshape(3, 5)
    titles = [ax.get_title() for ax in grid[0]]
    assert titles[0] == r"$\lambda = 1$"
    assert titles[3] == r"$\lambda = -0.707$"
    # Simple eigenvalues have one eigenvector.
    assert [bool(ax.collections) for ax in grid[1]] == [False, True, True, True, False]
    shown = [ax.texts[-1].get_text() for ax in grid[2][1:]]
    assert [text.split("= ")[1] for text in shown] == ["3/4$", "1/2$", "1/4$", "0$"]


def test_the_figure_of_virtual_edges():
    fig, plotted = figure("fractional_edges_distance")
    assert plotted["distance"].min() == 1
    (path, directed), (largest, _) = np.array(fig.axes).reshape(2, 2)
    assert "10^{-2}" in path.get_ylabel()
    assert (path.get_title(), directed.get_title()) == ("Path", "Directed")
    assert path.get_yscale() == largest.get_yscale() == "log"
    ticks = [text.get_text() for text in fig.axes[3].get_xticklabels()]
    assert ticks[-1] == r"$\infty$"
    own = plotted.query("graph == 'Path' and exponent == 0.5")
    line = path.lines[0]
    assert_allclose(line.get_xdata(), own["distance"])
    assert_allclose(line.get_ydata(), own["edges"].where(own["edges"] > 0))
    names = [text.get_text() for text in fig.legends[0].get_texts()]
    assert names[-2:] == ["Theorem 4.1", "Theorem 4.1, unproved"]


@pytest.mark.parametrize("kind", KINDS)
def test_files_repeat_byte_by_byte_and_quick_runs_are_stamped(kind, tmp_path):
    contents = []
    for name in ("first", "second"):
        fig, plotted = figure(kind)
        assert fig.get_suptitle() == ""
        paths = save_figure(fig, plotted, tmp_path / name / kind)
        assert sorted(os.listdir(tmp_path / name)) == sorted(path.name for path in paths)
        contents.append([path.read_bytes() for path in paths])
    assert contents[0] == contents[1]
    pd.testing.assert_frame_equal(pd.read_csv(paths[2]), plotted, check_dtype=False)
    assert "Quick run" in figure(kind, quick=True)[0].get_suptitle()


@pytest.mark.parametrize("kind", KINDS)
def test_a_study_survives_its_file(kind, tmp_path):
    """A figure draws what a study's file holds: infinite distances, truths and all."""
    frame = study(kind)
    frame.to_csv(tmp_path / "study.csv", index=False, float_format="%.10g")
    read = pd.read_csv(tmp_path / "study.csv")
    assert tuple(read.columns) == STUDY_COLUMNS[kind]
    pd.testing.assert_frame_equal(read, frame, check_dtype=False, rtol=1e-8, atol=1e-12)
    FIGURES[kind](read, {})


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_configured(kind):
    config = configuration()
    spec = config["studies"][kind]
    assert spec["kind"] == kind
    assert config["figures"][kind]["kind"] == config["figures"][kind]["study"] == kind


def test_an_exponent_that_overflows_is_named():
    with pytest.raises(ValueError, match="exponents: -5000 gives weights that are not finite"):
        STUDIES["fractional_edges_cycle"]({"spec": {"nodes": 8, "exponents": [-5000]}}, {})
