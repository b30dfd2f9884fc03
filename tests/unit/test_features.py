"""Feature normalisations, by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from flode.datasets.features import normalize_features

FEATURES = np.array([[3.0, 0.0, 0.5], [-4.0, 0.0, 0.25], [0.0, 0.0, 0.0]])

EXPECTED = {
    "none": FEATURES,
    # Norms 5, 0 and 0.56: the last two are clamped at 1.
    "column_l2": FEATURES / [5, 1, 1],
    # Largest moduli 3, 4 and 0.
    "row_max": FEATURES / [[3], [4], [1]],
}


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array, sparse.coo_array])
@pytest.mark.parametrize("how", EXPECTED)
def test_divisors_are_clamped_at_one_and_zeros_stay_zeros(how, kind):
    features = kind(FEATURES)
    normalized = normalize_features(features, how)
    assert normalized.dtype == np.float32
    assert sparse.issparse(normalized) == sparse.issparse(features)
    if sparse.issparse(normalized):
        assert normalized.format == "csr"
        assert normalized.nnz == 4
        normalized = normalized.toarray()
    assert_allclose(normalized, EXPECTED[how], rtol=1e-7)
    untouched = features.toarray() if sparse.issparse(features) else features
    assert_allclose(untouched, FEATURES)


def test_rows_below_one_are_left_as_they_are():
    features = np.array([[0.5, -0.25]])
    assert_allclose(normalize_features(features, "row_max"), features)


def test_rows_are_divided_by_the_largest_modulus():
    assert_allclose(normalize_features(np.array([[2.0, -8.0]]), "row_max"), [[0.25, -1.0]])


def test_integers_and_booleans_are_features_too():
    bits = np.array([[True, False], [True, True], [True, False], [True, False]])
    expected = np.array([[0.5, 0], [0.5, 1], [0.5, 0], [0.5, 0]])
    for features in (bits, bits.astype(np.int8), sparse.csr_array(bits.astype(np.int64))):
        normalized = normalize_features(features, "column_l2")
        dense = normalized.toarray() if sparse.issparse(normalized) else normalized
        assert_allclose(dense, expected)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("how", EXPECTED)
def test_values_that_are_not_finite_are_refused(how, wrong, kind):
    features = FEATURES.copy()
    features[1, 2] = wrong
    with pytest.raises(ValueError, match="not finite"):
        normalize_features(kind(features), how)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_values_too_large_for_single_precision_are_refused(kind):
    features = kind(np.array([[1e39, 1.0]]))
    with pytest.raises(ValueError, match="not finite in float32"):
        normalize_features(features, "none")
    assert np.isfinite(normalize_features(features, "column_l2").max())
    with pytest.raises(ValueError, match="not finite in float64"):  # its square is too large
        normalize_features(kind(np.array([[1e200, 1.0]])), "column_l2")


def test_an_unknown_normalisation_is_named():
    with pytest.raises(ValueError, match="'row_l1'; allowed are none, column_l2, row_max"):
        normalize_features(FEATURES, "row_l1")
