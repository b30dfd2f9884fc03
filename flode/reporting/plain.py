"""Numbers of tidy tables as plain text, for the report's pages and its summary."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from flode.reporting.ranking import ordinal, place_of
from flode.reporting.typeset import spread_places
from flode.reporting.verdicts import NOT_RUN

#: Digits after the point, by table, subtable and metric.
Digits = Mapping[tuple[str, str, str], int]

#: A ranking's remark on another place in the paper (`flode.reporting.ranking`).
_IN_PAPER = re.compile(r"(?:^|; )(\d+(?:st|nd|rd|th)) in the paper")

_PERCENT_DIGITS = 2
_DIGITS = 4


def digits_of(frame: pd.DataFrame) -> Digits:
    """As many as the paper prints at most."""
    published = frame[frame["decimals"].notna()]
    most = published.groupby(["table", "subtable", "metric"])["decimals"].max()
    return {place: int(digits) for place, digits in most.items()}


def places_of(cell: Any, digits: Digits) -> tuple[int, int]:
    """Digits after the point of a cell's numbers and of their ±: as the paper prints this cell,
    else others of its kind."""
    default = _PERCENT_DIGITS if cell.unit == "%" else _DIGITS
    usual = digits.get((cell.table, cell.subtable, cell.metric), default)
    mean = usual if pd.isna(cell.decimals) else int(cell.decimals)
    return mean, mean if pd.isna(cell.error_decimals) else int(cell.error_decimals)


def measured_text(cell: Any, digits: Digits) -> str:
    """``77.5 ± 1.6``, the verdict where it says why there is no number, or nothing."""
    if pd.isna(cell.mean):
        return NOT_RUN if cell.verdict == NOT_RUN else ""
    places, spread = places_of(cell, digits)
    if pd.isna(cell.std) and float(cell.mean).is_integer():
        return f"{int(cell.mean):,}"
    return _number(cell.mean, cell.std, places, spread_places(cell.std, spread))


def published_text(cell: Any, digits: Digits) -> str:
    """The published number, or nothing where there is none."""
    if pd.isna(cell.published_mean):
        return ""
    places, spread = places_of(cell, digits)
    text = f"{cell.published_mean:,.{places}f}"
    text = text if pd.isna(cell.published_std) else f"{text} ± {cell.published_std:.{spread}f}"
    return text.replace("-", "−")


def places_among(cell: Any) -> tuple[str, str]:
    """``("3rd: ", "1st: ")``, the places of a model where its place is judged and is not the
    paper's, to stand before its numbers; else nothing."""
    (place, _), published = place_of(cell.row), _IN_PAPER.search(cell.note)
    if place is None or published is None:
        return "", ""
    return f"{ordinal(place)}: ", f"{published[1]}: "


def _number(mean: float, std: float, places: int, spread: int) -> str:
    if pd.isna(std):
        # A setting such as a learning rate is exact; other numbers are cut as the paper's are.
        if f"{mean:.{places}f}" == f"{0:.{places}f}" or float(f"{mean:.{places}f}") == mean:
            return f"{mean:g}".replace("-", "−")
        return f"{mean:.{places}f}".replace("-", "−")
    return f"{mean:.{places}f} ± {std:.{spread}f}".replace("-", "−")
