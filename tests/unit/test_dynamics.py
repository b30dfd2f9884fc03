"""Exact solution and explicit Euler of the fractional equations, against dense formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import expm

from flode.spectral import (
    Dynamics,
    dominant_energy,
    factorize,
    normalized_dirichlet_energy,
    sna,
    symmetrically_normalize,
)
from tests.unit.strategies import adjacencies, seeds, stable

SIGNS = {"heat": -1, "schroedinger": 1j}
equations = st.sampled_from(sorted(SIGNS))
exponents = st.sampled_from([-0.5, 0.3, 1.0, 2.0])


def problem(matrix, seed, complex_valued, exponent, tolerance=1e-3):
    """SNA, its fractional power (dense), an initial state of norm 1, W, and their dynamics."""
    laplacian = symmetrically_normalize(matrix)
    factors = factorize(laplacian, tolerance=tolerance)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(matrix.shape[0], 2))
    mixing = rng.normal(size=2)
    if complex_valued:
        x, mixing = x + 1j * rng.normal(size=x.shape), mixing + 1j * rng.normal(size=2)
    x = x / np.linalg.norm(x)
    power = factors.fractional_power(exponent).numpy()
    return laplacian, power, x, mixing, Dynamics.of(factors, x, exponent)


@settings(stable, max_examples=40)
@given(adjacencies(max_nodes=12), seeds, st.booleans(), exponents, equations)
def test_the_exact_solution_is_the_papers(matrix, seed, complex_valued, exponent, equation):
    """vec x(t) = exp(s t W ⊗ L^α) vec x₀."""
    _, power, x, mixing, dynamics = problem(matrix, seed, complex_valued, exponent)
    times = [0.0, 0.3, 2.0]
    states = dynamics.basis @ dynamics.exact(mixing, times, equation)
    for time, state in zip(times, states, strict=True):
        flow = expm(SIGNS[equation] * time * np.kron(np.diag(mixing), power))
        expected = (flow @ x.flatten(order="F")).reshape(x.shape, order="F")
        assert_allclose(state, expected / np.linalg.norm(expected), atol=1e-9)


@settings(stable, max_examples=40)
@given(adjacencies(max_nodes=12), seeds, st.booleans(), exponents, equations)
def test_euler_is_the_scheme_step_by_step(matrix, seed, complex_valued, exponent, equation):
    _, power, x, mixing, dynamics = problem(matrix, seed, complex_valued, exponent)
    step, counts = 0.1, [0, 1, 7]
    states = dynamics.basis @ dynamics.euler(mixing, step, counts, equation)
    for count, state in zip(counts, states, strict=True):
        expected = x
        for _ in range(count):
            expected = expected + SIGNS[equation] * step * (power @ expected) @ np.diag(mixing)
        assert_allclose(state, expected / np.linalg.norm(expected), atol=1e-9)


@settings(stable, max_examples=30)
@given(adjacencies(), seeds, st.booleans())
def test_energies_in_coordinates_are_those_of_the_nodes(matrix, seed, complex_valued):
    laplacian, _, x, mixing, dynamics = problem(matrix, seed, complex_valued, 1.0, 1e-6)
    basis = dynamics.basis
    assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-10)
    assert_allclose(basis @ dynamics.start, x, atol=1e-10)
    states = dynamics.exact(mixing, [0.0, 1.0])
    expected = [normalized_dirichlet_energy(laplacian, basis @ state) for state in states]
    assert_allclose(dynamics.energies(states), expected, atol=1e-6)


@pytest.mark.parametrize("edges", [[[0, 1, 1], [1, 0, 2]], [[0, 1, 2, 1], [1, 0, 1, 2]]])
@pytest.mark.parametrize("mixing", [-40.0, 40.0])
def test_long_times_neither_overflow_nor_vanish(edges, mixing):
    """exp(40 · 100) is no double."""
    dynamics = Dynamics.of(factorize(sna(np.array(edges), None, 3)), np.ones((3, 1)), 1)
    states = dynamics.exact([mixing], [100.0])
    assert np.linalg.norm(states) == pytest.approx(1)
    assert np.linalg.norm(dynamics.euler([mixing], 0.1, [10**4])) == pytest.approx(1)


def test_a_state_without_the_dominant_frequency_stays_without_it():
    """On K₂, x₀ = (1, −1) has no part in λ = 1, which outgrows it by exp(2 · 1000)."""
    factors = factorize(sna(np.array([[0, 1], [1, 0]]), None, 2))
    dynamics = Dynamics.of(factors, np.array([[1.0], [-1.0]]), 1)
    dynamics.start[np.abs(dynamics.start) < 1e-12] = 0
    for states in (dynamics.exact([-1.0], [1000.0]), dynamics.euler([-1.0], 0.1, [10**4])):
        assert dynamics.energies(states) == pytest.approx([1])


def test_what_is_small_at_first_outgrows_the_rest():
    """K₄ with loops, L = J/4: what lies outside its range does not decay."""
    nodes = np.arange(4)
    laplacian = sna(np.stack([nodes.repeat(4), np.tile(nodes, 4)]), None, 4)
    x = np.array([[0.5, 1e-7], [0.5, -1e-7], [0.5, 0], [0.5, 0]])
    dynamics = Dynamics.of(factorize(laplacian), x, 1)
    assert_allclose(dynamics.basis @ dynamics.start, x / np.linalg.norm(x), atol=1e-15)
    assert_allclose(dynamics.basis.T @ dynamics.basis, np.eye(dynamics.basis.shape[1]), atol=1e-14)
    energies = dynamics.energies(dynamics.exact([1.0, 1.0], [0.0, 40.0]))
    assert energies == pytest.approx([0, 0.5], abs=1e-6)


def test_a_limit_by_hand():
    """Path of three nodes: λ = 1, 0, −1."""
    eigenvalues = np.array([1.0, 0.0, -1.0])
    assert dominant_energy(eigenvalues, [-1.0], 0.5) == 0
    assert dominant_energy(eigenvalues, [1.0, 3.0], 2) == 1
    assert dominant_energy(np.array([1, 0, -1]), [1], -1) == 1  # of whole numbers too
    assert dominant_energy(eigenvalues, [0.5 - 2j], -1, "schroedinger") == 0
    # Both ends grow alike, and all of them where nothing grows: the limit depends on x₀.
    assert np.isnan(dominant_energy(eigenvalues, [-1.0, 1.0], 1))
    assert np.isnan(dominant_energy(eigenvalues, [2.0], 1, "schroedinger"))


def test_what_cannot_be_solved_is_named():
    factors = factorize(sna(np.array([[0, 1], [1, 0]]), None, 2))
    for x, message in [
        (np.zeros((2, 1)), r"the norm of x is 0\.0"),
        (np.full((2, 1), np.nan), "the norm of x is nan"),
        (np.ones((3, 1)), r"x has shape \(3, 1\); allowed: \(2, channels\)"),
        (np.ones(2), r"x has shape \(2,\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            Dynamics.of(factors, x, 1)
    dynamics = Dynamics.of(factors, np.ones((2, 1)), 1)
    with pytest.raises(ValueError, match=r"mixing has shape \(2,\); allowed: \(1,\)"):
        dynamics.exact([1.0, 2.0], [1.0])
    for times in ([1.0, 0.5], [-1.0]):
        with pytest.raises(ValueError, match=r"times are .*; allowed are increasing ones from 0"):
            dynamics.exact([1.0], times)
    with pytest.raises(ValueError, match=r"counts are \[2, 1\]"):
        dynamics.euler([1.0], 0.1, [2, 1])
    with pytest.raises(ValueError, match="equation is 'wave'; allowed are heat, schroedinger"):
        dominant_energy([1, 0], [1.0], 1, "wave")
    with pytest.raises(ValueError, match="equation is 'wave'; allowed are heat, schroedinger"):
        dynamics.euler([1.0], 0.1, [1], "wave")
