"""Verdicts: whether a measured number reproduces a published one, one rule a kind of number."""

from __future__ import annotations

import math
from decimal import Decimal

from scipy.stats import t as student_t

from flode.experiments.runfiles import PERCENT_METRICS
from flode.reporting.published import DISAGREE, Published, decimals
from flode.reporting.records import Summary

REPRODUCED = "reproduced"
HIGHER = "higher"
LOWER = "lower"
DIFFERS = "differs"
NOT_RUN = "not run"
NOT_PUBLISHED = "not published"
QUICK_RUN = "quick run"
HOLDS = "holds"
FAILS = "fails"

#: In place of a rule, as tables of a quick run state it.
QUICK_RULE = (
    "Quick run: no verdict, and nothing measured is ranked, as smaller or generated graphs and few "
    "epochs say nothing of published numbers"
)

#: Means of a percent metric that differ by less than this (in points) count as equal.
HALF_POINT = 0.5

#: The rule for means, as tables state it.
MEAN_RULE = (
    "Reproduced: the 95 % Welch interval of the difference of the means contains 0, or accuracies "
    "or AUROCs differ by less than half a point; where one side has no ±, it has the other's; a ± "
    "is a population standard deviation, as the paper's program takes it"
)

#: The rule for exact numbers, as tables state it.
EXACT_RULE = "Reproduced: the number rounds to the published one at its printed digits"

#: The rule for a model's place in a ranking, as tables state it.
PLACE_RULE = (
    "Reproduced: FLODE has the place that the paper gives it (equal means share their places); "
    "higher: a better place"
)


def welch_interval(
    mean_a: float,
    std_a: float | None,
    n_a: int | None,
    mean_b: float,
    std_b: float | None,
    n_b: int | None,
    confidence: float = 0.95,
) -> tuple[float, float]:
    """Confidence interval of ``mean_a - mean_b``, from population standard deviations.

    The standard deviations are turned into ``n - 1`` variances. A side whose variance cannot be
    estimated (one value only, or no std given) is taken to vary as the other side does, which for
    ``n = 1`` is the pooled t interval; a side without a count is taken as exact. With no estimate
    on either side, or no spread on both, the interval is the point ``mean_a - mean_b``.
    """
    difference = mean_a - mean_b
    var_a, var_b = _sample_variance(std_a, n_a), _sample_variance(std_b, n_b)
    if var_a is None and var_b is None:
        return difference, difference
    # (squared standard error, degrees of freedom) of each side that was estimated on its own.
    own = [(var / n, n - 1) for var, n in ((var_a, n_a), (var_b, n_b)) if var is not None and n]
    if len(own) == 2:
        squared = own[0][0] + own[1][0]
    else:
        shared = var_a if var_a is not None else var_b
        squared = sum(shared / n for n in (n_a, n_b) if n)
    if squared == 0 or not math.isfinite(squared):
        return difference, difference
    if len(own) == 2:
        # As fractions of the sum, so that the squares of tiny variances do not underflow.
        df = 1.0 / sum((term / squared) ** 2 / freedom for term, freedom in own)
    else:
        df = own[0][1]
    half = float(student_t.ppf(0.5 + confidence / 2, df)) * math.sqrt(squared)
    return difference - half, difference + half


def mean_verdict(measured: Summary | None, published: Published, metric: str) -> str:
    """Verdict on a mean over splits, both in the unit of the table (percent for accuracies).

    ``reproduced`` by the rule `MEAN_RULE`, else ``higher`` or ``lower``. Where the interval is
    only a point, equality at the printed digits decides, since the printed mean is rounded.
    Also: ``not run``, ``not published``, ``published values disagree``.
    """
    if open_verdict := _open(measured, published):
        return open_verdict
    difference = measured.mean - published.mean
    if metric in PERCENT_METRICS and abs(difference) < HALF_POINT:
        return REPRODUCED
    low, high = welch_interval(
        measured.mean, measured.std, measured.n, published.mean, published.std, published.n
    )
    if low == high:
        return exact_verdict(measured.mean, published)
    if low <= 0 <= high:
        return REPRODUCED
    return HIGHER if difference > 0 else LOWER


def exact_verdict(measured: float | None, published: Published) -> str:
    """Verdict on a number without spread: equal at the printed digits, or not."""
    if open_verdict := _open(measured, published):
        return open_verdict
    if equal_at_printed_digits(measured, published.text):
        return REPRODUCED
    return HIGHER if measured > published.mean else LOWER


def place_verdict(place: int | None, tied: int, published: int | None, disagrees: bool) -> str:
    """Verdict on a place in a ranking, 1 the best.

    Args:
        place: the best place that the model may claim, None if it was not run.
        tied: how many models share the mean, itself included; they share ``tied`` places.
        published: the place in the paper, None if the paper does not give it.
        disagrees: whether the paper prints two different values for the model.
    """
    if place is None:
        return NOT_RUN
    if disagrees:
        return DISAGREE
    if published is None:
        return NOT_PUBLISHED
    if place <= published < place + tied:
        return REPRODUCED
    return HIGHER if place < published else LOWER


def setting_verdict(used: float | None, published: Published) -> str:
    """Verdict on a hyperparameter: the published value was used, or not."""
    if open_verdict := _open(used, published):
        return open_verdict
    return REPRODUCED if math.isclose(used, published.mean, rel_tol=1e-9) else DIFFERS


def _open(measured: object | None, published: Published) -> str | None:
    """The verdict where there is nothing to compare, None where there is."""
    if measured is None:
        return NOT_RUN
    if published.disagrees:
        return DISAGREE
    return NOT_PUBLISHED if published.mean is None else None


def equal_at_printed_digits(value: float, printed: str) -> bool:
    """Whether ``value`` rounds to the number ``printed``; an exact half may round either way."""
    number = Decimal(printed)
    half_unit = Decimal(5).scaleb(-decimals(number) - 1)
    # Decimal(repr(x)) is the number a reader sees, not its binary expansion.
    return abs(Decimal(repr(float(value))) - number) <= half_unit


def _sample_variance(std: float | None, n: int | None) -> float | None:
    """The ``n - 1`` variance from a population standard deviation, None if it has no estimate."""
    if std is None or n is None or n < 2:
        return None
    return std * std * n / (n - 1)
