"""Statements of the paper on dynamics that fail as printed: a counterexample of each, beside what
holds. `test_theory_dynamics` tests them under the conditions where they hold."""

from math import comb

import numpy as np
import pytest
from scipy import sparse

from flode.spectral import (
    Dynamics,
    dominant_energy,
    factorize,
    normalized_dirichlet_energy,
    symmetrically_normalize,
)

#: One undirected edge: λ = −1 and 1.
EDGE = np.array([[0.0, 1.0], [1.0, 0.0]])

#: Path of four nodes: λ = −1, −1/2, 1/2, 1.
PATH = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)

#: Undirected; 0.148 and −1/4 are its eigenvalues nearest to zero.
KITE = np.zeros((5, 5))
for _i, _j in [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 4), (2, 3), (2, 4)]:
    KITE[_i, _j] = KITE[_j, _i] = 1


def solve(matrix, mixing, exponent, seed=0):
    """SNA (dense) and dynamics from a random state."""
    laplacian = symmetrically_normalize(matrix)
    x = np.random.default_rng(seed).normal(size=(len(matrix), len(mixing)))
    return laplacian.toarray(), Dynamics.of(factorize(laplacian), x, exponent)


def limit(matrix, mixing, exponent, time=2000.0):
    _, dynamics = solve(matrix, mixing, exponent)
    (energy,) = dynamics.energies(dynamics.exact(np.array(mixing), [time]))
    return energy


def euler_limit(matrix, mixing, exponent, step, count=20_000):
    _, dynamics = solve(matrix, mixing, exponent)
    (energy,) = dynamics.energies(dynamics.euler(np.array(mixing), step, [count]))
    return energy


# The definition of oversmoothing (eq:oversmoothing) -----------------------------------------------


def test_the_definition_of_oversmoothing_lacks_a_half():
    """It compares energy with min λ(I − L); a GCN, proved to oversmooth, tends to half of that.

    On undirected graphs both are 0. This one is strongly connected and aperiodic, λ_N < 1.
    """
    matrix = np.array([[0.0, 0, 1], [1, 0, 1], [1, 1, 0]])
    laplacian = symmetrically_normalize(matrix).toarray()
    least = 1 - np.linalg.eigvals(laplacian).real.max()
    assert least > 0.01
    x = np.random.default_rng(0).normal(size=(3, 2))
    for _ in range(200):
        x = laplacian @ x
        x = x / np.linalg.norm(x)
    energy = normalized_dirichlet_energy(laplacian, x)
    assert energy == pytest.approx(least / 2, abs=1e-9)
    assert abs(energy - least) > 0.005


def test_the_definition_of_oversmoothing_cannot_ask_for_any_initial_value():
    """An eigenvector stays where it is: the theorems' "almost all" is needed here too."""
    laplacian = symmetrically_normalize(np.ones((3, 3)) + np.eye(3)).toarray()
    x = np.array([[1.0], [-1.0], [0.0]])
    energy = normalized_dirichlet_energy(laplacian, x)
    assert energy > 0.3
    assert normalized_dirichlet_energy(laplacian, laplacian @ x) == pytest.approx(energy)


def test_a_gcn_on_a_graph_of_even_period_does_not_oversmooth():
    """Why the proposition asks for an aperiodic graph: |λ₁| = λ_N on a bipartite one."""
    laplacian = symmetrically_normalize(PATH).toarray()
    x = np.random.default_rng(0).normal(size=(4, 1))
    for _ in range(200):
        x = laplacian @ x
    assert normalized_dirichlet_energy(laplacian, x) > 0.05


# Lemmas of the appendix ---------------------------------------------------------------------------


def test_a_normalised_state_need_not_converge_though_its_energy_does():
    """thm:dominant_frequency: norming takes the modulus of exp(−tλ), not its phase. x' = i L x w on
    an edge, w = 1 − i: the normalised state goes round."""
    dynamics = Dynamics.of(factorize(symmetrically_normalize(EDGE)), np.ones((2, 1)), 1)
    times = 50 + np.pi / 2 * np.arange(3)
    states = dynamics.exact(np.array([1 - 1j]), times, "schroedinger")
    assert dynamics.energies(states) == pytest.approx(np.zeros(3), abs=1e-9)
    states = states / np.linalg.norm(states, axis=(1, 2), keepdims=True)
    assert np.allclose(states[1], 1j * states[0]) and np.allclose(states[2], -states[0])


def test_powers_of_a_jordan_block_need_all_terms_of_its_chain():
    """thm:spectral_decomposition_matrix_power_directed prints i ≤ min{k_l, n − 1} and c_l^j; with
    i ≤ k_l and c_l^i it holds."""
    laplacian, start = np.array([[0.5, 1.0], [0.0, 0.5]]), np.array([0.0, 1.0])
    chain, coefficients = np.eye(2), start  # ψ¹, ψ² and c¹, c²

    def expansion(n, last, coefficient):
        return sum(
            comb(n, i - j) * 0.5 ** (n - i + j) * coefficient(i, j) * chain[j - 1]
            for i in range(1, last + 1)
            for j in range(1, i + 1)
        )

    for n in (1, 2, 3):
        expected = np.linalg.matrix_power(laplacian, n) @ start
        assert expansion(n, 2, lambda i, j: coefficients[i - 1]) == pytest.approx(expected)
        printed = expansion(n, min(2, n - 1), lambda i, j: coefficients[j - 1])
        assert not np.allclose(printed, expected)


# Limits of exact solutions (thm:main_theorem_heat_appendix and after) -----------------------------


def test_with_self_loops_the_inequality_may_choose_the_wrong_end():
    """Its proof takes from tr L = 0 that λ₁ < 0. Here λ = 1/3, 1 and W = diag(1, 4):
    4 · 1/3 ≥ 1, so "LFD"; yet w₁ λ₁ = 1/3 is the least of all products."""
    matrix, mixing = np.array([[2.0, 1.0], [1.0, 2.0]]), [1.0, 4.0]
    assert mixing[1] / 3 >= mixing[0]
    assert limit(matrix, mixing, 1) == pytest.approx(1 / 3)
    assert dominant_energy([1 / 3, 1], mixing, 1) == pytest.approx(1 / 3)


def test_where_both_sides_are_equal_the_solution_is_neither_lfd_nor_hfd():
    """ "LFD otherwise" includes equality. W = diag(−1, 1) on an edge: both ends grow as exp(t)."""
    energy = limit(EDGE, [-1.0, 1.0], 1)
    assert 0.05 < energy < 0.95
    assert np.isnan(dominant_energy([-1, 1], [-1.0, 1.0], 1))


def test_for_negative_exponents_the_negative_eigenvalue_nearest_to_zero_counts():
    """Section 5 calls λ₋ the smallest negative eigenvalue, −1 here; the appendix has it right."""
    assert limit(PATH, [1.0], -1) == pytest.approx((1 + 1 / 2) / 2)
    assert limit(PATH, [-1.0], -1) == pytest.approx((1 - 1 / 2) / 2)


def test_the_theorem_on_normal_matrices_has_lost_the_sign_of_the_lowest_frequency():
    """It prints w_K |λ₁|^α < w₁ |λ_N|^α for HFD. On an edge with W = 1 that is 1 < 1: "LFD"."""
    assert limit(EDGE, [1.0], 0.5) == pytest.approx(1)


def test_on_normal_matrices_a_large_exponent_favours_large_modulus():
    """The theorem says α > 0. A lazy directed cycle has λ₁ = −0.4, the least real part, and a pair
    −0.195 ± 0.495 i, of larger modulus, whose power has the least real part at α = 4."""
    nodes = 8
    matrix = 0.3 * np.eye(nodes) + 0.7 * np.roll(np.eye(nodes), 1, axis=1)
    eigenvalues = np.linalg.eigvals(matrix)
    least = eigenvalues.real.min()
    assert least == pytest.approx(-0.4)
    assert limit(matrix, [1.0], 1, time=300) == pytest.approx((1 - least) / 2)
    pair = 0.3 + 0.7 * np.cos(3 * np.pi / 4)
    energy = limit(matrix, [1.0], 4, time=3000)
    assert energy == pytest.approx((1 - pair) / 2)
    assert dominant_energy(eigenvalues, [1.0], 4) == pytest.approx((1 - pair) / 2)


def test_where_the_lowest_frequency_is_a_pair_the_solution_need_not_be_lfd():
    """ "Otherwise LFD" of the directed theorem includes a λ₁ that is not unique. The pair
    −0.44 ± 0.28 i dominates then, and the energy goes round without a limit."""
    matrix = np.array([[0.0, 1, 2, 0], [0, 0, 1, 2], [0, 0, 0, 1], [1, 2, 2, 0]])
    laplacian, dynamics = solve(matrix, [1.0], 1)
    assert np.sum(np.isclose(np.linalg.eigvals(laplacian).real, -0.43756414)) == 2
    energies = dynamics.energies(dynamics.exact([1.0], np.linspace(100, 120, 60)))
    assert energies.min() > 0.55
    assert np.ptp(energies) > 0.2


# Explicit Euler ----------------------------------------------------------------------------------


def test_the_euler_statement_for_heat_with_negative_exponents_has_its_sides_exchanged():
    """Printed: (1 − λ₋)-FD if w₁ f(λ₊) < w_K f(λ₋). With W = −1 the left side is the least of all
    products, so λ₊ dominates; it is the exact solution's inequality that holds."""
    eigenvalues = np.linalg.eigvalsh(symmetrically_normalize(KITE).toarray())
    low, high = eigenvalues[eigenvalues < 0].max(), eigenvalues[eigenvalues > 0].min()
    mixing, exponent = [-1.0], -0.5
    left, right = -(high**exponent), (-low) ** exponent
    assert left < right
    step = 0.9 * high**-exponent  # 0.9 / ‖L^α‖
    assert euler_limit(KITE, mixing, exponent, step) == pytest.approx((1 - high) / 2)
    assert limit(KITE, mixing, exponent) == pytest.approx((1 - high) / 2)
    # Nor is the limit 0 or λ_N(I − L)/2, as the statement before it says of every real α.
    assert (1 - high) / 2 not in (pytest.approx(0), pytest.approx((1 - eigenvalues[0]) / 2))


def test_for_negative_exponents_a_step_below_one_over_the_norm_of_w_is_too_large():
    """h ‖W‖ < 1 bounds h w f(λ) by 1 only where |f| ≤ 1. At α = −1, f(λ₊) = 6.8, f(λ₋) = −4:
    with W = 1 and h = 0.9 the factor 1 − 0.9 · 6.8 outgrows 1 + 0.9 · 4."""
    eigenvalues = np.linalg.eigvalsh(symmetrically_normalize(KITE).toarray())
    low, high = eigenvalues[eigenvalues < 0].max(), eigenvalues[eigenvalues > 0].min()
    assert limit(KITE, [1.0], -1) == pytest.approx((1 - low) / 2)
    assert euler_limit(KITE, [1.0], -1, 0.9 * high) == pytest.approx((1 - low) / 2)
    assert euler_limit(KITE, [1.0], -1, 0.9) == pytest.approx((1 - high) / 2)


def test_the_step_in_the_proof_for_directed_graphs_is_too_large():
    """It asks for h < ε ‖W‖² with ε the largest difference of products; the smallest, and ‖W‖⁻²,
    are meant. Directed triangle, W = diag(−0.6, 1): largest 1.5, smallest 0.1."""
    triangle, mixing = np.roll(np.eye(3), 1, axis=1), [-0.6, 1.0]
    assert limit(triangle, mixing, 1, time=300) == pytest.approx(0, abs=1e-9)
    assert euler_limit(triangle, mixing, 1, 0.09) == pytest.approx(0, abs=1e-9)
    assert euler_limit(triangle, mixing, 1, 0.5) == pytest.approx((1 + 0.5) / 2)


def test_the_euler_statement_for_schroedinger_needs_an_eigenvalue_that_is_not_real():
    """As its counterpart for the exact solution asks. With W = 1 on an edge all |1 ± i h| are
    alike, at every step size."""
    _, dynamics = solve(EDGE, [1.0], 1, seed=1)
    start = dynamics.energies(dynamics.start[None])
    assert 0.05 < start[0] < 0.95
    energies = dynamics.energies(dynamics.euler([1.0], 0.01, [10, 10_000], "schroedinger"))
    assert energies == pytest.approx(np.full(2, start[0]))


@pytest.mark.parametrize("w", [-1j, 1j])
def test_the_euler_statement_for_schroedinger_with_negative_exponents_needs_imaginary_parts(w):
    """Printed: (1 − λ₊)-FD if w₁ f(λ₊) < w_K f(λ₋), of a W that is complex. Of imaginary parts it
    holds, with its sides as they are."""
    eigenvalues = np.linalg.eigvalsh(symmetrically_normalize(KITE).toarray())
    low, high = eigenvalues[eigenvalues < 0].max(), eigenvalues[eigenvalues > 0].min()
    exponent = -0.5
    _, dynamics = solve(KITE, [w], exponent)
    (energy,) = dynamics.energies(dynamics.euler(np.array([w]), 0.02, [20_000], "schroedinger"))
    lowest = w.imag * high**exponent < w.imag * -((-low) ** exponent)
    assert energy == pytest.approx((1 - (high if lowest else low)) / 2)


def test_on_a_directed_path_energy_tends_to_its_limit_but_not_exponentially():
    """Without strong connectivity λ = 0 stands in a Jordan block: x(t) = x₀ − t L x₀ here."""
    matrix = np.array([[0.0, 1.0], [0.0, 0.0]])
    dynamics = Dynamics.of(factorize(sparse.csr_array(matrix)), np.ones((2, 1)), 1)
    energies = dynamics.energies(dynamics.exact([1.0], [100.0, 1000.0]))
    assert energies == pytest.approx(0.5, abs=0.01)
    assert (energies[0] - 0.5) / (energies[1] - 0.5) == pytest.approx(10, rel=0.05)
