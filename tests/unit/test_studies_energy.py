"""The study of Dirichlet energy along the heat equation, and its figure, on tiny graphs."""

import numpy as np
import pandas as pd
import pytest

from flode.datasets.graph import Graph
from flode.experiments.checks import STUDY_COLUMNS
from flode.experiments.studies import STUDIES, StudyGraph
from flode.experiments.studies.energy import sample_steps
from flode.reporting.figures import FIGURES, save_figure
from flode.spectral import factorize, normalized_dirichlet_energy, sna

SPEC = {
    "kind": "dirichlet_energy",
    "exponents": [-1, 0.5, 1],
    "horizons": {"Path": 100, "Cycle": 10},
    "step": 0.5,
    "channels": 3,
    "seed": 1,
}

#: λ = ±1, ±1/2.
PATH = np.array([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
CYCLE = np.array([[0, 1, 2, 0], [1, 2, 0, 2]])


class Tiny(StudyGraph):
    """A study's graph that comes from edges, not from files."""

    def __init__(self, label, edges):
        super().__init__(label, "", "", "target_to_source")
        laplacian = sna(edges, None, int(edges.max()) + 1)
        self.__dict__.update(laplacian=laplacian, factors=factorize(laplacian))


def graphs():
    return {"Path": Tiny("Path", PATH), "Cycle": Tiny("Cycle", CYCLE)}


def study(**changes):
    return STUDIES["dirichlet_energy"]({"spec": SPEC | changes, "quick": False}, graphs())


@pytest.fixture(scope="module")
def frame():
    return study()


def test_what_the_study_holds(frame):
    assert tuple(frame.columns) == STUDY_COLUMNS["dirichlet_energy"]
    lines = frame.groupby(["graph", "panel", "alpha", "scheme"])
    assert len(lines) == 2 * 2 * 3 * 2
    for (graph, *_), line in lines:
        assert line["t"].is_monotonic_increasing
        assert (line["t"].min(), line["t"].max()) == (0.5, SPEC["horizons"][graph])
    assert frame["energy"].between(-1e-12, 1).all()
    assert frame[frame["scheme"] == "exact"]["step"].isna().all()


def test_limits_are_given_and_reached_where_the_theorem_speaks(frame):
    cycle = frame[frame["graph"] == "Cycle"]
    # Its lowest frequency is real, its highest a pair: of a directed graph, α = 1 alone.
    spoken = cycle[(cycle["alpha"] == 1) & (cycle["panel"] == "negative")]
    assert cycle.drop(spoken.index)["limit"].isna().all()
    limit = spoken["limit"].iloc[0]
    assert (spoken["limit"] == limit).all() and 0 < limit < 0.1
    np.testing.assert_allclose(spoken[spoken["t"] == 10]["energy"], limit, atol=1e-3)
    path = frame[frame["graph"] == "Path"]
    limits = {
        key: set(part["limit"].round(9)) for key, part in path.groupby(["panel", path["alpha"] > 0])
    }
    assert limits == {
        ("negative", True): {0}, ("positive", True): {1},
        ("negative", False): {0.25}, ("positive", False): {0.75},
    }  # fmt: skip
    last = path[path["t"] == 100]
    np.testing.assert_allclose(last["energy"], last["limit"], atol=1e-6)


def test_steps_are_halved_until_they_are_stable(frame):
    """α = −1 gives ‖L^α‖ = 2 on the path, and 1/2 < ‖W‖ < 1; the step is stated."""

    def used(frame):
        path = frame[(frame["graph"] == "Path") & (frame["scheme"] == "euler")]
        return {key: set(part["step"]) for key, part in path.groupby(path["alpha"] > 0)}

    assert used(frame) == {False: {0.5}, True: {0.5}}
    coarse = study(step=2.0)
    assert used(coarse) == {False: {0.5}, True: {1.0}}
    # The times are those of the step asked for.
    path = coarse[coarse["graph"] == "Path"]
    assert set(path["t"]) == set(2.0 * sample_steps(2.0, 100, "Path"))


@pytest.mark.parametrize(("step", "used"), [(0.5, 0.5), (2.0, 1.0)])
def test_euler_is_what_the_paper_writes(step, used):
    """At t = 2, also where the step had to be halved."""
    frame = study(step=step).set_index(["scheme", "alpha", "t", "graph", "panel"])["energy"]
    for name, graph in graphs().items():
        rng = np.random.default_rng(SPEC["seed"])
        moduli = 1 - rng.random(3)
        x = rng.normal(size=(graph.factors.num_nodes, 3))
        power = graph.factors.fractional_power(0.5).numpy()
        for panel, sign in (("negative", -1), ("positive", 1)):
            state = x
            for _ in range(round(2 / used)):
                state = state - used * power @ state @ np.diag(sign * moduli)
            expected = normalized_dirichlet_energy(graph.laplacian, state)
            assert frame["euler", 0.5, 2.0, name, panel] == pytest.approx(expected)


def test_the_exact_solution_lies_beside_a_fine_euler_scheme():
    fine = study(step=0.001, exponents=[0.5])
    sides = fine.pivot_table(index=["graph", "panel", "t"], columns="scheme", values="energy")
    assert np.abs(sides["euler"] - sides["exact"]).max() < 1e-3


def test_the_study_repeats_and_hangs_on_its_seed(frame):
    pd.testing.assert_frame_equal(study(), frame, rtol=0, atol=0)
    assert not np.allclose(study(seed=2)["energy"], frame["energy"])


@pytest.mark.parametrize("horizons", [{"Path": 100}, {"Path": 100, "Cycle": 0.1}])
def test_a_missing_or_short_horizon_is_named(horizons):
    with pytest.raises(ValueError, match=r"horizons, Cycle: .*; allowed: at least the step, 0.5"):
        study(horizons=horizons)


def test_samples_are_even_in_the_logarithm_and_distinct():
    steps = sample_steps(0.1, 1000, "")
    assert (steps[0], steps[-1]) == (1, 10_000)
    assert (np.diff(steps) > 0).all()
    late = np.diff(np.log10(steps[steps > 200]))
    assert late == pytest.approx(np.full(len(late), 1 / 12), abs=0.01)
    assert list(sample_steps(0.5, 0.5, "")) == [1]


# The figure --------------------------------------------------------------------------------------


def test_the_figure(frame):
    fig, plotted = FIGURES["dirichlet_energy"](frame, {}, False)
    assert plotted is frame
    assert [ax.get_title() for ax in fig.axes] == [
        f"{graph}, $\\mathbf{{W}}$ with {sign} entries"
        for graph in ("Path", "Cycle")
        for sign in ("negative", "positive")
    ]
    assert {ax.get_xscale() for ax in fig.axes} == {"log"}
    assert fig.axes[0].get_ylabel() == "Normalised energy"
    for ax in fig.axes[:2]:  # two limits: of positive and of negative exponents
        assert len(ax.lines) == 2 + 3 * 2
        assert not ax.texts
    said = [r"a limit at $\alpha = 1$ only", "no theorem applies"]
    for ax, limits, words in zip(fig.axes[2:], (1, 0), said, strict=True):
        assert len(ax.lines) == limits + 3 * 2
        assert [text.get_text() for text in ax.texts] == [words]
    (legend,) = fig.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [
        *(rf"Euler, $\alpha = {exponent}$" for exponent in ("-1", "0.5", "1")),
        "exact solution", "theorem's limit",
    ]  # fmt: skip


def test_lines_show_the_study_and_exponents_differ_in_colour_and_marker(frame):
    fig, _ = FIGURES["dirichlet_energy"](frame, {}, False)
    own = frame[(frame["graph"] == "Cycle") & (frame["panel"] == "positive")]
    lines = fig.axes[3].lines
    for line, (_, part) in zip(lines, own.groupby(["alpha", "scheme"]), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), part["t"])
        np.testing.assert_array_equal(line.get_ydata(), part["energy"])
    euler = lines[::2]
    assert len({line.get_marker() for line in euler}) == 3
    assert len({tuple(np.atleast_1d(line.get_color())) for line in euler}) == 3


def test_the_figure_is_stamped_and_written(frame, tmp_path):
    fig, plotted = FIGURES["dirichlet_energy"](frame, {}, True)
    assert fig.get_suptitle() == "Quick run: not the paper's graphs and protocol"
    *_, csv = save_figure(fig, plotted, tmp_path / "dirichlet_energy")
    pd.testing.assert_frame_equal(pd.read_csv(csv), frame, check_dtype=False)


def test_an_exponent_that_needs_endless_steps_is_refused():
    with pytest.raises(ValueError, match=r"exponents, Path: -200 needs steps below 0\.5"):
        study(exponents=[-200])
    with pytest.raises(ValueError, match=r"exponents, Path: -5000"):
        study(exponents=[-5000])


def test_factors_of_another_graph_are_named(tmp_path):
    files = []
    for number, edges in enumerate((PATH, PATH[:, :4])):
        masks = np.eye(3, 4, dtype=bool)[:, None]
        weights = np.ones(edges.shape[1])
        graph = Graph(np.zeros((4, 1), np.float32), np.array([0, 1, 0, 1]), edges, weights, *masks)
        graph.save(tmp_path / f"{number}.npz")
        factorize(sna(edges, None, 4)).save(tmp_path / f"{number}.safetensors")
        files.append((str(tmp_path / f"{number}.npz"), str(tmp_path / f"{number}.safetensors")))
    assert StudyGraph("a", *files[0], "target_to_source").factors.num_nodes == 4
    with pytest.raises(ValueError, match=r"1\.safetensors: factors of a graph of 4 nodes"):
        StudyGraph("a", files[0][0], files[1][1], "target_to_source").factors  # noqa: B018
