"""Small graphs, and matrices of them, for the tests of the paper's statements."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from flode.spectral import (
    factorize,
    symmetrically_normalize,
)
from tests.unit.strategies import adjacencies, seeds


def dense_sna(matrix):
    return symmetrically_normalize(sparse.csr_array(matrix)).toarray()


def power(laplacian, exponent):
    return factorize(sparse.csr_array(laplacian)).fractional_power(exponent).numpy()


def edges_to_matrix(nodes, *edges):
    matrix = np.zeros((nodes, nodes))
    for i, j in edges:
        matrix[i, j] = 1
    return matrix


def path(nodes):
    return np.eye(nodes, k=1) + np.eye(nodes, k=-1)


@st.composite
def weakly_balanced_graphs(draw):
    """Graphs that are weakly balanced, their balance drawn: rows and columns fall into blocks of
    equal sizes, and a block is a weight times a doubly stochastic matrix, so that k = 1."""
    rng = np.random.default_rng(draw(seeds))
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    weighted, cyclic = draw(st.booleans()), draw(st.booleans())
    blocks = np.repeat(np.arange(len(sizes)), sizes)
    nodes = len(blocks)
    column_blocks = np.roll(blocks, 1) if cyclic else rng.permutation(blocks)
    matrix = np.zeros((nodes, nodes))
    for block, size in enumerate(sizes):
        rows, columns = np.flatnonzero(blocks == block), np.flatnonzero(column_blocks == block)
        for _ in range(draw(st.integers(1, 3))):
            weight = rng.uniform(0.5, 2) if weighted else 1.0
            matrix[rows, columns[rng.permutation(size)]] += weight
    order = rng.permutation(nodes)
    return matrix[order][:, order]


@st.composite
def balanced_graphs(draw):
    """Sums of weighted directed cycles."""
    rng = np.random.default_rng(draw(seeds))
    nodes = draw(st.integers(1, 25))
    matrix = np.zeros((nodes, nodes))
    for length in draw(st.lists(st.integers(1, nodes), min_size=1, max_size=4)):
        cycle = rng.permutation(nodes)[:length]
        matrix[cycle, np.roll(cycle, 1)] += rng.uniform(0.5, 2)
    return matrix


@st.composite
def strongly_connected_graphs(draw):
    """Layers around a ring, each node leading to the next layer: the period is a multiple of the
    number of layers. Regular ones are weakly balanced; chance edges break that."""
    rng = np.random.default_rng(draw(seeds))
    layers, size = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    nodes = layers * size + (layers == 1)
    size = nodes // layers
    layer = np.repeat(np.arange(layers), size)
    complete = layer[:, None] == (layer + 1) % layers
    matrix = complete * 1.0
    if draw(st.booleans()):
        matrix *= rng.random((nodes, nodes)) < 0.8
    ring = np.argsort(np.arange(nodes) % size, kind="stable")
    matrix[np.roll(ring, -1), ring] = 1  # steps from layer to layer through every node
    if draw(st.booleans()):
        i, j = rng.integers(0, nodes, 2)
        matrix[i, j] = 1
    return matrix


any_graphs = st.one_of(
    adjacencies(max_nodes=40).map(sparse.csr_array.toarray),
    adjacencies(max_nodes=40, loops_everywhere=True).map(sparse.csr_array.toarray),
    strongly_connected_graphs(),
    weakly_balanced_graphs(),
    balanced_graphs(),
)
