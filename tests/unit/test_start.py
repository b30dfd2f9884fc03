"""Where training starts: linear layers of the CPU's generator, W of a GPU's."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch

from flode.model import Architecture
from flode.model.philox import THREADS, gpu_normal
from tests.configuration import ROOT


@pytest.mark.parametrize(
    ("seed", "expected"),
    [(0, [-0.9247, -0.4253, -2.6438]), (42, [0.1940, 2.1614, -0.1721])],
)
def test_it_draws_what_pytorch_prints_on_a_gpu(seed, expected):
    """``torch.manual_seed(seed); torch.randn(3, device="cuda")``."""
    assert gpu_normal(seed, np.arange(3), 3) == pytest.approx(expected, abs=5e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("size", [3, 64 * 64, 100 * 100])
def test_it_draws_what_a_gpu_draws(size):
    generator = torch.Generator("cuda").manual_seed(1000)
    for draw in range(2):
        drawn = torch.empty(size, device="cuda").normal_(generator=generator).cpu().numpy()
        assert gpu_normal(1000, np.arange(size), size, draw) == pytest.approx(drawn, abs=1e-5)


def test_it_is_normal_and_draws_differ():
    size = 3 * THREADS
    drawn = np.stack([gpu_normal(5, np.arange(size), size, draw) for draw in range(2)])
    assert scipy.stats.kstest(drawn.ravel(), "norm").pvalue > 0.01
    assert abs(np.corrcoef(drawn)[0, 1]) < 0.01
    assert len(np.unique(drawn)) == drawn.size
    parts = drawn[0].reshape(3, THREADS)
    assert np.abs(np.corrcoef(parts) - np.eye(3)).max() < 0.02


def test_an_element_does_not_depend_on_which_others_are_asked_for():
    everything = gpu_normal(7, np.arange(5000), 5000)
    some = np.array([4999, 0, 17])
    assert np.array_equal(gpu_normal(7, some, 5000), everything[some])
    assert np.array_equal(gpu_normal(7, np.arange(5000), 10**6), everything), "until it wraps"


@pytest.mark.parametrize("complex_valued", [True, False])
def test_linear_layers_are_pytorchs(complex_valued):
    equation = "schroedinger" if complex_valued else "heat"
    architecture = Architecture(5, 8, 3, 2, 2, 2, equation=equation, complex_valued=complex_valued)
    parameters = architecture.initial_parameters(1000)
    dtype = torch.cfloat if complex_valued else torch.float
    torch.manual_seed(1000)
    for name, sizes in (("encoder", (5, 8, 8)), ("decoder", (8, 8, 3))):
        for i in range(2):
            layer = torch.nn.Linear(sizes[i], sizes[i + 1], dtype=dtype)
            for part in ("weight", "bias"):
                value = getattr(layer, part).detach()
                planes = torch.stack([value.real, value.imag] if complex_valued else [value])
                assert torch.equal(parameters[f"{name}.{i}.{part}"], planes)


def test_w_is_the_same_on_every_graph_and_for_both_equations():
    first = Architecture(1433, 64, 7, 2).initial_parameters(1000)["channel_mixing"]
    other = Architecture(5, 64, 3, 6, 1, 2).initial_parameters(1000)["channel_mixing"]
    real = Architecture(5, 64, 3, equation="heat", complex_valued=False)
    assert first.shape == (1, 2, 64)
    assert torch.equal(first, other)
    assert torch.equal(first[:, :1], real.initial_parameters(1000)["channel_mixing"])
    assert not torch.equal(first, Architecture(5, 64, 3).initial_parameters(1)["channel_mixing"])
    unshared = Architecture(5, 64, 3, 6, shared_weights=False).initial_parameters(1000)
    assert torch.equal(unshared["channel_mixing"][:1, :1], first[:, :1])
    assert len(unshared["channel_mixing"].unique()) == 6 * 2 * 64


@pytest.mark.parametrize(("graph", "width"), [("Film", 256), ("Cora", 64), ("Citeseer", 64)])
@pytest.mark.parametrize("equation", ["heat", "schroedinger"])
def test_the_printed_extremes_of_w_are_a_few_steps_from_this_start(graph, width, equation):
    """Trainings of ten to twenty epochs, which move W by their learning rate an epoch at most."""
    printed = pd.read_csv(ROOT / "config/published/frequency_dominance.csv")
    printed = printed[(printed["column"] == graph) & (printed["subtable"] == equation)]
    printed = printed.set_index("row")["mean"]
    start = Architecture(5, width, 3).initial_parameters(1000)["channel_mixing"][0, 0]
    assert printed["lambda_1_W"] == pytest.approx(float(start.min()), abs=0.12)
    assert printed["lambda_K_W"] == pytest.approx(float(start.max()), abs=0.12)


def test_without_a_seed_it_follows_pytorchs_generator():
    architecture = Architecture(5, 8, 3)
    torch.manual_seed(3)
    first, second = architecture.initial_parameters(), architecture.initial_parameters()
    torch.manual_seed(3)
    again = architecture.initial_parameters()
    for name in ("encoder.0.weight", "channel_mixing"):
        assert torch.equal(first[name], again[name])
        assert not torch.equal(first[name], second[name])
