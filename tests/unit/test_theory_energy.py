"""Where Dirichlet energy vanishes, and that a GCN oversmooths (paper, Section 3 and Appendix)."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from flode.spectral import normalized_dirichlet_energy, symmetrically_normalize
from tests.unit.strategies import adjacencies, seeds, stable


@settings(stable, max_examples=40)
@given(adjacencies(2, symmetric=True, loops_everywhere=True), seeds)
def test_energy_vanishes_on_multiples_of_root_degree_alone(matrix, seed):
    """On a connected undirected graph; other states have at least half of the spectral gap."""
    matrix = sparse.csr_array(matrix + np.roll(np.eye(matrix.shape[0]), 1, axis=1))
    matrix = sparse.csr_array(matrix + matrix.T)
    laplacian = symmetrically_normalize(matrix)
    root = np.sqrt(matrix.sum(axis=0))[:, None]
    assert normalized_dirichlet_energy(laplacian, root * [[1.0, -2j]]) == pytest.approx(0, abs=1e-9)
    second = np.linalg.eigvalsh(laplacian.toarray())[-2]
    x = np.random.default_rng(seed).normal(size=(len(root), 1))
    x = x / np.linalg.norm(x)
    away = 1 - (root.T @ x).item() ** 2 / np.square(root).sum()
    bound = (1 - second) / 2 * away
    assert bound > 0
    assert normalized_dirichlet_energy(laplacian, x) >= bound - 1e-12


@settings(stable, max_examples=40)
@given(adjacencies(1, 25, symmetric=False, loops_everywhere=True), st.booleans())
def test_energy_can_vanish_where_one_is_an_eigenvalue_and_nowhere_else(matrix, balanced):
    """Proposition rayleigh_quotient_directed_sna, no degree being zero. The least energy is half of
    the least eigenvalue of the symmetric part of I − L."""
    if balanced:  # a graph and its reverse on two copies of the nodes: every degree in = out
        reverse = sparse.csr_array(matrix.T)
        matrix = sparse.block_array([[None, matrix], [reverse, None]], format="csr")
    laplacian = symmetrically_normalize(matrix).toarray()
    least, vectors = np.linalg.eigh(np.eye(len(laplacian)) - (laplacian + laplacian.T) / 2)
    energy = normalized_dirichlet_energy(laplacian, vectors[:, :1])
    assert energy == pytest.approx(least[0] / 2, abs=1e-12)
    distance = np.linalg.svd(np.eye(len(laplacian)) - laplacian, compute_uv=False)[-1]
    assume(distance < 1e-12 or distance > 1e-5)
    assert (energy < 1e-13) == (distance < 1e-12)
    assert not balanced or energy < 1e-13


@settings(stable, max_examples=40)
@given(adjacencies(2, 30, symmetric=True, loops_everywhere=True), seeds)
def test_a_gcn_without_residual_oversmooths_exponentially(matrix, seed):
    """``x ← L x W`` on a connected undirected graph with self-loops: energy ≤ C |λ₂|^(2t)."""
    cycle = np.roll(np.eye(matrix.shape[0]), 1, axis=1)
    laplacian = symmetrically_normalize(matrix + cycle + cycle.T).toarray()
    eigenvalues, vectors = np.linalg.eigh(laplacian)
    second = np.abs(eigenvalues[:-1]).max()
    assert second < 1
    rng = np.random.default_rng(seed)
    x, mixing = rng.normal(size=(len(laplacian), 3)), rng.normal(size=3)
    constant = np.max(np.square(x).sum(axis=0) / np.square(vectors[:, -1] @ x))
    for layers in range(60):
        energy = normalized_dirichlet_energy(laplacian, x)
        assert -1e-12 <= energy <= constant * second ** (2 * layers) + 1e-12
        x = laplacian @ x * mixing
        x = x / np.linalg.norm(x)


@settings(stable, max_examples=40)
@given(adjacencies(2, 15, symmetric=False, loops_everywhere=True), seeds)
def test_a_gcn_on_a_strongly_connected_aperiodic_graph_tends_to_the_least_frequency(matrix, seed):
    """``(1 − λ_N) / 2``, mostly more than 0: eigenvalues of L below λ_N = λ_PF in modulus die."""
    cycle = np.roll(np.eye(matrix.shape[0]), 1, axis=1)
    laplacian = symmetrically_normalize(matrix + cycle).toarray()
    eigenvalues = np.linalg.eigvals(laplacian)
    perron = np.abs(eigenvalues).max()
    assert eigenvalues.real.max() == pytest.approx(perron)
    rest = np.sort(np.abs(eigenvalues))[-2] / perron
    assume(rest < 0.95)
    rng = np.random.default_rng(seed)
    x, mixing = rng.normal(size=(len(laplacian), 3)), rng.normal(size=3)
    for _ in range(int(25 / -np.log(rest)) + 1 if rest > 0 else 2):
        x = laplacian @ x * mixing
        x = x / np.linalg.norm(x)
    energy = normalized_dirichlet_energy(laplacian, x)
    assert energy == pytest.approx((1 - perron) / 2, abs=1e-6)
