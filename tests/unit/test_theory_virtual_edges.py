"""Theorem 4.1 on virtual edges, where it holds and where it does not, and the distances in it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from flode.spectral import (
    alternating_distances,
    graph_distances,
    virtual_edge_bound,
)
from flode.spectral.cycle import (
    cycle_adjacency,
)
from tests.unit.strategies import adjacencies, seeds, stable
from tests.unit.theory_graphs import (
    any_graphs,
    dense_sna,
    edges_to_matrix,
    path,
    power,
)

# Theorem 4.1: virtual edges ----------------------------------------------------------------------

fractions = st.one_of(st.sampled_from([1.0, 0.5, 0.05]), st.floats(0.02, 1))


@st.composite
def long_graphs(draw):
    """Paths, cycles and trees of long branches, where distances are large: bounds speak there."""
    rng = np.random.default_rng(draw(seeds))
    nodes = draw(st.integers(5, 40))
    reach = draw(st.sampled_from([1, 1, 2, 3]))
    matrix = np.zeros((nodes, nodes))
    for node in range(1, nodes):
        parent = node - rng.integers(1, min(reach, node) + 1)
        matrix[node, parent] = matrix[parent, node] = rng.uniform(0.5, 2)
    if draw(st.booleans()):
        matrix[0, -1] = matrix[-1, 0] = 1
    return sparse.csr_array(matrix)


@settings(stable, max_examples=80)
@given(any_graphs, fractions)
def test_virtual_edges_are_bounded_along_alternating_walks(matrix, exponent):
    """For 0 < α ≤ 1."""
    distance = alternating_distances(sparse.csr_array(matrix))
    entries = np.abs(power(dense_sna(matrix), exponent))
    assert np.all(entries <= virtual_edge_bound(distance, exponent) + 1e-10)
    assert_below_jacksons_bound(entries, distance, exponent)


@settings(stable, max_examples=80)
@given(st.one_of(adjacencies(symmetric=True), long_graphs()), fractions)
def test_virtual_edges_of_undirected_graphs_are_bounded_as_printed(matrix, exponent):
    distance, alternating = graph_distances(matrix), alternating_distances(matrix)
    entries = np.abs(power(dense_sna(matrix), exponent))
    assert np.all(entries <= virtual_edge_bound(distance, exponent) + 1e-10)
    assert_below_jacksons_bound(entries, distance, exponent)
    assert np.all(distance <= alternating + np.eye(len(entries)))
    odd = np.isin(distance, np.arange(1, len(entries), 2))
    assert np.array_equal(distance[odd], alternating[odd])


def assert_below_jacksons_bound(entries, distance, exponent):
    """``ω(π/d)`` with ω the modulus of continuity of sign(t)|t|^α − t on [−1, 1]; where α is small
    a bound of it, ``2(π/(2d))^α``."""
    far = np.isfinite(distance) & (distance >= 2)
    half = np.pi / (2 * distance[far].astype(float))
    bound = 2 * half**exponent
    if exponent > 0.95:
        largest = exponent ** (1 / (1 - exponent)) if exponent < 1 else 0
        half = np.minimum(half, largest)
        bound = 2 * half**exponent - 2 * half
    assert np.all(entries[far] <= bound + 1e-10)


@settings(stable, max_examples=60)
@given(any_graphs, st.floats(-0.5, 3))
def test_there_is_no_virtual_edge_where_no_alternating_walk_leads(matrix, exponent):
    distance = alternating_distances(sparse.csr_array(matrix))
    entries = power(dense_sna(matrix), exponent)
    scale = max(1.0, np.abs(entries).max())
    assert_allclose(entries[np.isinf(distance)], 0, atol=1e-9 * scale)


def literal_bound(distance, exponent):
    return (1 + np.pi**2 / 2) * (1 / (2 * (distance - 1))) ** exponent


def test_the_bound_by_hand():
    assert_allclose(virtual_edge_bound([2, 3, 10], 0.5), literal_bound(np.array([2, 3, 10]), 0.5))
    assert virtual_edge_bound(3, 1.0, norm=0.5) == pytest.approx((1 + np.pi**2 / 2) / 8)
    assert virtual_edge_bound([0, 1, np.inf], 0.5).tolist() == [np.inf, np.inf, 0]
    for exponent in (0, -1, 1.01):
        with pytest.raises(ValueError, match="0 < exponent <= 1"):
            virtual_edge_bound(3, exponent)


def test_the_bound_fails_for_exponents_above_one():
    """The ends of the path P_4 are 3 apart: 0.25 > 0.093 at α = 3."""
    entry = power(dense_sna(path(4)), 3)[0, 3]
    assert entry == pytest.approx(0.25)
    assert literal_bound(3, 3) == pytest.approx(0.0927, abs=1e-4)


def test_the_bound_fails_across_infinite_distance():
    """k → i, k → l and j → l: no directed path leads from i to j or back, yet |(L^½)_ij| = 0.14."""
    i, j, k, l = range(4)  # noqa: E741
    matrix = edges_to_matrix(4, (i, k), (l, k), (l, j))
    assert np.isinf(graph_distances(matrix)[[i, j], [j, i]]).all()
    entry = abs(power(dense_sna(matrix), 0.5)[i, j])
    assert entry == pytest.approx(0.1381, abs=1e-4)
    assert alternating_distances(matrix)[i, j] == 3


def test_the_bound_fails_across_a_long_detour():
    """The same edges, and a directed path from i to j of 1,100 edges: the entry does not see it."""
    length = 1100
    i, l, k, j = 0, 1, 2, length + 2  # noqa: E741
    detour = [i, *range(3, length + 2), j]
    matrix = edges_to_matrix(length + 3, (i, k), (l, k), (l, j))
    matrix[detour[:-1], detour[1:]] = 1
    assert graph_distances(matrix)[i, j] == length
    assert alternating_distances(matrix)[i, j] == 3
    entry = abs(power(dense_sna(matrix), 0.9)[i, j])
    assert entry > 0.0061 > literal_bound(length, 0.9)


def test_the_lemma_behind_the_bound_fails_for_a_constant():
    """f = 1 has modulus of continuity 0, but (UVᵀ)_ij ≠ 0 between the ends of P_4."""
    assert abs(power(dense_sna(path(4)), 0)[0, 3]) > 0.1


def test_an_even_polynomial_of_singular_values_is_no_polynomial_of_the_matrix():
    """Printed in its proof: degrees below d(i, j) leave (i, j) zero. x² does not, at d = 3."""
    assert abs(power(dense_sna(path(4)), 2)[0, 3]) > 0.1
    assert_allclose(np.linalg.matrix_power(dense_sna(path(4)), 2)[0, 3], 0)


def test_virtual_edges_grow_fewer_with_the_exponent_only_up_to_one():
    """Figure 3's caption: their number increases as α decreases. At α = 1 there are none."""
    laplacian = dense_sna(cycle_adjacency(60).toarray())
    distance = graph_distances(laplacian)
    counts = [
        int((np.abs(power(laplacian, exponent)[distance >= 2]) > 1e-4).sum())
        for exponent in (0.25, 0.5, 0.75, 1.0, 2.0)
    ]
    assert counts[0] >= counts[1] >= counts[2] > counts[3] == 0
    assert counts[4] > 0


def test_virtual_edges_need_not_grow_fewer_with_the_exponent():
    """As measured, not a theorem: an entry may pass through zero on its way."""
    edges = [(0, 3), (0, 5), (1, 2), (1, 4), (1, 5), (2, 5), (3, 5)]
    matrix = edges_to_matrix(6, *edges)
    laplacian = dense_sna(matrix + matrix.T)
    far = graph_distances(laplacian) >= 2
    counts = [
        int((np.abs(power(laplacian, exponent)[far]) > 1e-3).sum()) for exponent in (0.5, 0.75)
    ]
    assert counts[0] < counts[1]


# Distances ---------------------------------------------------------------------------------------


@settings(stable, max_examples=30)
@given(adjacencies(max_nodes=15))
def test_distances_are_first_powers_that_are_not_zero(matrix):
    dense = (matrix.toarray() > 0).astype(int)
    nodes = len(dense)
    expected, alternating = np.full((2, nodes, nodes), np.inf)
    walks = np.eye(nodes, dtype=int)
    for length in range(nodes + 1):
        expected[(walks > 0) & np.isinf(expected)] = length
        walks = (walks @ dense > 0).astype(int)
    walks = dense
    for length in range(1, 2 * nodes + 1, 2):
        alternating[(walks > 0) & np.isinf(alternating)] = length
        walks = (walks @ dense.T @ dense > 0).astype(int)
    assert_allclose(graph_distances(matrix), expected)
    assert_allclose(alternating_distances(matrix), alternating)


def test_stored_zeros_are_no_edges():
    stored = sparse.csr_array((np.array([1.0, 0.0]), ([0, 1], [1, 2])), shape=(3, 3))
    assert np.isinf(graph_distances(stored)[1, 2])
    assert np.isinf(alternating_distances(stored)[1, 2])
    assert stored.nnz == 2
