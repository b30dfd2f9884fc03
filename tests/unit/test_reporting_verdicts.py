import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind_from_stats

from flode.reporting.published import Published
from flode.reporting.records import Summary
from flode.reporting.verdicts import (
    equal_at_printed_digits,
    exact_verdict,
    mean_verdict,
    setting_verdict,
    welch_interval,
)

means = st.floats(-100, 100)
stds = st.floats(0.01, 20)
counts = st.integers(2, 30)


def printed(text, std=None, n=None, note=""):
    decimals = len(text.partition(".")[2])
    mean = float(text) if text else None
    return Published(text, mean, std, n, decimals if text else None, None, "std", note)


def sample(std, n):
    """The n - 1 standard deviation that belongs to a population one."""
    return std * math.sqrt(n / (n - 1))


@given(means, stds, counts, means, stds, counts)
def test_welch_interval_is_scipys(mean_a, std_a, n_a, mean_b, std_b, n_b):
    expected = ttest_ind_from_stats(
        mean_a, sample(std_a, n_a), n_a, mean_b, sample(std_b, n_b), n_b, equal_var=False
    )
    low, high = welch_interval(mean_a, std_a, n_a, mean_b, std_b, n_b)
    assert (low + high) / 2 == pytest.approx(mean_a - mean_b, abs=1e-9)
    # The interval touches 0 exactly where the p value is 5 %.
    if abs(expected.pvalue - 0.05) > 1e-9:
        assert (low <= 0 <= high) == (expected.pvalue > 0.05)


@given(means, stds, counts, st.decimals(-100, 100, places=2), stds, counts)
def test_verdict_of_an_exponent_is_welchs(mean_a, std_a, n_a, mean_b, std_b, n_b):
    cell = printed(str(mean_b), std_b, n_b)
    p = ttest_ind_from_stats(
        mean_a, sample(std_a, n_a), n_a, float(mean_b), sample(std_b, n_b), n_b, equal_var=False
    ).pvalue
    verdict = mean_verdict(Summary(mean_a, std_a, n_a), cell, "exponent")
    if abs(p - 0.05) > 1e-9:
        side = "higher" if mean_a > cell.mean else "lower"
        assert verdict == ("reproduced" if p > 0.05 else side)


@given(means, stds, counts, means)
def test_one_value_beside_many_is_the_pooled_interval(mean_a, std_a, n_a, mean_b):
    # scipy's pooled test accepts n = 1 with any std, which then has no weight.
    p = ttest_ind_from_stats(mean_a, sample(std_a, n_a), n_a, mean_b, 0.0, 1).pvalue
    low, high = welch_interval(mean_a, std_a, n_a, mean_b, 0.0, 1)
    if abs(p - 0.05) > 1e-9:
        assert (low <= 0 <= high) == (p > 0.05)
    mirrored = welch_interval(mean_b, 0.0, 1, mean_a, std_a, n_a)
    assert mirrored == pytest.approx((-high, -low))


def test_a_published_mean_without_count_is_taken_as_exact():
    low, high = welch_interval(1.0, 0.3, 4, 0.0, None, None)
    # t(3) = 3.182; 0.3 is the population std: n - 1 variance 0.12, standard error 0.1732.
    assert (low, high) == pytest.approx((1 - 3.18245 * 0.173205, 1 + 3.18245 * 0.173205), abs=1e-5)


def test_one_sided_zero_variance_keeps_the_other_sides_freedom():
    low, high = welch_interval(1.0, 0.3, 4, 0.0, 0.0, 10)
    assert high - low == pytest.approx(2 * 3.18245 * 0.173205, abs=1e-5)


@pytest.mark.parametrize(
    "sides", [(0.0, 5, 0.0, 5), (0.0, 1, None, None), (0.0, 1, 0.0, 1), (0.0, 5, None, 5)]
)
def test_without_spread_the_interval_is_a_point(sides):
    std_a, n_a, std_b, n_b = sides
    assert welch_interval(3.0, std_a, n_a, 1.0, std_b, n_b) == (2.0, 2.0)


def test_tiny_spreads_do_not_underflow():
    low, high = welch_interval(1.0, 1e-120, 5, 1.0, 1e-120, 5)
    assert math.isfinite(low)
    assert low <= 0 <= high


@pytest.mark.parametrize(
    ("measured", "metric", "verdict"),
    [
        (Summary(0.9012, 0.0, 5), "exponent", "reproduced"),  # prints as 0.90
        (Summary(0.9062, 0.0, 5), "exponent", "higher"),
        (Summary(0.8938, 0.0, 1), "exponent", "lower"),
        (None, "exponent", "not run"),
    ],
)
def test_without_spread_printed_digits_decide(measured, metric, verdict):
    assert mean_verdict(measured, printed("0.90", 0.0, 10), metric) == verdict


@pytest.mark.parametrize("metric", ["accuracy", "auroc"])
@pytest.mark.parametrize(
    ("mean", "verdict"),
    [(97.99, "reproduced"), (97.01, "reproduced"), (98.5, "higher"), (96.5, "lower")],
)
def test_half_a_point(metric, mean, verdict):
    cell = printed("97.5", 0.01, 5)
    assert mean_verdict(Summary(mean, 0.01, 5), cell, metric) == verdict
    assert mean_verdict(Summary(mean, 0.01, 5), cell, "exponent") != "reproduced"


def test_a_wide_spread_reproduces():
    assert mean_verdict(Summary(95.0, 3.0, 5), printed("97.5", 2.0, 5), "accuracy") == "reproduced"


@pytest.mark.parametrize("verdict_of", [exact_verdict, setting_verdict])
def test_other_verdicts(verdict_of):
    note = "printed 1 here and 2 there; published values disagree"
    assert verdict_of(1.0, printed("1", note=note)) == "published values disagree"
    assert verdict_of(None, printed("1", note=note)) == "not run"
    assert verdict_of(1.0, printed("")) == "not published"
    summary = Summary(1.0, 0.0, 5)
    assert mean_verdict(summary, printed("1", note=note), "accuracy") == "published values disagree"
    assert mean_verdict(summary, printed(""), "accuracy") == "not published"


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(-0.93368, "reproduced"), (-0.93364, "higher"), (-0.93376, "lower"), (-0.93, "higher")],
)
def test_exact_numbers(value, verdict):
    assert exact_verdict(value, printed("-0.9337")) == verdict


@pytest.mark.parametrize(
    ("value", "text", "equal"),
    [
        (0.125, "0.12", True), (0.125, "0.13", True),  # a half may round either way
        (98.04, "98.0", True), (98.06, "98.0", False), (0.0012, "1e-3", True), (300.0, "3e2", True),
    ],
)  # fmt: skip
def test_printed_digits(value, text, equal):
    assert equal_at_printed_digits(value, text) == equal


def test_settings():
    assert setting_verdict(0.005, printed("0.005")) == "reproduced"
    assert setting_verdict(256.0, printed("256")) == "reproduced"
    assert setting_verdict(0.0051, printed("0.005")) == "differs"
