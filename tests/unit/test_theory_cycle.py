"""The cycle graph: closed forms, and the homophily that each frequency favours."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from flode.spectral import (
    node_homophily,
)
from flode.spectral.cycle import (
    cycle_adjacency,
    cycle_eigenvalue,
    cycle_eigenvectors,
    cycle_fractional_power,
    cycle_labels,
)
from tests.unit.strategies import stable
from tests.unit.theory_graphs import (
    dense_sna,
    power,
)

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
