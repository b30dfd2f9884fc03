"""The paper's statements on the SNA's spectrum, balance and virtual edges, as tests.

Statements that fail as printed are tested under the conditions where they hold, and keep their
counterexample. `a_ij` is the weight of what node i gathers from node j.
"""

from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import schur
from scipy.sparse.csgraph import connected_components

from flode.spectral import (
    adjacency,
    alternating_distances,
    factorize,
    graph_distances,
    is_balanced,
    is_weakly_balanced,
    node_homophily,
    normalized_dirichlet_energy,
    symmetrically_normalize,
    virtual_edge_bound,
)
from flode.spectral.cycle import (
    cycle_adjacency,
    cycle_eigenvalue,
    cycle_eigenvectors,
    cycle_fractional_power,
    cycle_labels,
)
from tests.unit.strategies import adjacencies, seeds, stable

#: An eigenvalue on the unit circle is perfectly conditioned, as ‖L‖ = 1; no drawn graph has one
#: between rounding and this gap.
GAP = 1e-8


def dense_sna(matrix):
    return symmetrically_normalize(sparse.csr_array(matrix)).toarray()


def has_eigenvalue(laplacian, value):
    return bool(np.abs(np.linalg.eigvals(laplacian) - value).min() < GAP)


def power(laplacian, exponent):
    return factorize(sparse.csr_array(laplacian)).fractional_power(exponent).numpy()


def edges_to_matrix(nodes, *edges):
    matrix = np.zeros((nodes, nodes))
    for i, j in edges:
        matrix[i, j] = 1
    return matrix


def path(nodes):
    return np.eye(nodes, k=1) + np.eye(nodes, k=-1)


def edge_sum(matrix, x):
    """The Dirichlet energy by its definition, over edges."""
    rows, columns = np.nonzero(matrix)
    to, out = matrix.sum(axis=1)[rows], matrix.sum(axis=0)[columns]
    return 0.25 * np.sum(matrix[rows, columns] * (x[rows] / to**0.5 - x[columns] / out**0.5) ** 2)


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


def period(matrix):
    """Greatest common divisor of all cycles' lengths of a strongly connected graph."""
    level = {0: 0}
    queue, found = [0], 0
    for node in queue:
        for other in np.flatnonzero(matrix[node]):
            if other in level:
                found = gcd(found, level[node] + 1 - level[other])
            else:
                level[other] = level[node] + 1
                queue.append(other)
    return found


# Proposition 3.3: the unit disc ------------------------------------------------------------------


@settings(stable, max_examples=80)
@given(any_graphs, seeds)
def test_the_numerical_range_lies_in_the_unit_disc(matrix, seed):
    laplacian = dense_sna(matrix)
    assert np.abs(np.linalg.eigvals(laplacian)).max() <= 1 + 1e-10
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(len(matrix), 20)) + 1j * rng.normal(size=(len(matrix), 20))
    form = np.abs(np.einsum("ik,ij,jk->k", x.conj(), laplacian, x))
    assert np.all(form <= np.linalg.norm(x, axis=0) ** 2 * (1 + 1e-12))
    assert np.linalg.norm(laplacian, 2) == pytest.approx(1.0 if matrix.any() else 0.0)


def test_the_numerical_range_of_a_directed_graph_is_not_in_an_interval():
    """Printed in the proof: W(L) ⊂ [−1, 1]. The directed triangle's eigenvalues are complex."""
    eigenvalues = np.linalg.eigvals(dense_sna(edges_to_matrix(3, (0, 1), (1, 2), (2, 0))))
    assert_allclose(np.sort(np.abs(eigenvalues.imag)), [0, 3**0.5 / 2, 3**0.5 / 2], atol=1e-12)


# Proposition 3.5: eigenvalues 1 and −1 -----------------------------------------------------------


@settings(stable, max_examples=150)
@given(any_graphs)
def test_one_is_an_eigenvalue_exactly_of_weakly_balanced_graphs(matrix):
    """Where every in-degree is positive; otherwise in one direction only."""
    one = has_eigenvalue(dense_sna(matrix), 1)
    if matrix.sum(axis=1).all():
        assert one == is_weakly_balanced(matrix)
    else:
        assert is_weakly_balanced(matrix)


@settings(stable, max_examples=40)
@given(balanced_graphs())
def test_balanced_graphs_are_weakly_balanced_with_k_the_roots_of_degrees(matrix):
    assert is_balanced(matrix)
    assert is_weakly_balanced(matrix)
    roots = np.sqrt(matrix.sum(axis=1))
    assert_allclose(dense_sna(matrix) @ roots, roots, atol=1e-12)


@settings(stable, max_examples=40)
@given(weakly_balanced_graphs())
def test_weakly_balanced_graphs_by_construction(matrix):
    assert is_weakly_balanced(matrix)
    assert_allclose(dense_sna(matrix).sum(axis=1), 1, atol=1e-12)
    assert is_balanced(matrix) == np.allclose(matrix.sum(axis=0), matrix.sum(axis=1))


def test_one_is_no_eigenvalue_of_an_edge_though_the_definition_calls_it_weakly_balanced():
    """1 → 2: node 1 has no in-degree, k = (1, 1) meets the printed condition, and L² = 0."""
    matrix = edges_to_matrix(2, (1, 0))
    assert is_weakly_balanced(matrix)
    laplacian = dense_sna(matrix)
    assert not (laplacian @ laplacian).any()
    assert not has_eigenvalue(laplacian, 1)


def test_a_graph_that_is_strongly_connected_and_not_weakly_balanced():
    matrix = edges_to_matrix(3, (0, 1), (0, 2), (1, 0), (1, 2), (2, 0))
    assert connected_components(matrix, connection="strong")[0] == 1
    assert not is_weakly_balanced(matrix)
    assert np.linalg.eigvals(dense_sna(matrix)).real.max() == pytest.approx(0.9808, abs=1e-4)


@settings(stable, max_examples=150)
@given(strongly_connected_graphs())
def test_minus_one_is_an_eigenvalue_exactly_of_weakly_balanced_graphs_of_even_period(matrix):
    assert connected_components(matrix, connection="strong")[0] == 1
    expected = is_weakly_balanced(matrix) and period(matrix) % 2 == 0
    assert has_eigenvalue(dense_sna(matrix), -1) == expected


def test_minus_one_needs_a_period_of_the_whole_graph():
    """A triangle and a 2-cycle, apart: weakly balanced, and −1 comes of the 2-cycle alone."""
    triangle = edges_to_matrix(3, (0, 1), (1, 2), (2, 0))
    assert not has_eigenvalue(dense_sna(triangle), -1)
    both = sparse.block_diag([triangle, path(2)]).toarray()
    assert has_eigenvalue(dense_sna(both), -1)


# Proposition 3.6: the energy's zeros and range ---------------------------------------------------


@settings(stable, max_examples=100)
@given(any_graphs)
def test_the_quadratic_form_vanishes_only_where_one_is_an_eigenvalue(matrix):
    laplacian = dense_sna(matrix)
    values, vectors = np.linalg.eigh(np.eye(len(matrix)) - (laplacian + laplacian.T) / 2)
    assert values[0] > -1e-12
    assert (values[0] < GAP) == has_eigenvalue(laplacian, 1)
    lowest = vectors[:, 0]
    assert normalized_dirichlet_energy(laplacian, lowest) == pytest.approx(values[0] / 2, abs=1e-12)
    if values[0] < GAP:
        assert_allclose(laplacian @ lowest, lowest, atol=1e-6)


@settings(stable, max_examples=60)
@given(any_graphs, seeds)
def test_the_normalised_energy_lies_between_zero_and_half_the_norm(matrix, seed):
    laplacian = dense_sna(matrix)
    identity = np.eye(len(matrix))
    highest = np.linalg.eigh(identity - (laplacian + laplacian.T) / 2)[1][:, -1:]
    rng = np.random.default_rng(seed)
    draws = rng.normal(size=(len(matrix), 6)) + 1j * rng.normal(size=(len(matrix), 6))
    half = np.linalg.norm(identity - laplacian, 2) / 2
    for x in (draws, highest):
        assert -1e-12 <= normalized_dirichlet_energy(laplacian, x) <= half + 1e-12
    if np.array_equal(laplacian, laplacian.T):  # attained on an undirected graph
        assert normalized_dirichlet_energy(laplacian, highest) == pytest.approx(half)


def test_the_edge_sum_of_a_weakly_balanced_graph_may_not_vanish():
    """Printed: an x ≠ 0 of zero energy exists if and only if the graph is weakly balanced. Node 3,
    of zero in-degree, feeds node 0 of a triangle with λ_PF < 1: the definition then holds, and the
    edge sum is positive definite."""
    matrix = edges_to_matrix(4, (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (0, 3))
    assert not matrix[3].any()
    assert is_weakly_balanced(matrix)
    basis = np.eye(4)
    twice = [
        [edge_sum(matrix, a + b) - edge_sum(matrix, a) - edge_sum(matrix, b) for b in basis]
        for a in basis
    ]
    assert np.linalg.eigvalsh(np.array(twice))[0] > 0.01


# Lemma on normal matrices ------------------------------------------------------------------------


@st.composite
def normal_laplacians(draw):
    """SNAs of circulant digraphs, undirected graphs, and their Kronecker products."""
    rng = np.random.default_rng(draw(seeds))
    nodes = draw(st.integers(2, 12))
    weights = rng.uniform(0.5, 2, nodes) * (rng.random(nodes) < 0.5)
    weights[rng.integers(nodes)] = 1
    circulant = np.stack([np.roll(weights, i) for i in range(nodes)])
    symmetric = draw(adjacencies(max_nodes=5, symmetric=True)).toarray()
    kinds = {"circulant": circulant, "symmetric": symmetric, "both": np.kron(circulant, symmetric)}
    return dense_sna(kinds[draw(st.sampled_from(list(kinds)))])


def eigenvalue_calculus(laplacian, exponent):
    """``V |Λ|^α exp(iΘ) Vᴴ``, eigenvalues below the numerical rank left out."""
    triangle, vectors = schur(laplacian, output="complex")
    eigenvalues = np.diag(triangle)
    kept = np.abs(eigenvalues) > 1e-6
    moduli, phases = np.abs(eigenvalues[kept]), np.angle(eigenvalues[kept])
    vectors = vectors[:, kept]
    return vectors * (moduli**exponent * np.exp(1j * phases)) @ vectors.conj().T


@settings(stable, max_examples=80)
@given(normal_laplacians(), st.floats(-1, 3))
def test_on_normal_matrices_singular_values_act_as_moduli_of_eigenvalues(laplacian, exponent):
    assert_allclose(laplacian @ laplacian.T, laplacian.T @ laplacian, atol=1e-12)
    found = power(laplacian, exponent)
    expected = eigenvalue_calculus(laplacian, exponent)
    assert_allclose(found, expected, atol=1e-8 * max(1, np.abs(expected).max()))


def test_the_two_calculi_differ_off_normal_matrices():
    laplacian = dense_sna(edges_to_matrix(3, (0, 1), (0, 2), (1, 0), (1, 2), (2, 0)))
    values, vectors = np.linalg.eig(laplacian)
    moduli = np.abs(values) ** 0.5 * np.exp(1j * np.angle(values))
    by_eigenvalues = vectors * moduli @ np.linalg.inv(vectors)
    assert np.abs(power(laplacian, 0.5) - by_eigenvalues).max() > 0.05


def test_the_normal_matrix_lemma_needs_the_conjugate_phase_and_atan2_of_imaginary_and_real():
    """M = L Σ Rᴴ with L = V and R = V exp(−iΘ), θ = atan2(Im λ, Re λ), on the directed C_3; as
    printed, exp(iΘ), neither order of atan2's arguments gives M."""
    laplacian = dense_sna(edges_to_matrix(3, (0, 1), (1, 2), (2, 0)))
    triangle, vectors = schur(laplacian, output="complex")
    values = np.diag(triangle)

    def product(phases):
        return vectors * np.abs(values) @ (vectors * np.exp(1j * phases)).conj().T

    right, swapped = (
        np.arctan2(values.imag, values.real),
        np.arctan2(values.real, values.imag),
    )
    assert_allclose(product(-right), laplacian, atol=1e-12)
    assert_allclose(product(right), laplacian.T, atol=1e-12)  # as printed, the graph reversed
    for phases in (right, swapped, -swapped):
        assert np.abs(product(phases) - laplacian).max() > 0.5


# Theorem 4.1: virtual edges ----------------------------------------------------------------------

fractions = st.one_of(st.sampled_from([1.0, 0.5, 0.05]), st.floats(0.02, 1))


@settings(stable, max_examples=80)
@given(any_graphs, fractions)
def test_virtual_edges_are_bounded_along_alternating_walks(matrix, exponent):
    """For 0 < α ≤ 1; the sharper bound is what Jackson's theorem gives."""
    distance = alternating_distances(sparse.csr_array(matrix))
    entries = np.abs(power(dense_sna(matrix), exponent))
    assert np.all(entries <= virtual_edge_bound(distance, exponent) + 1e-10)
    far = np.isfinite(distance) & (distance >= 3)
    reach = np.pi / distance[far]
    assert np.all(entries[far] <= np.maximum(2 * (reach / 2) ** exponent - reach, 0) + 1e-10)


@settings(stable, max_examples=80)
@given(adjacencies(symmetric=True), fractions)
def test_virtual_edges_of_undirected_graphs_are_bounded_as_printed(matrix, exponent):
    distance = graph_distances(matrix)
    entries = np.abs(power(dense_sna(matrix), exponent))
    assert np.all(entries <= virtual_edge_bound(distance, exponent) + 1e-10)
    assert np.all(distance <= alternating_distances(matrix) + np.eye(len(entries)))


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


# The cycle graph ---------------------------------------------------------------------------------

cycle_sizes = st.integers(3, 40)


@settings(stable, max_examples=40)
@given(cycle_sizes)
def test_frequencies_of_the_cycle(nodes):
    laplacian = dense_sna(cycle_adjacency(nodes))
    eigenvalues = [cycle_eigenvalue(nodes, j) for j in range(nodes)]
    assert_allclose(np.sort(eigenvalues), np.linalg.eigvalsh(laplacian), atol=1e-12)
    for j in range(nodes):
        real, imaginary = cycle_eigenvectors(nodes, j)
        wave = np.exp(2j * np.pi * j * np.arange(nodes) / nodes) / np.sqrt(nodes)
        assert_allclose(real + 1j * imaginary, wave, atol=1e-12)
        assert_allclose(laplacian @ wave, np.cos(2 * np.pi * j / nodes) * wave, atol=1e-12)
        assert imaginary.any() == (j not in (0, nodes / 2))


@settings(stable, max_examples=40)
@given(cycle_sizes, st.floats(-1, 3))
def test_powers_of_the_cycle(nodes, exponent):
    expected = power(dense_sna(cycle_adjacency(nodes)), exponent)
    found = cycle_fractional_power(nodes, exponent)
    assert_allclose(found, expected, atol=1e-9 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("exponent", [0.25, 0.5, 1.0, 2.0])
def test_powers_of_c8_by_hand(exponent):
    """Only odd distances: (1 ± 2^((1−α)/2)) / 4, negative across distance 3 where α < 1."""
    row = cycle_fractional_power(8, exponent)[0]
    near, far = (1 + 2 ** ((1 - exponent) / 2)) / 4, (1 - 2 ** ((1 - exponent) / 2)) / 4
    assert_allclose(row, [0, near, 0, far, 0, far, 0, near], atol=1e-14)


@settings(stable, max_examples=40)
@given(cycle_sizes)
def test_each_frequency_favours_a_homophily(nodes):
    """1 at the lowest, 0 at the highest, 1/2 in the middle: 1 − 2j/N."""
    for j in range(nodes // 2 + 1):
        homophily = node_homophily(cycle_adjacency(nodes), cycle_labels(nodes, j))
        assert homophily == pytest.approx(1 - 2 * j / nodes)


@pytest.mark.parametrize("nodes", [4, 8, 16])
def test_labels_of_the_middle_frequency_are_the_papers(nodes):
    real, imaginary = cycle_eigenvectors(nodes, nodes // 4)
    total = real + imaginary
    assert_allclose(total * np.sqrt(nodes), np.tile([1, 1, -1, -1], nodes // 4), atol=1e-12)
    assert_allclose(np.sign(total), cycle_labels(nodes, nodes // 4))
    assert node_homophily(cycle_adjacency(nodes), np.sign(total)) == 0.5


def test_a_cycle_has_three_nodes():
    with pytest.raises(ValueError, match="nodes is 2; a cycle has at least 3"):
        cycle_adjacency(2)


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


def test_balance_of_an_empty_graph():
    assert is_balanced(adjacency(np.zeros((2, 0), dtype=int), None, 2))
    assert is_weakly_balanced(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="0 nodes; at least 1"):
        is_weakly_balanced(np.zeros((0, 0)))
