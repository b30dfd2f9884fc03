"""Every propagation path against Algorithm 1 taken literally: outputs, gradients, devices."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from scipy import sparse

from flode.model import PATHS, Architecture, Features, Operator, Request, make_path
from flode.model.network import Masks
from flode.spectral import factorize, sna
from tests.unit.propagations import (
    DIRECTED,
    DOUBLE,
    EDGES,
    SHAPES,
    SINGLE,
    UNDIRECTED,
    assert_agrees_with_the_literal_algorithm,
    assert_close,
    draw_masks,
    fits,
    gradients,
    library_parameters,
    path_of,
    random_parameters,
    served,
    small_case,
)
from tests.unit.strategies import cases, make_case, stable


@pytest.mark.parametrize("name", PATHS)
def test_outputs_and_gradients_in_double_precision(name):
    @settings(stable, max_examples=100)
    @given(cases(name))
    def check(case):
        assert_agrees_with_the_literal_algorithm(case, name, DOUBLE, 1e-10)

    check()


@pytest.mark.parametrize("name", PATHS)
def test_outputs_and_gradients_in_single_precision(name):
    @settings(stable, max_examples=50)
    @given(cases(name, growth=3.0, max_layers=8))
    def check(case):
        rounded = {
            key: value.astype(np.complex64 if np.iscomplexobj(value) else np.float32)
            for key, value in case.parameters.items()
        }
        case = replace(
            case,
            parameters={
                key: value.astype(np.result_type(value, np.float64))
                for key, value in rounded.items()
            },
            features=case.features.astype(np.float32).astype(float),
        )
        assert_agrees_with_the_literal_algorithm(case, name, SINGLE, 1e-4)

    check()


TINY = {
    "one node without an edge": [[0.0]],
    "one node with a self-loop": [[3.0]],
    "no edge at all": np.zeros((4, 4)),
    "one edge": np.eye(3, k=1)[:, :3] * [[1], [0], [0]],
    "one undirected edge": [[0, 2.0], [2.0, 0]],
    "all nodes twins": np.ones((4, 4)),
    "a directed path, L nilpotent": np.eye(5, k=1),
    "self-loops only": np.eye(3),
}


@pytest.mark.parametrize("ode", [True, False], ids=["ode", "no ode"])
@pytest.mark.parametrize("layers", [1, 2, 6])
@pytest.mark.parametrize("graph", TINY)
@pytest.mark.parametrize("name", PATHS)
def test_smallest_graphs(name, graph, layers, ode):
    matrix = sparse.csr_array(np.asarray(TINY[graph], dtype=float))
    case = make_case(matrix, Architecture(2, 3, 2, layers, ode=ode), -0.5)
    if name == "spectral" and not case.factors.symmetric:
        with pytest.raises(ValueError, match="symmetric"):
            path_of(case, name)
        return
    assert_agrees_with_the_literal_algorithm(case, name, DOUBLE, 1e-12)


def test_a_graph_without_edges_has_rank_zero_and_keeps_its_states():
    case = make_case(sparse.csr_array((4, 4)), Architecture(2, 3, 2, 5))
    assert case.factors.rank == 0
    parameters = library_parameters(case)
    still = parameters | {"channel_mixing": torch.zeros_like(parameters["channel_mixing"])}
    for name in PATHS:
        path = path_of(case, name)
        request = Request(path.operator.all_nodes)
        moved, kept = (path.logits(each, [request])[0] for each in (parameters, still))
        assert_close(moved, kept, 1e-14)


@pytest.mark.parametrize("equation", ["schroedinger", "heat"])
@pytest.mark.parametrize("layers", [64, 256])
@pytest.mark.parametrize("name", ["spectral", "reduced", "general"])
def test_deep_models(name, layers, equation):
    architecture = Architecture(2, 3, 2, layers, equation=equation)
    case = make_case(UNDIRECTED if name == "spectral" else DIRECTED, architecture, 1.2, growth=4.0)
    assert_agrees_with_the_literal_algorithm(case, name, DOUBLE, 1e-10)
    assert_agrees_with_the_literal_algorithm(case, name, SINGLE, 2e-4)


@pytest.mark.parametrize("layers", [1, 2, 4])
@pytest.mark.parametrize("options", [{}, {"ode": False}, {"normalize_layers": False}], ids=str)
def test_nodes_of_equal_features_start_as_one_column(options, layers):
    rng = np.random.default_rng(0)
    architecture = Architecture(
        3, 8, 2, layers, encoder_layers=2, **({"normalize_layers": True} | options)
    )
    loops = sparse.csr_array(DIRECTED + sparse.eye_array(7))  # else a state of 0 has no norm
    case = make_case(loops, architecture, 0.6)
    case = replace(case, features=rng.normal(size=(3, 3))[[0, 1, 1, 2, 0, 0, 2]])
    for features in (case.features, sparse.csr_array(case.features)):
        path = path_of(case, "columns", features=features)
        assert path.start(library_parameters(case), None)[1].shape == (1, 3, 7)
    assert_agrees_with_the_literal_algorithm(case, "columns", DOUBLE, 1e-11)


# Derivatives -------------------------------------------------------------------------------------

DERIVATIVES = {
    "spectral": {"encoder_layers": 2, "shared_weights": False},
    "reduced": {"decoder_layers": 2},
    "powers": {},
    "columns": {"encoder_layers": 2, "normalize_layers": True},
    "general": {"normalize_layers": True},
}


def function_of_parameters(name):
    sizes = {"hidden_channels": 2, "num_layers": 2}
    case = small_case(name, **sizes, **DERIVATIVES[name])
    path = path_of(case, name)
    parameters = library_parameters(case)
    request = Request(path.operator.nodes(torch.tensor([0, 3, 6])), gradient=True)

    def function(*values):
        return path.logits(dict(zip(parameters, values, strict=True)), [request])[0]

    return function, tuple(parameters.values())


@pytest.mark.parametrize("name", PATHS)
def test_gradients_equal_difference_quotients(name):
    function, values = function_of_parameters(name)
    assert torch.autograd.gradcheck(function, values)


@pytest.mark.parametrize("name", [name for name in PATHS if name != "powers"])
def test_second_derivatives_equal_difference_quotients(name):
    function, values = function_of_parameters(name)
    assert torch.autograd.gradgradcheck(function, values)


# Devices -----------------------------------------------------------------------------------------


def evaluate_on(device, name, options):
    """Logits and gradients of a training step with dropout, and logits of an evaluation."""
    case = small_case(name, **options)
    operator = Operator(case.factors, SINGLE, device)
    path = make_path(case.architecture, operator, Features(case.features, SINGLE, device), name)
    parameters = {
        parameter: value.detach().to(device, SINGLE).requires_grad_()
        for parameter, value in random_parameters(case.architecture, 3).items()
    }
    masks = draw_masks(case.architecture, 3, 7, 2, case.rng)
    masks = Masks(
        masks.input.to(device, SINGLE),
        [mask.to(device, SINGLE) for mask in masks.encoder],
        [mask.to(device, SINGLE) for mask in masks.decoder],
    )
    own = operator.nodes(torch.tensor([[0, 1], [3, 6], [2, 2]]))
    requests = [Request(own, masks, gradient=True), Request(operator.all_nodes)]
    step, evaluation = path.logits(parameters, requests)
    return [step, evaluation, *gradients(parameters, step, torch.ones((), device=device)).values()]


@served
def test_nothing_is_made_on_another_device(name, options):
    """The meta device refuses to work with tensors of the CPU."""
    with pytest.raises(RuntimeError):
        torch.ones(2, device="meta") + torch.ones(2)
    expected = evaluate_on("cpu", name, options)
    for found, other in zip(evaluate_on("meta", name, options), expected, strict=True):
        assert found.device.type == "meta"
        assert found.shape == other.shape


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", PATHS)
def test_cuda_agrees_with_the_cpu(name):
    for options in SHAPES.values():
        if fits(name, options):
            results = (evaluate_on(device, name, options) for device in ("cuda", "cpu"))
            for found, expected in zip(*results, strict=True):
                assert found.device.type == "cuda"
                assert_close(found.cpu(), expected, 1e-4, 1e-3)


# Numerical range ---------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [-2.0, -1.0, 0.5, 3.0])
def test_powers_of_singular_values_are_good_in_single_precision(exponent):
    factors = factorize(sna(EDGES, None, 7))
    powers = Operator(factors, SINGLE).powers(torch.tensor([exponent]))[0]
    expected = factors.values**exponent
    assert ((powers.double() - expected).abs() <= 1e-6 * expected).all()


def test_powers_keep_the_sign_of_eigenvalues():
    factors = factorize(sna(np.array([[0, 1], [1, 0]]), None, 2))
    assert sorted(factors.values.tolist()) == pytest.approx([-1, 1])
    powers = Operator(factors, DOUBLE).powers(torch.tensor([[0.5], [2.0]], dtype=DOUBLE))
    assert powers.shape == (2, 1, 2)
    assert torch.allclose(powers, factors.values.expand(2, 1, 2))
