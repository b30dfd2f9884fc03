"""Numbers of tidy tables as plain text, for the report's pages and its summary."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pandas as pd

from flode.reporting.verdicts import NOT_RUN

#: Digits after the point, by table, subtable and metric.
Digits = Mapping[tuple[str, str, str], int]

_PERCENT_DIGITS = 2
_DIGITS = 4


def digits_of(frame: pd.DataFrame) -> Digits:
    """As many as the paper prints at most."""
    found: dict[tuple[str, str, str], int] = {}
    published = frame[frame["published_mean"].notna()]
    columns = ["table", "subtable", "metric", "published_mean"]
    for *place, value in published[columns].itertuples(index=False):
        printed = max(0, -int(Decimal(repr(float(value))).as_tuple().exponent))
        if float(value).is_integer():  # read from text, 98.0 and 98 are one number
            printed = 0
        found[tuple(place)] = max(found.get(tuple(place), 0), printed)
    return found


def measured_text(cell: Any, digits: Digits) -> str:
    """``77.5 ± 1.6``, the verdict where it says why there is no number, or nothing."""
    if pd.isna(cell.mean):
        return NOT_RUN if cell.verdict == NOT_RUN else ""
    return _number(cell.mean, cell.std, cell, digits)


def published_text(cell: Any, digits: Digits) -> str:
    """The published number, or nothing where there is none."""
    if pd.isna(cell.published_mean):
        return ""
    return _number(cell.published_mean, cell.published_std, cell, digits)


def place_text(cell: Any) -> str:
    """Where a cell stands in its table: ``heat, FD, Cora``."""
    return ", ".join(filter(None, [cell.subtable, cell.row, cell.column]))


def _number(mean: float, std: float, cell: Any, digits: Digits) -> str:
    if pd.isna(std) and float(mean).is_integer():
        return f"{int(mean):,}"
    default = _PERCENT_DIGITS if cell.unit == "%" else _DIGITS
    places = digits.get((cell.table, cell.subtable, cell.metric), default)
    if pd.isna(std):
        # A setting such as a learning rate is exact; other numbers are cut as the paper's are.
        if f"{mean:.{places}f}" == f"{0:.{places}f}" or float(f"{mean:.{places}f}") == mean:
            return f"{mean:g}".replace("-", "−")
        return f"{mean:.{places}f}".replace("-", "−")
    return f"{mean:.{places}f} ± {std:.{places}f}".replace("-", "−")
