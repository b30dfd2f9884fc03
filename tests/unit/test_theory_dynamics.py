"""Theorems of the paper's Section 5 and Appendix on what Dirichlet energy tends to, on random
graphs: each under the conditions where it holds. `test_theory_printed` has those where it fails."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from flode.spectral import (
    Dynamics,
    dominant_energy,
    factorize,
    symmetrically_normalize,
)
from tests.unit.strategies import adjacencies, seeds, stable

equations = st.sampled_from(["heat", "schroedinger"])
positive = st.sampled_from([0.3, 0.5, 1.0, 2.0, 3.0])
negative = st.sampled_from([-0.3, -0.5, -1.0])
undirected = adjacencies(2, 30, symmetric=True)

#: A frequency counts as outgrown once its amplitude has shrunk by exp(−25) beside the dominant.
OUTGROWN = 25


def pow_(eigenvalues, exponent):
    """The paper's f_α: sign(λ)|λ|^α, for complex λ its generalisation."""
    kept = np.abs(eigenvalues) > 0
    return np.where(kept, eigenvalues * np.abs(np.where(kept, eigenvalues, 1)) ** (exponent - 1), 0)


def gap(growth, frequencies):
    """How much faster than all frequencies of other energies the dominant one grows.

    ``growth`` is ``(N, K)``, ``frequencies`` ``(N,)``: real parts of eigenvalues of L.
    """
    dominant = growth.max(axis=1).argmax()
    others = np.abs(frequencies - frequencies[dominant]) > 1e-7
    return growth.max() - growth[others].max(initial=-np.inf)


def draw_mixing(rng, equation):
    """A real W for heat, a complex one for Schrödinger, norm 1: and what the theorems sort by."""
    mixing = rng.normal(size=3) + rng.choice([-1, 0, 1])
    if equation == "schroedinger":
        mixing = rng.normal(size=3) + 1j * mixing
    mixing = mixing / np.abs(mixing).max()
    return mixing, np.sort(mixing.imag if equation == "schroedinger" else mixing)


def spectral_problem(matrix, seed, exponent, equation):
    """Everything the theorems on undirected graphs speak of."""
    assume(matrix.nnz)
    laplacian = symmetrically_normalize(matrix)
    eigenvalues = np.linalg.eigvalsh(laplacian.toarray())
    # Around the numerical rank, rounding decides what counts as zero.
    small = np.abs(eigenvalues) < (1e-3 if exponent < 0 else 1e-6)
    assume(np.all(np.abs(eigenvalues[small]) < 1e-9))
    eigenvalues[small] = 0
    rng = np.random.default_rng(seed)
    mixing, ordered = draw_mixing(rng, equation)
    dynamics = Dynamics.of(factorize(laplacian), rng.normal(size=(len(eigenvalues), 3)), exponent)
    return eigenvalues, mixing, ordered, dynamics


def printed_limit(eigenvalues, ordered, exponent):
    """The limit as the theorems print it, and whether their tacit conditions hold: L has a negative
    eigenvalue (so it is without self-loops, where its trace is 0), and the two sides differ."""
    if exponent > 0:
        low, high = eigenvalues[0], eigenvalues[-1]
    else:
        assume(np.any(eigenvalues < 0))
        low, high = eigenvalues[eigenvalues < 0].max(), eigenvalues[eigenvalues > 0].min()
    assume(low < -1e-6)
    left, right = ordered[-1] * pow_(low, exponent), ordered[0] * pow_(high, exponent)
    return (1 - low) / 2 if left < right else (1 - high) / 2


# Undirected graphs: Theorem frequency_dominance_normal_sna, in full main_theorem_heat_appendix ----


@settings(stable, max_examples=120)
@given(undirected, seeds, positive | negative, equations)
def test_on_undirected_graphs_the_theorems_inequality_decides_the_limit(
    matrix, seed, exponent, equation
):
    """α > 0: lowest or highest frequency; α < 0: the frequency nearest to 1 from below or above."""
    eigenvalues, mixing, ordered, dynamics = spectral_problem(matrix, seed, exponent, equation)
    limit = printed_limit(eigenvalues, ordered, exponent)
    rates = -mixing if equation == "heat" else 1j * mixing
    margin = gap(np.multiply.outer(pow_(eigenvalues, exponent), rates).real, eigenvalues)
    assume(margin > 1e-6)
    (energy,) = dynamics.energies(dynamics.exact(mixing, [OUTGROWN / margin], equation))
    assert energy == pytest.approx(limit, abs=1e-6)
    assert dominant_energy(eigenvalues, mixing, exponent, equation) == pytest.approx(limit)


@settings(stable, max_examples=80)
@given(undirected, seeds, positive | negative)
def test_explicit_euler_of_the_heat_equation_has_the_same_limit(matrix, seed, exponent):
    """Under h ‖W‖ ‖L^α‖ < 1; the paper's h ‖W‖ < 1 says the same for α > 0 only, and its
    inequality for α < 0 has its sides exchanged (see `test_theory_printed`)."""
    eigenvalues, mixing, ordered, dynamics = spectral_problem(matrix, seed, exponent, "heat")
    limit = printed_limit(eigenvalues, ordered, exponent)
    powers = pow_(eigenvalues, exponent)
    step = 0.99 / np.abs(powers).max()
    factors = np.abs(1 - step * np.multiply.outer(powers, mixing))
    margin = gap(np.log(np.maximum(factors, 1e-300)), eigenvalues)
    assume(margin > 1e-6)
    (energy,) = dynamics.energies(dynamics.euler(mixing, step, [int(OUTGROWN / margin) + 1]))
    assert energy == pytest.approx(limit, abs=1e-6)


@settings(stable, max_examples=80)
@given(undirected, seeds, positive | negative)
def test_explicit_euler_of_the_schroedinger_equation_has_the_same_limit(matrix, seed, exponent):
    """Under the proof's step, h < ε / ‖W‖² with the gap ε, times ‖L^α‖^−2 that α < 0 needs."""
    equation = "schroedinger"
    eigenvalues, mixing, ordered, dynamics = spectral_problem(matrix, seed, exponent, equation)
    limit = printed_limit(eigenvalues, ordered, exponent)
    powers = pow_(eigenvalues, exponent)
    margin = gap(-np.multiply.outer(powers, mixing).imag, eigenvalues)
    assume(margin > 1e-3)
    step = 0.9 * margin / np.abs(powers).max() ** 2
    factors = np.abs(1 + 1j * step * np.multiply.outer(powers, mixing))
    count = int(OUTGROWN / gap(np.log(factors), eigenvalues)) + 1
    (energy,) = dynamics.energies(dynamics.euler(mixing, step, [count], equation))
    assert energy == pytest.approx(limit, abs=1e-6)


# Directed graphs ---------------------------------------------------------------------------------


def solve_directed(laplacian, eigenvalues, mixing, exponent, equation, rng):
    """Energy of the exact solution once all but the dominant frequency is outgrown."""
    rates = -mixing if equation == "heat" else 1j * mixing
    margin = gap(np.multiply.outer(pow_(eigenvalues, exponent), rates).real, eigenvalues.real)
    assume(0.05 < margin < np.inf)
    dynamics = Dynamics.of(
        factorize(sparse.csr_array(laplacian)), rng.normal(size=(len(laplacian), 3)), exponent
    )
    times = OUTGROWN / margin * np.array([1.0, 1.05])
    return dynamics, margin, dynamics.energies(dynamics.exact(mixing, times, equation))


@settings(stable, max_examples=60)
@given(st.integers(3, 10), seeds, positive | negative, equations)
def test_on_normal_directed_graphs_the_frequency_that_grows_most_decides(
    nodes, seed, exponent, equation
):
    """Weighted circulants; the theorem's case, heat with 0 < α ≤ 1 and a real λ₁, is among them.

    Its inequality as printed has lost a sign; with λ₁ |λ₁|^(α−1) for |λ₁|^α it decides.
    """
    rng = np.random.default_rng(seed)
    shifts = rng.permutation(nodes)[: rng.integers(1, nodes)]
    shifts[0] = 1  # strongly connected
    laplacian = sum(
        weight * np.roll(np.eye(nodes), shift, axis=1)
        for shift, weight in zip(shifts, rng.dirichlet(np.ones(len(shifts))), strict=True)
    )
    np.testing.assert_allclose(laplacian, symmetrically_normalize(laplacian).toarray())
    assert np.allclose(laplacian @ laplacian.T, laplacian.T @ laplacian)
    eigenvalues = np.linalg.eigvals(laplacian)
    singular = np.abs(eigenvalues)
    assume(np.all((singular < 1e-9) | (singular > 0.02)))
    eigenvalues[singular < 1e-9] = 0
    mixing, ordered = draw_mixing(rng, equation)
    _, _, energies = solve_directed(laplacian, eigenvalues, mixing, exponent, equation, rng)
    expected = dominant_energy(eigenvalues, mixing, exponent, equation)
    assert energies == pytest.approx(np.full(2, expected), abs=1e-6)
    lowest = eigenvalues[eigenvalues.real.argmin()]
    if equation == "heat" and 0 < exponent <= 1 and abs(lowest.imag) < 1e-9 and lowest.real < 0:
        highest_wins = ordered[-1] * pow_(lowest, exponent).real < ordered[0]
        assert expected == pytest.approx((1 - lowest.real) / 2 if highest_wins else 0, abs=1e-9)


@st.composite
def directed_laplacians(draw, max_nodes=12):
    """SNAs of directed graphs, half of them strongly connected."""
    matrix = draw(adjacencies(2, max_nodes, symmetric=False)).toarray()
    if draw(st.booleans()):
        matrix += np.roll(np.eye(len(matrix)), 1, axis=1)
    return symmetrically_normalize(matrix).toarray()


@settings(stable, max_examples=60)
@given(directed_laplacians(), seeds)
def test_on_directed_graphs_with_exponent_one_the_lowest_or_highest_frequency_dominates(
    laplacian, seed
):
    """Theorem frequency_dominance_directed, and the same under explicit Euler.

    Strong connectivity, which the appendix asks for and Section 5 does not, is not needed where
    the extreme eigenvalues are simple.
    """
    eigenvalues = np.linalg.eigvals(laplacian)
    order = eigenvalues.real.argsort()
    lowest, highest = eigenvalues[order[0]], eigenvalues[order[-1]].real
    # λ₁ is unique (so real) and negative, λ_N is simple.
    assume(eigenvalues.real[order[1]] - lowest.real > 1e-3 and lowest.real < -1e-3)
    assume(highest - eigenvalues.real[order[-2]] > 1e-3)
    rng = np.random.default_rng(seed)
    mixing, ordered = draw_mixing(rng, "heat")
    highest_wins = ordered[-1] * lowest.real < ordered[0] * highest
    limit = (1 - lowest.real) / 2 if highest_wins else (1 - highest) / 2
    dynamics, margin, energies = solve_directed(laplacian, eigenvalues, mixing, 1.0, "heat", rng)
    assert energies == pytest.approx(np.full(2, limit), abs=1e-6)
    step = 0.9 * margin  # ε / ‖W‖², ε the gap
    factors = np.log(np.abs(1 - step * np.multiply.outer(eigenvalues, mixing)) + 1e-300)
    count = int(OUTGROWN / gap(factors, eigenvalues.real)) + 1
    assert dynamics.energies(dynamics.euler(mixing, step, [count])) == pytest.approx(
        [limit], abs=1e-6
    )
