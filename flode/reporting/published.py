"""The paper's numbers, read as they are printed: the number of digits carries meaning."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

import pandas as pd

from flode.experiments.runfiles import PERCENT_METRICS

#: Columns that every file of published values has (further ones are kept and ignored).
COLUMNS = (
    "subtable", "group", "row", "column", "metric", "unit",
    "mean", "error", "error_kind", "n", "note", "source",
)  # fmt: skip

#: What a printed ± may be: a population standard deviation, its standard error, or unknown.
ERROR_KINDS = ("std", "standard error", "")

#: In a note: the number is of the paper's program, for comparison.
NOT_IN_PAPER = "not in the paper"

#: In a note: the paper gives two values for this cell.
DISAGREE = "published values disagree"

#: What that is, as summaries state it.
DISAGREE_RULE = "printed twice and differently, or against the rest of their table; not judged"


@dataclass(frozen=True)
class Published:
    """One printed cell.

    Attributes:
        text: the mean as printed ("98.0"), "" when the paper prints no number.
        mean: its value, None without one.
        std: population standard deviation, None when the paper prints no ±; where it prints a
            standard error, that times √n.
        n: number of values behind the mean, None when the paper does not say.
        decimals: printed digits after the point of the mean ("98.0": 1; "1e-3": 3).
        error_decimals: the same of the ±, None without one.
        note: remarks on the cell.
    """

    text: str
    mean: float | None
    std: float | None
    n: int | None
    decimals: int | None
    error_decimals: int | None
    error_kind: str = ""
    note: str = ""

    @property
    def disagrees(self) -> bool:
        """Whether the paper prints two different values for this cell."""
        return DISAGREE in self.note


#: Printed digits where the paper gives no example.
_DECIMALS = 2

#: A cell that the paper does not have.
NOTHING = Published("", None, None, None, None, None)


def disagreement(note: str) -> str:
    """What the paper prints besides, of a cell's remarks: the one before that they disagree."""
    remarks = note.split("; ")
    return remarks[max(0, remarks.index(DISAGREE) - 1)] if DISAGREE in remarks else note


def files_of(published: str | Path | Iterable[str | Path]) -> list[str | Path]:
    """A table's files of published numbers, one or several."""
    return [published] if isinstance(published, (str, Path)) else list(published)


def read_published(path: str | Path) -> pd.DataFrame:
    """Read a file of published values, every column as text ("98.0" stays "98.0").

    Raises:
        ValueError: a column is missing, a cell comes twice or does not parse; names the file.
    """
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    except ValueError as error:  # EmptyDataError and ParserError are such
        raise ValueError(f"{path}: no file of published numbers ({error})") from error
    missing = [column for column in COLUMNS if column not in frame.columns]
    if missing:
        raise ValueError(
            f"{path}: columns {', '.join(missing)} are missing; allowed: {', '.join(COLUMNS)}"
        )
    if frame.empty:
        raise ValueError(f"{path}: has no rows; allowed: one for each published number")
    for line, group in enumerate(frame["group"], start=2):
        if not group.isdecimal():
            raise ValueError(f"{path}: line {line}: group is {group!r}; allowed: an integer from 0")
    twice = frame[frame.duplicated(["subtable", "row", "column"])]
    if len(twice):
        cell = tuple(twice.iloc[0][["subtable", "row", "column"]])
        raise ValueError(f"{path}: cell {cell} comes twice; allowed: once")
    for _, row in frame.iterrows():
        try:
            parse_cell(row)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
    return frame


def parse_cell(row: pd.Series) -> Published:
    """Parse one row of a published file.

    Raises:
        ValueError: a number does not parse or the kind of error is unknown; names the cell.
    """
    where = f"cell ({row['subtable']!r}, {row['row']!r}, {row['column']!r})"
    mean, error = _number(row["mean"], where, "mean"), _number(row["error"], where, "error")
    kind = row["error_kind"]
    if kind not in ERROR_KINDS:
        allowed = ", ".join(repr(kind) for kind in ERROR_KINDS)
        raise ValueError(f"{where}: error_kind is {kind!r}; allowed: {allowed}")
    if row["metric"] in PERCENT_METRICS and row["unit"] != "%":
        raise ValueError(f"{where}: unit is {row['unit']!r}; allowed: '%', of {row['metric']}")
    n = _count(row["n"], where)
    std = None if error is None else float(error)
    if std is not None and kind == "standard error":
        if n is None:
            raise ValueError(f"{where}: n is empty; allowed: a count, as ± is a standard error")
        std *= math.sqrt(n)
    return Published(
        text=row["mean"],
        mean=None if mean is None else float(mean),
        std=std,
        n=n,
        decimals=None if mean is None else decimals(mean),
        error_decimals=None if error is None else decimals(error),
        error_kind=kind,
        note=row["note"],
    )


def cells(published: pd.DataFrame) -> dict[tuple[str, str, str], Published]:
    """``{(subtable, row, column): Published}`` of a frame as `read_published` gives it."""
    return {
        (row["subtable"], row["row"], row["column"]): parse_cell(row)
        for _, row in published.iterrows()
    }


def decimals(number: Decimal) -> int:
    """Digits after the point of a printed number."""
    return max(0, -int(number.as_tuple().exponent))


def shared_digits(printed: Sequence[Published]) -> tuple[int, int]:
    """Digits after the point of a mean and of its ±, from the first cell that has some."""

    def first(attribute: str) -> int:
        found = (getattr(cell, attribute) for cell in printed)
        return next((digits for digits in found if digits is not None), _DECIMALS)

    return first("decimals"), first("error_decimals")


def _number(text: str, where: str, column: str) -> Decimal | None:
    if text == "":
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise ValueError(f"{where}: {column} is {text!r}; allowed: a number or nothing")
    return number


def _count(text: str, where: str) -> int | None:
    if text == "":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{where}: n is {text!r}; allowed: an integer from 1 or nothing")
    return int(text)
