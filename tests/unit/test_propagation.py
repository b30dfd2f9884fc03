"""Every propagation path against Algorithm 1 taken literally: outputs, gradients, masks, splits."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from torch.nn.functional import leaky_relu

from flode import paths
from flode.model import PATHS, Architecture, Features, Operator, Request, choose_path, make_path
from flode.model.network import Masks
from flode.model.planes import to_planes
from flode.spectral import factorize, sna
from tests import literal
from tests.unit.strategies import adjacencies, architectures, cases, make_case, stable

DOUBLE, SINGLE = torch.float64, torch.float32

EDGES = np.array([[0, 1, 2, 3, 4, 5, 0, 2, 5], [1, 2, 3, 4, 5, 0, 3, 5, 5]])
DIRECTED = sparse.csr_array((np.ones(9), tuple(EDGES)), shape=(7, 7))  # node 6 is isolated
UNDIRECTED = sparse.csr_array(DIRECTED + DIRECTED.T)


def small_case(path, nodes=None, **options):
    """A fixed case that a path can serve."""
    sizes = {"in_channels": 2, "hidden_channels": 3, "out_channels": 2, "num_layers": 3}
    architecture = Architecture(**(sizes | options))
    return make_case(UNDIRECTED if path == "spectral" else DIRECTED, architecture, 0.7)


# The literal algorithm ---------------------------------------------------------------------------


def layers_of(parameters, part):
    names = [name for name in parameters if name.startswith(f"{part}.")]
    return [
        (parameters[f"{part}.{i}.weight"], parameters[f"{part}.{i}.bias"])
        for i in range(len(names) // 2)
    ]


def mlp(x, layers, masks):
    """``literal.mlp`` with masks ``(units, rows)`` on the layers' inputs."""
    for i, (layer, mask) in enumerate(zip(layers, masks, strict=True)):
        if i:
            parts = leaky_relu(torch.view_as_real(x) if x.is_complex() else x)
            x = torch.view_as_complex(parts) if x.is_complex() else parts
        x = literal.mlp(x if mask is None else x * mask.T, [layer])
    return x


def literal_logits(case, parameters, masks=None, index=None):
    """Logits ``(n, classes)`` by Algorithm 1, all in double precision.

    ``masks`` are the input's, the hidden encoder layers' and the decoder layers', of one split.
    """
    architecture = case.architecture
    kind = torch.complex128 if architecture.complex_valued else DOUBLE
    left, values, right = torch.linalg.svd(torch.from_numpy(case.laplacian))
    values = torch.where(values > 1e-6 * values.max(), values, 0.0)
    encoder, decoder = (layers_of(parameters, part) for part in ("encoder", "decoder"))
    masks = masks or ([None] * len(encoder), [None] * len(decoder))
    x = mlp(torch.from_numpy(case.features).to(kind), encoder, masks[0])
    _, states = literal.flode(
        x,
        left.to(kind),
        values,
        right.to(kind),
        [],
        [],
        parameters["channel_mixing"],
        parameters["exponent"],
        parameters["step_size"],
        num_layers=architecture.num_layers,
        s=architecture.sign * literal.SIGNS[architecture.equation],
        ode=architecture.ode,
        normalize=architecture.normalize_layers,
    )
    x = states[-1] if index is None else states[-1][index]
    out = mlp(x, decoder, masks[1])
    return out.abs() if out.is_complex() else out


def literal_parameters(case):
    fixed = case.architecture.fixed_parameters
    return {
        name: torch.from_numpy(value.copy()).requires_grad_(name not in fixed)
        for name, value in case.parameters.items()
    }


# The library -------------------------------------------------------------------------------------


def planes_of(name, value, architecture):
    """A parameter as the library keeps it: the plane axis first, after that of the layers."""
    value = torch.as_tensor(value)
    if name == "exponent":
        return value
    planes = to_planes(value, architecture.planes)
    return planes if "." in name else planes.transpose(0, 1)


def library_parameters(case, dtype=DOUBLE):
    """Stacked for one split."""
    parameters = {
        name: planes_of(name, value, case.architecture)[None].to(dtype)
        for name, value in case.parameters.items()
    }
    for name in set(parameters) - case.architecture.fixed_parameters:
        parameters[name].requires_grad_()
    return parameters


def path_of(case, name, dtype=DOUBLE, features=None):
    features = case.features if features is None else features
    operator = Operator(case.factors, dtype)
    return make_path(case.architecture, operator, Features(features, dtype), name)


def stack(draws):
    """Parameter sets of one split each, side by side."""
    return {
        name: torch.cat([parameters[name] for parameters in draws]).detach().requires_grad_()
        for name in draws[0]
    }


def random_parameters(architecture, splits, seed=0):
    """Stacked parameters, another set a split."""
    draws = [
        {
            name: value[None].double() + 0.1 * torch.randn(1, *value.shape, dtype=DOUBLE)
            for name, value in architecture.initial_parameters(split).items()
        }
        for split in range(seed, seed + splits)
    ]
    return stack(draws)


def split_of(parameters, split):
    return {name: value[split : split + 1] for name, value in parameters.items()}


def numbers(parameters, architecture):
    """One split's library parameters as the literal algorithm takes them."""
    literal_ones = {}
    for name, value in parameters.items():
        value = value[0].detach()
        if name != "exponent":
            planes = value if "." in name else value.transpose(0, 1)
            value = torch.complex(*planes) if architecture.planes == 2 else planes[0]
        literal_ones[name] = value.clone().requires_grad_()
    return literal_ones


def gradients(parameters, logits, cotangent):
    """Of Σ cotangent · logits, by every learned parameter; zero where it does not enter."""
    learned = {name: value for name, value in parameters.items() if value.requires_grad}
    found = torch.autograd.grad(
        (logits * cotangent).sum(), list(learned.values()), allow_unused=True
    )
    return {
        name: torch.zeros_like(value) if gradient is None else gradient
        for (name, value), gradient in zip(learned.items(), found, strict=True)
    }


def assert_close(actual, expected, tolerance, scale=0.0):
    """To ``tolerance``, relative to the largest expected number, or to ``scale``."""
    assert actual.shape == expected.shape
    scale = max(expected.abs().max().item(), scale)
    error = (actual - expected).abs().max().item()
    assert error <= tolerance * scale, f"{error:.1e} against a scale of {scale:.1e}"


def assert_agrees_with_the_literal_algorithm(case, name, dtype, tolerance):
    expected_parameters = literal_parameters(case)
    expected = literal_logits(case, expected_parameters)
    expected_gradients = gradients(expected_parameters, expected, torch.from_numpy(case.cotangent))

    path = path_of(case, name, dtype)
    parameters = library_parameters(case, dtype)
    nodes = path.operator.all_nodes
    logits = path.logits(parameters, [Request(nodes, gradient=True)])[0][0].T
    assert logits.dtype == dtype
    found = gradients(parameters, logits, torch.from_numpy(case.cotangent).to(dtype))

    assert_close(logits.double(), expected, tolerance)
    assert set(found) == set(expected_gradients) >= {"channel_mixing", "encoder.0.weight"}
    # A gradient in which everything cancels is compared with a thousandth of the largest one.
    scale = max(gradient.abs().max().item() for gradient in expected_gradients.values())
    assert scale > 0
    for parameter, gradient in expected_gradients.items():
        gradient = planes_of(parameter, gradient, case.architecture)
        assert_close(found[parameter][0].double(), gradient, tolerance, 1e-3 * scale)


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


# Splits, subsets, masks --------------------------------------------------------------------------

SHAPES = {
    "plain": {},
    "deep encoder and decoder": {"encoder_layers": 2, "decoder_layers": 2},
    "without the ODE": {"ode": False},
    "real heat": {"equation": "heat", "complex_valued": False, "decoder_layers": 2},
    "unshared": {"shared_weights": False},
    "normalised": {"normalize_layers": True},
    "normalised, deep encoder": {"normalize_layers": True, "encoder_layers": 2},
}


def fits(name, options):
    if options.get("normalize_layers"):
        return name in ("columns", "general")
    return name != "powers" or (
        options.get("shared_weights", True) and options.get("encoder_layers", 1) == 1
    )


served = pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param(name, options, id=f"{name}-{shape}")
        for name in PATHS
        for shape, options in SHAPES.items()
        if fits(name, options)
    ],
)


def draw_masks(architecture, splits, nodes, decoded, rng, features=True):
    """Masks that drop a third of the units, at random."""

    def draw(*shape):
        mask = np.ones((splits, np.prod(shape)))
        mask[:, : -(-mask.shape[1] // 3)] = 0
        return torch.from_numpy(rng.permuted(mask, axis=1).reshape(splits, *shape))

    hidden = architecture.hidden_channels
    return Masks(
        draw(architecture.in_channels, nodes) if features else None,
        [draw(hidden, nodes) for _ in range(architecture.encoder_layers - 1)],
        [draw(hidden, decoded) for _ in range(architecture.decoder_layers)],
    )


def masks_of_split(masks, split):
    return (
        [mask if mask is None else mask[split] for mask in (masks.input, *masks.encoder)],
        [mask[split] for mask in masks.decoder],
    )


@served
def test_splits_side_by_side_equal_splits_alone(name, options):
    case = small_case(name, **options)
    path = path_of(case, name)
    parameters = random_parameters(case.architecture, 3)
    index = torch.tensor([[0, 6, 3], [5, 5, 1], [2, 0, 4]])
    for nodes in (path.operator.all_nodes, path.operator.nodes(index[0]), index):
        stacked = path.operator.nodes(nodes) if nodes is index else nodes
        together = path.logits(parameters, [Request(stacked, gradient=True)])[0]
        found = gradients(parameters, together, torch.ones(()))
        for split in range(3):
            own = path.operator.nodes(index[split]) if nodes is index else nodes
            single = split_of(parameters, split)
            alone = path.logits(single, [Request(own, gradient=True)])[0]
            assert_close(together[split : split + 1], alone, 1e-12)
            for parameter, gradient in gradients(single, alone, torch.ones(())).items():
                assert_close(found[parameter][split : split + 1], gradient, 1e-10, 1e-3)
    assert not torch.allclose(together[0], together[1])


@served
def test_nodes_asked_for_are_rows_of_all_nodes(name, options):
    case = small_case(name, **options)
    path = path_of(case, name)
    parameters = random_parameters(case.architecture, 2)
    every = path.logits(parameters, [Request(path.operator.all_nodes)])[0]
    shared = torch.tensor([6, 2, 2, 0])
    own = torch.tensor([[0, 1], [6, 4]])
    requests = [Request(path.operator.nodes(index)) for index in (shared, own, own[:, :0])]
    some, each, none = path.logits(parameters, requests)
    assert_close(some, every[:, :, shared], 1e-13)
    assert_close(each[0], every[0][:, own[0]], 1e-13)
    assert_close(each[1], every[1][:, own[1]], 1e-13)
    assert none.shape == (2, case.architecture.out_channels, 0)


@pytest.mark.parametrize("features", [True, False], ids=["input dropped", "input whole"])
@served
def test_dropout_masks_equal_the_literal_algorithm(name, options, features):
    """One mask for both planes, kept units not rescaled; masks act after LeakyReLU."""
    case = small_case(name, **options)
    architecture, path = case.architecture, path_of(case, name)
    parameters = random_parameters(architecture, 3)
    index = torch.tensor([[0, 6, 3, 4], [5, 2, 1, 0], [2, 0, 4, 6]])
    masks = draw_masks(architecture, 3, 7, 4, case.rng, features)
    request = Request(path.operator.nodes(index), masks, gradient=True)
    logits = path.logits(parameters, [request])[0]
    cotangent = torch.randn(logits.shape, dtype=DOUBLE, generator=torch.Generator().manual_seed(0))
    found = gradients(parameters, logits, cotangent)
    for split in range(3):
        expected_parameters = numbers(split_of(parameters, split), architecture)
        split_masks = masks_of_split(masks, split)
        expected = literal_logits(case, expected_parameters, split_masks, index[split])
        assert_close(logits[split].T, expected, 1e-10)
        expected_gradients = gradients(expected_parameters, expected, cotangent[split].T)
        scale = max(gradient.abs().max().item() for gradient in expected_gradients.values())
        for parameter, gradient in expected_gradients.items():
            gradient = planes_of(parameter, gradient, architecture)
            assert_close(found[parameter][split], gradient, 1e-9, 1e-3 * scale)
    whole = path.logits(parameters, [Request(path.operator.nodes(index))])[0]
    assert not torch.allclose(whole, logits)


@served
def test_one_mask_can_serve_all_splits(name, options):
    case = small_case(name, **options)
    path = path_of(case, name)
    parameters = random_parameters(case.architecture, 3)
    masks = draw_masks(case.architecture, 1, 7, 7, case.rng)

    def repeated(mask):
        return mask.expand(3, *mask.shape[1:])

    each = Masks(
        repeated(masks.input),
        [repeated(mask) for mask in masks.encoder],
        [repeated(mask) for mask in masks.decoder],
    )
    requests = [Request(path.operator.all_nodes, given, gradient=True) for given in (masks, each)]
    one, other = (path.logits(parameters, [request])[0] for request in requests)
    assert_close(one, other, 1e-13)
    expected = gradients(parameters, other, torch.ones(()))
    for parameter, gradient in gradients(parameters, one, torch.ones(())).items():
        assert_close(gradient, expected[parameter], 1e-12, 1e-6)
    evaluation = Request(path.operator.all_nodes)
    assert_close(path.logits(parameters, [requests[0], evaluation])[0], one, 1e-13)


@served
def test_an_evaluation_beside_a_training_step_changes_nothing(name, options):
    case = small_case(name, **options)
    architecture, path = case.architecture, path_of(case, name)
    parameters = random_parameters(architecture, 2)
    operator = path.operator
    own = torch.tensor([[0, 1], [3, 6]])
    masks = draw_masks(architecture, 2, 7, 2, case.rng)
    decoder_only = replace(masks, input=None, encoder=[None] * 9)
    for step_masks in (None, masks, replace(masks, input=None), decoder_only):
        step = Request(operator.nodes(own), step_masks, gradient=True)
        evaluation = Request(operator.nodes(torch.tensor([2, 4, 5])))
        other = Request(operator.nodes(torch.tensor([0, 5])))
        step_alone = path.logits(parameters, [step])[0]
        evaluation_alone = path.logits(parameters, [evaluation])[0]
        expected = gradients(parameters, step_alone, torch.ones(()))
        for requests in ([evaluation, step], [step, evaluation], [evaluation, step, other]):
            results = dict(zip(map(id, requests), path.logits(parameters, requests), strict=True))
            assert not results[id(evaluation)].requires_grad
            assert_close(results[id(evaluation)], evaluation_alone, 1e-14)
            assert_close(results[id(step)], step_alone, 1e-14)
            found = gradients(parameters, results[id(step)], torch.ones(()))
            for parameter, gradient in expected.items():
                assert_close(found[parameter], gradient, 1e-12, 1e-6)
        assert_close(results[id(other)], path.logits(parameters, [other])[0], 1e-14)


@served
def test_requests_without_input_dropout_share_one_pass(name, options, monkeypatch):
    case = small_case(name, **options)
    path = path_of(case, name)
    passes = []
    powers = Operator.powers
    monkeypatch.setattr(Operator, "powers", lambda *args: passes.append(1) or powers(*args))
    every = path.operator.all_nodes
    decoded = draw_masks(case.architecture, 1, 7, 7, case.rng).decoder
    step = Request(every, Masks(None, [None] * 2, decoded), gradient=True)
    path.logits(library_parameters(case), [Request(every), step, Request(every)])
    assert len(passes) == 1


@pytest.mark.parametrize("name", PATHS)
def test_no_gradients_under_no_grad(name):
    case = small_case(name)
    path = path_of(case, name)
    parameters = library_parameters(case)
    with torch.no_grad():
        logits = path.logits(parameters, [Request(path.operator.all_nodes, gradient=True)])[0]
    assert not logits.requires_grad


@pytest.mark.parametrize("name", PATHS)
def test_two_training_requests_add_their_gradients(name):
    case = small_case(name)
    path = path_of(case, name)
    parameters = library_parameters(case)
    operator = path.operator
    one, two = (operator.nodes(torch.tensor(index)) for index in ([0, 1], [4, 6]))
    both = operator.nodes(torch.tensor([0, 1, 4, 6]))
    masked = draw_masks(case.architecture, 1, 7, 2, case.rng)
    for masks in (None, masked):
        requests = [Request(one, gradient=True), Request(two, masks, gradient=True)]
        logits = path.logits(parameters, requests)
        alone = [path.logits(parameters, [request])[0] for request in requests]
        found = gradients(parameters, torch.cat(logits, dim=2), torch.ones(()))
        expected = gradients(parameters, torch.cat(alone, dim=2), torch.ones(()))
        for parameter, gradient in expected.items():
            assert_close(found[parameter], gradient, 1e-12, 1e-6)
    together = path.logits(parameters, [Request(both, gradient=True)])[0]
    halves = path.logits(parameters, [Request(one, gradient=True), Request(two, gradient=True)])
    assert_close(torch.cat(halves, dim=2), together, 1e-13)


def test_features_projected_ahead_equal_those_projected_on_the_way():
    case = small_case("powers")
    path = path_of(case, "powers")
    parameters = random_parameters(case.architecture, 2)
    masks = draw_masks(case.architecture, 2, 7, 7, case.rng)
    epochs = torch.stack([masks.input, 1 - masks.input])
    ahead = path.project_masked(epochs)
    assert ahead.shape == (2, 2, 2, case.factors.rank)
    every = path.operator.all_nodes
    for projected, same in ((ahead[0], True), (ahead[1], False)):
        requests = [
            Request(every, replace(masks, projected=given), gradient=True)
            for given in (None, projected)
        ]
        one, other = (path.logits(parameters, [request])[0] for request in requests)
        assert torch.allclose(one, other, rtol=0, atol=1e-12) == same


@pytest.mark.parametrize("dropped", [False, True], ids=["whole", "dropped"])
@served
def test_sparse_features_equal_dense_ones(name, options, dropped):
    case = small_case(name, **options)
    features = np.where(case.rng.random(case.features.shape) < 0.5, case.features, 0)
    masks = draw_masks(case.architecture, 1, 7, 7, case.rng) if dropped else None
    results = []
    for kind in (features, sparse.csr_array(features), sparse.coo_array(features)):
        path = path_of(case, name, features=kind)
        parameters = library_parameters(case)
        own = masks
        if dropped and sparse.issparse(kind):  # one mask entry for each stored entry
            rows, columns = sparse.csr_array(kind).nonzero()
            own = replace(masks, input=masks.input[:, columns, rows])
        request = Request(path.operator.all_nodes, own, gradient=True)
        logits = path.logits(parameters, [request])[0]
        results.append((logits, gradients(parameters, logits, torch.ones(()))))
    assert path.features.is_sparse
    for logits, found in results[1:]:
        assert_close(logits, results[0][0], 1e-13)
        for parameter, gradient in results[0][1].items():
            assert_close(found[parameter], gradient, 1e-12, 1e-6)


@served
def test_sparse_features_serve_many_splits_with_one_mask(name, options):
    case = small_case(name, **options)
    features = sparse.csr_array(np.where(case.rng.random((7, 2)) < 0.5, case.features, 0))
    path = path_of(case, name, features=features)
    parameters = random_parameters(case.architecture, 3)
    masks = draw_masks(case.architecture, 1, 7, 7, case.rng)
    masks = replace(masks, input=(torch.arange(features.nnz) % 2)[None].double())
    request = Request(path.operator.all_nodes, masks, gradient=True)
    together = path.logits(parameters, [request])[0]
    for split in range(3):
        alone = path.logits(split_of(parameters, split), [request])[0]
        assert_close(together[split : split + 1], alone, 1e-12)


@pytest.mark.parametrize("name", PATHS)
def test_sparse_features_may_all_be_zero(name):
    case = small_case(name)
    zeros = np.zeros_like(case.features)
    parameters = library_parameters(case)
    results = []
    for features in (zeros, sparse.csr_array(zeros)):
        path = path_of(case, name, features=features)
        logits = path.logits(parameters, [Request(path.operator.all_nodes, gradient=True)])[0]
        results.append((logits, gradients(parameters, logits, torch.ones(()))))
    assert_close(results[1][0], results[0][0], 1e-14)
    for parameter, gradient in results[0][1].items():
        assert_close(results[1][1][parameter], gradient, 1e-12, 1e-6)


@pytest.mark.filterwarnings("error")
def test_sparse_features_warn_of_nothing():
    features = Features(sparse.csr_array(np.eye(3)))
    assert torch.equal(features.dropped(None), torch.eye(3))


# Which path serves -------------------------------------------------------------------------------


def chosen(matrix, features=2, **options):
    sizes = {"hidden_channels": 4, "out_channels": 2, "num_layers": 2}
    architecture = Architecture(features, **(sizes | options))
    operator = Operator(make_case(matrix, architecture).factors)
    x = Features(np.ones((7, features)))
    name = choose_path(architecture, operator, x)
    assert make_path(architecture, operator, x).name == name
    return name


@pytest.mark.parametrize("matrix", [DIRECTED, UNDIRECTED], ids=["directed", "undirected"])
def test_choice_from_the_architecture(matrix):
    without_powers = "spectral" if matrix is UNDIRECTED else "reduced"
    assert chosen(matrix, num_layers=8) == "powers"
    assert chosen(matrix, num_layers=9) == without_powers
    assert chosen(matrix, encoder_layers=2) == without_powers
    assert chosen(matrix, shared_weights=False) == without_powers


#: Minesweeper's sizes, and what changes the choice of the path for its normalised layers.
MINESWEEPER = {
    "features": 7, "distinct": 7, "rank": 10000, "hidden_channels": 512, "num_layers": 4,
    "encoder_layers": 2,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "columns"),
        ({"features": 3000}, "columns"),
        ({"distinct": 250}, "columns"),  # 15 times as many columns against 4 · 1,024
        ({"distinct": 260}, "general"),
        ({"distinct": 250, "rank": 1000}, "general"),  # the norms weigh more
        ({"shared_weights": False}, "columns"),
        ({"decoder_dropout": 0.1}, "general"),
        ({"input_dropout": 0.1}, "general"),
        ({"encoder_layers": 1, "distinct": 10000, "input_dropout": 0.1}, "columns"),
        ({"encoder_layers": 1, "features": 275}, "general"),
        ({"distinct": 1, "num_layers": 8}, "columns"),
        ({"distinct": 1, "num_layers": 9}, "general"),
        ({"distinct": 100, "num_layers": 64, "ode": False}, "columns"),
        ({"rank": 0}, "general"),
    ],
)
@pytest.mark.parametrize("symmetric", [False, True], ids=["directed", "undirected"])
def test_choice_for_normalised_layers(symmetric, changed, expected):
    sizes = MINESWEEPER | changed
    distinct, features, rank = (sizes.pop(name) for name in ("distinct", "features", "rank"))
    architecture = Architecture(features, out_channels=2, normalize_layers=True, **sizes)
    operator = SimpleNamespace(rank=rank, symmetric=symmetric)
    own = SimpleNamespace(num_features=features, learned=False, count_distinct=lambda _: distinct)
    assert choose_path(architecture, operator, own) == expected


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy, sparse.csr_array, sparse.coo_array])
def test_distinct_rows_of_features(kind):
    given = np.array([[0, 1], [2.0, 0], [0, 1], [0, 0], [2, 0], [0, 2]], dtype=np.float32)
    features = Features(kind(given))
    rows, kinds = features.distinct
    assert rows.num_nodes == 4
    assert [features.count_distinct(limit) for limit in (2, 3, 4, 9)] == [3, 4, 4, 4]
    assert rows.is_sparse == features.is_sparse
    assert torch.equal(rows.dropped(None)[:, kinds], torch.from_numpy(given).T)
    assert Features(sparse.csr_array((3, 2))).distinct[0].num_nodes == 1


def test_learned_features_are_not_replaced():
    architecture = Architecture(2, 64, 2, 2, encoder_layers=2, normalize_layers=True)
    operator = Operator(make_case(DIRECTED, architecture).factors)
    # Many channels, so that norms weigh little.
    operator = SimpleNamespace(rank=1000, symmetric=False, num_nodes=7, left=operator.left)
    learned = torch.ones(7, 2, requires_grad=True)
    assert choose_path(architecture, operator, Features(np.ones((7, 2)))) == "columns"
    assert choose_path(architecture, operator, Features(learned)) == "general"
    with pytest.raises(ValueError, match="the columns path has no gradient by the features"):
        make_path(architecture, operator, Features(learned), "columns")


@pytest.mark.parametrize("layers", [5, 8])
def test_a_state_of_zero_stays_and_harms_no_other(layers):
    architecture = Architecture(2, 3, 2, layers, normalize_layers=True)
    case = make_case(DIRECTED, architecture, 0.7)
    case = replace(case, features=case.features * (np.arange(7) < 6)[:, None])  # 6 is isolated
    results = []
    for name in ("columns", "general"):
        parameters = library_parameters(case, SINGLE)
        parameters["encoder.0.bias"] = torch.zeros_like(parameters["encoder.0.bias"])
        path = path_of(case, name, SINGLE)
        request = Request(path.operator.nodes(torch.arange(6)), gradient=True)
        logits = path.logits(parameters, [request])[0]
        del parameters["encoder.0.bias"]
        results.append((logits, gradients(parameters, logits, torch.ones(()))))
    assert_close(results[0][0], results[1][0], 1e-4)
    for parameter, gradient in results[1][1].items():
        assert_close(results[0][1][parameter], gradient, 1e-3, 1e-2)


@pytest.mark.parametrize("scale", [1e-8, 1e6])
@pytest.mark.parametrize("ode", [False, True], ids=["no ode", "ode"])
def test_no_power_of_w_leaves_single_precision(scale, ode):
    """W's scale cancels in the norms, and nearly so where the ODE's step is mostly W's."""
    architecture = Architecture(2, 3, 2, 8, normalize_layers=True, ode=ode)
    loops = sparse.csr_array(DIRECTED + sparse.eye_array(7))
    case = make_case(loops, architecture, 0.7)
    results = []
    for name in ("columns", "general"):
        path = path_of(case, name, SINGLE)
        parameters = library_parameters(case, SINGLE)
        parameters["channel_mixing"] = (
            parameters["channel_mixing"].detach() * scale
        ).requires_grad_()
        request = Request(path.operator.all_nodes, gradient=True)
        logits = path.logits(parameters, [request])[0]
        results.append((logits, gradients(parameters, logits, torch.ones(()))))
    assert_close(results[0][0], results[1][0], 1e-4)
    for parameter, gradient in results[1][1].items():
        assert_close(results[0][1][parameter], gradient, 1e-3)


@pytest.mark.parametrize("matrix", [DIRECTED, UNDIRECTED], ids=["directed", "undirected"])
def test_few_features_are_fewer_real_columns_than_the_state_has(matrix):
    without_powers = "spectral" if matrix is UNDIRECTED else "reduced"
    assert chosen(matrix, features=6) == "powers"  # 7 columns against 2 · 4
    assert chosen(matrix, features=7) == without_powers
    real = {"equation": "heat", "complex_valued": False}
    assert chosen(matrix, features=2, **real) == "powers"
    assert chosen(matrix, features=3, **real) == without_powers


@pytest.mark.parametrize(
    ("name", "matrix", "options", "reason"),
    [
        (
            "spectral",
            UNDIRECTED,
            {"normalize_layers": True},
            "normalised layers need the columns path",
        ),
        (
            "reduced",
            DIRECTED,
            {"normalize_layers": True},
            "normalised layers need the columns path",
        ),
        ("powers", DIRECTED, {"normalize_layers": True}, "normalised layers need the columns path"),
        ("spectral", DIRECTED, {}, "symmetric operator"),
        ("powers", DIRECTED, {"encoder_layers": 2}, "linear encoder"),
        ("columns", DIRECTED, {"num_layers": 9}, "columns path takes at most 8 layers of an ODE"),
        ("powers", DIRECTED, {"shared_weights": False}, "shared weights"),
    ],
)
def test_a_path_that_cannot_serve_says_why(name, matrix, options, reason):
    case = make_case(matrix, Architecture(2, 3, 2, **options))
    assert paths.obstacle("auto", vars(case.architecture), matrix is UNDIRECTED) is None
    with pytest.raises(ValueError, match=f"path '{name}' cannot serve this model: .*{reason}") as e:
        path_of(case, name)
    # The workflow says the same before any job.
    assert str(e.value).endswith(
        paths.obstacle(name, vars(case.architecture), matrix is UNDIRECTED)
    )


def test_what_does_not_fit_together_is_named():
    case = small_case("reduced")
    with pytest.raises(
        ValueError, match="'fast'; allowed are auto, spectral, reduced, powers, columns"
    ):
        path_of(case, "fast")
    with pytest.raises(ValueError, match="features have 6 rows, the factors 7 nodes"):
        path_of(case, "auto", features=np.ones((6, 2)))
    with pytest.raises(ValueError, match="in_channels is 2, the features have 5"):
        path_of(case, "auto", features=np.ones((7, 5)))


@settings(stable, max_examples=40)
@given(adjacencies(2, 20), st.sampled_from(list(PATHS)).flatmap(architectures))
def test_the_chosen_path_always_serves_and_is_recorded(matrix, options):
    options = dict(options)
    if options["equation"] == "schroedinger":
        options["complex_valued"] = True
    case = make_case(matrix, Architecture(**options))
    path = path_of(case, "auto")
    assert path.name == choose_path(case.architecture, path.operator, path.features)
    logits = path.logits(library_parameters(case), [Request(path.operator.all_nodes)])[0]
    assert torch.isfinite(logits).all()


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
