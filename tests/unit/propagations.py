"""What the tests of propagation share: Algorithm 1 taken literally, and the library beside it."""

import numpy as np
import pytest
import torch
from scipy import sparse
from torch.nn.functional import leaky_relu

from flode.model import PATHS, Architecture, Features, Operator, Request, make_path
from flode.model.network import Masks
from tests import literal
from tests.unit.strategies import make_case

DOUBLE, SINGLE = torch.float64, torch.float32

EDGES = np.array([[0, 1, 2, 3, 4, 5, 0, 2, 5], [1, 2, 3, 4, 5, 0, 3, 5, 5]])
DIRECTED = sparse.csr_array((np.ones(9), tuple(EDGES)), shape=(7, 7))  # node 6 is isolated
UNDIRECTED = sparse.csr_array(DIRECTED + DIRECTED.T)


def small_case(path, nodes=None, **options):
    """A fixed case that a path can serve."""
    sizes = {"in_channels": 2, "hidden_channels": 3, "out_channels": 2, "num_layers": 3}
    architecture = Architecture(**(sizes | options))
    return make_case(UNDIRECTED if path == "spectral" else DIRECTED, architecture, 0.7)


def to_planes(values, planes):
    """A (complex) tensor as planes at axis 0."""
    if planes == 1:
        return values.real[None].clone()
    complete = values if values.is_complex() else torch.complex(values, torch.zeros_like(values))
    return torch.stack([complete.real, complete.imag])


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


# Models of every kind ----------------------------------------------------------------------------

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
