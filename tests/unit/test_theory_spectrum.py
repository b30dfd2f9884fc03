"""The paper's statements on the SNA's spectrum and on balance, as tests.

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
    is_balanced,
    is_weakly_balanced,
    normalized_dirichlet_energy,
)
from tests.unit.strategies import adjacencies, seeds, stable
from tests.unit.theory_graphs import (
    any_graphs,
    balanced_graphs,
    dense_sna,
    edges_to_matrix,
    path,
    power,
    strongly_connected_graphs,
    weakly_balanced_graphs,
)

#: An eigenvalue on the unit circle is perfectly conditioned, as ‖L‖ = 1; no drawn graph has one
#: between rounding and this gap.
GAP = 1e-8


def has_eigenvalue(laplacian, value):
    return bool(np.abs(np.linalg.eigvals(laplacian) - value).min() < GAP)


def edge_sum(matrix, x):
    """The Dirichlet energy by its definition, over edges."""
    rows, columns = np.nonzero(matrix)
    to, out = matrix.sum(axis=1)[rows], matrix.sum(axis=0)[columns]
    return 0.25 * np.sum(matrix[rows, columns] * (x[rows] / to**0.5 - x[columns] / out**0.5) ** 2)


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


def test_balance_of_an_empty_graph():
    assert is_balanced(adjacency(np.zeros((2, 0), dtype=int), None, 2))
    assert is_weakly_balanced(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="0 nodes; at least 1"):
        is_weakly_balanced(np.zeros((0, 0)))
