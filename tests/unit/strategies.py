"""Hypothesis strategies shared by the unit tests: graphs, architectures and whole model cases.

Structure (number of nodes, kinds of nodes, layers, ...) is drawn by Hypothesis, so that a failing
example shrinks; the numbers come from a seeded generator.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import assume, settings
from hypothesis import strategies as st
from scipy import sparse

from flode.model import Architecture
from flode.paths import MAX_COLUMNS_LAYERS, MIN_COLUMNS_CHANNELS
from flode.spectral import Factors, adjacency, factorize
from flode.spectral.sna import symmetrically_normalize

seeds = st.integers(0, 2**32 - 1)

#: The same examples in every run, and nothing left behind on disk.
stable = settings(deadline=None, derandomize=True, database=None)


@st.composite
def adjacencies(draw, min_nodes=1, max_nodes=60, symmetric=None, loops_everywhere=False):
    """Weighted adjacency matrices (CSR), directed and undirected, connected or not.

    Sinks and sources, isolated nodes, twins (nodes with the same neighbours, so that the matrix has
    not full rank), self-loops and graphs without any edge occur.
    """
    nodes = draw(st.integers(min_nodes, max_nodes))
    directed = draw(st.booleans()) if symmetric is None else not symmetric
    edges_per_node = draw(st.sampled_from([2, 1, 3, 4, 8, 0]))
    weighted, loops, acyclic = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    isolated, sinks, sources, twins = (
        draw(st.integers(0, (nodes - 1) // 2)) if nodes > 1 else 0 for _ in range(4)
    )
    rng = np.random.default_rng(draw(seeds))
    rows, columns = rng.integers(0, nodes, (2, edges_per_node * nodes))
    weight = rng.uniform(0.5, 2, len(rows)) if weighted else None
    matrix = adjacency(np.stack([rows, columns]), weight, nodes).toarray()
    if not loops:
        np.fill_diagonal(matrix, 0)
    if acyclic and directed:
        matrix = np.triu(matrix)
    for count in range(twins):
        matrix[nodes - 1 - count], matrix[:, nodes - 1 - count] = matrix[0], matrix[:, 0]
    if directed:
        matrix[rng.permutation(nodes)[:sinks]] = 0
        matrix[:, rng.permutation(nodes)[:sources]] = 0
    else:
        matrix = matrix + matrix.T
    alone = rng.permutation(nodes)[:isolated]
    matrix[alone] = 0
    matrix[:, alone] = 0
    if loops_everywhere:
        np.fill_diagonal(matrix, 1)
    return sparse.csr_array(matrix)


@dataclass(frozen=True, eq=False)
class Case:
    """A model on a graph, with everything random fixed.

    Attributes:
        laplacian: SNA, dense ``(N, N)``.
        factors: its factors.
        architecture: the model's.
        parameters: complex (or real) numpy arrays by name, without the plane axis.
        features: ``(N, F)``.
        cotangent: ``(N, classes)`` weights of the logits in the loss.
        rng: for what else a test draws.
    """

    laplacian: np.ndarray
    factors: Factors
    architecture: Architecture
    parameters: dict[str, np.ndarray]
    features: np.ndarray
    cotangent: np.ndarray
    rng: np.random.Generator


def architectures(path, max_layers=10):
    """Architectures (as keywords, without sizes) that a path can serve."""
    linear, normal = path == "powers", path in ("columns", "general")
    deepest = min(max_layers, MAX_COLUMNS_LAYERS) if path in ("columns", "powers") else max_layers
    return st.fixed_dictionaries(
        {
            "in_channels": st.integers(1, 4),
            "hidden_channels": st.integers(2, 5),
            "out_channels": st.integers(1, 3),
            "num_layers": st.integers(1, deepest),
            "encoder_layers": st.just(1) if linear else st.integers(1, 3),
            "decoder_layers": st.integers(1, 2),
            "equation": st.sampled_from(["schroedinger", "heat"]),
            "sign": st.sampled_from([-1, 1]),
            "ode": st.booleans(),
            "complex_valued": st.booleans(),
            "shared_weights": st.just(True) if linear else st.booleans(),
            "normalize_layers": st.booleans() if normal else st.just(False),
            "learn_exponent": st.booleans(),
            "learn_step_size": st.booleans(),
        }
    )


@st.composite
def cases(draw, path, growth=8.0, max_nodes=60, max_layers=10):
    """Models on graphs that a path can serve, scaled so that rounding cannot grow out of hand.

    Args:
        growth: bound on ``Σ_t |c_t| ‖L^α‖``; the state grows at most ``exp`` of that, and rounding
            with it. Without the ODE ``|c_t| ‖L^α‖`` stays below 1.3.
    """
    options = draw(architectures(path, max_layers))
    if options["equation"] == "schroedinger":
        options["complex_valued"] = True
    if path == "columns" and options["normalize_layers"]:
        planes = 2 if options["complex_valued"] else 1
        few = MIN_COLUMNS_CHANNELS // planes
        options["hidden_channels"] = max(few, options["hidden_channels"])
    architecture = Architecture(**options)
    # Without the ODE a node that gathers nothing has state 0, which no norm can divide.
    loops_everywhere = architecture.normalize_layers and not architecture.ode
    symmetric = True if path == "spectral" else None
    matrix = draw(adjacencies(1, max_nodes, symmetric, loops_everywhere))
    exponent = draw(st.one_of(st.sampled_from([1.0, 0.5, -0.5]), st.floats(-1, 3)))
    growth = draw(st.floats(0.1, growth)) if architecture.ode else 1.3 * architecture.num_layers
    case = make_case(matrix, architecture, exponent, growth, draw(seeds))
    # Around the numerical rank, rounding decides what counts as zero.
    values = np.linalg.svd(case.laplacian, compute_uv=False)
    assume(not np.any((values > 1e-9) & (values < 1e-4)))
    return case


def make_case(matrix, architecture, exponent=1.0, growth=2.0, seed=0):
    """A :class:`Case` from an adjacency matrix, an architecture and an exponent.

    A negative exponent is raised where σ_min^α would exceed 30.
    """
    rng = np.random.default_rng(seed)
    laplacian = symmetrically_normalize(matrix).toarray()
    factors = factorize(sparse.csr_array(laplacian))
    values = factors.values.abs().numpy()
    smallest = values.min(initial=1.0)
    if smallest < 1:
        exponent = max(exponent, np.log(30) / np.log(smallest))
    sets, complex_valued = architecture.weight_sets, architecture.complex_valued
    exponents = exponent + 0.1 * rng.random(sets) * (sets > 1)

    def draw(*shape):
        real = rng.normal(size=shape)
        return real + 1j * rng.normal(size=shape) if complex_valued else real

    parameters = {"exponent": exponents, "step_size": draw(sets)}
    mixing = draw(sets, architecture.hidden_channels)
    norm = (values[None] ** exponents[:, None]).max(axis=1, initial=1)
    steps = np.abs(parameters["step_size"]) if architecture.ode else np.ones(sets)
    largest = np.abs(mixing).max(axis=1) * steps * norm
    mixing *= (growth / architecture.num_layers / largest)[:, None]
    parameters["channel_mixing"] = mixing
    for part in ("encoder", "decoder"):
        channels = getattr(architecture, f"{part}_channels")
        for i, (fan_in, fan_out) in enumerate(pairwise(channels)):
            parameters[f"{part}.{i}.weight"] = draw(fan_out, fan_in) / np.sqrt(fan_in)
            parameters[f"{part}.{i}.bias"] = draw(fan_out)
    nodes = len(laplacian)
    features = rng.normal(size=(nodes, architecture.in_channels))
    cotangent = rng.normal(size=(nodes, architecture.out_channels))
    return Case(laplacian, factors, architecture, parameters, features, cotangent, rng)
