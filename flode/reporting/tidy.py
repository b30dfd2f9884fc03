"""Tidy tables: how the record of a cell is made, and how a table is written and read."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from math import isclose
from pathlib import Path
from typing import Any

import pandas as pd

from flode.experiments.runfiles import PERCENT_METRICS
from flode.files import MADE_AGAIN, atomic_write, naming_damage
from flode.reporting.layout import Column, Subtable
from flode.reporting.published import Published, decimals
from flode.reporting.records import Runs, Summary
from flode.reporting.verdicts import NOT_RUN, QUICK_RUN

#: Columns of a tidy table, in order.
COLUMNS = (
    "table", "subtable", "row", "column", "metric", "unit", "mean", "std", "n",
    "published_mean", "published_std", "verdict", "note", "runs",
)  # fmt: skip

#: Stands in the note of every cell that comes from a quick run.
QUICK = QUICK_RUN

_NUMBERS = ("mean", "std", "published_mean", "published_std")

#: Further columns of a table in memory: how many digits after the point the paper prints of a
#: number and of its ±, where it prints them. A file has the published numbers with these digits.
PRINTED = {"published_mean": "decimals", "published_std": "error_decimals"}

#: More digits than any ± is printed with: of a standard error times √n.
_MAX_PRINTED = 6

RunsByKey = Mapping[tuple[str, str], Runs]
Reasons = Mapping[tuple[str, str], str]
Record = dict[str, Any]


def new_record(
    table: str,
    subtable: Subtable,
    row: str,
    column: Column,
    metric: str | None,
    cell: Published,
    unit: str | None = None,
) -> Record:
    """A cell with its published value and without a measured one.

    Args:
        metric: what the number is.
        cell: the published value.
        unit: None for the metric's own.

    Raises:
        ValueError: there is no metric; names the cell.
    """
    if metric is None:
        raise ValueError(
            f"table {table!r}, subtable {subtable.name!r}, column {column.name!r}: no metric; "
            "allowed: one in the table's specification or in the published values"
        )
    record = dict.fromkeys(COLUMNS, "")
    record |= {"table": table, "subtable": subtable.name, "row": row, "column": column.name}
    record |= {"metric": metric, "unit": unit, "note": cell.note}
    if unit is None:
        record["unit"] = "%" if metric in PERCENT_METRICS else ""
    record |= {"mean": None, "std": None, "n": None}
    record |= {"published_mean": cell.mean, "published_std": cell.std}
    record |= {"decimals": cell.decimals, "error_decimals": cell.error_decimals}
    if cell.error_kind == "standard error":
        record["error_decimals"] = None  # of a number that is not printed
        add_note(record, f"published_std is the printed standard error times √{cell.n}")
    return record


def fill(record: Record, column: Column, runs: RunsByKey, reasons: Reasons | None) -> Runs | None:
    """The runs of a cell, entered in its record; without runs, the reason is."""
    run = runs.get(column.key) if column.key else None
    if run is not None:
        record["runs"] = ";".join(run.files)
        if run.quick:
            add_note(record, QUICK)
        if run.diverged:
            add_reason(record, run.diverged)
            return None
        return run
    if column.key is None:
        add_note(record, "the configuration names no run for this column")
    else:
        variant, configuration = column.key
        reason = (reasons or {}).get(column.key)
        add_reason(record, reason or f"no run of {variant}, configuration {configuration}")
    return None


def measure(record: Record, summary: Summary | None, verdict: str) -> None:
    """Enter what was measured, and the verdict."""
    record["verdict"] = verdict
    if summary is not None:
        record |= {"mean": summary.mean, "std": summary.std, "n": summary.n}


def add_note(record: Record, note: str) -> None:
    """Add a remark, or several parted by semicolons."""
    record["note"] = "; ".join(filter(None, [record["note"], note]))


def add_reason(record: Record, reason: str) -> None:
    """Add why a cell was not run, as the last and as one remark."""
    add_note(record, reason.replace(";", ","))


def metrics_of(published: pd.DataFrame) -> dict[tuple[str, str], str]:
    """``{(subtable, column): metric}`` of published values."""
    keys = zip(published["subtable"], published["column"], strict=True)
    return dict(zip(keys, published["metric"], strict=True))


def check_metric(record: Record, found: str | None, run: Runs | None = None) -> None:
    """Refuse a metric, of runs or of published values, that is not the record's.

    Raises:
        ValueError: names the cell and where the other metric is.
    """
    if found is not None and found != record["metric"]:
        source = run.files[0] if run else "the published values"
        raise ValueError(
            f"table {record['table']!r}, subtable {record['subtable']!r}, column "
            f"{record['column']!r}: metric is {found!r} in {source}; allowed: "
            f"{record['metric']!r}, as the table's specification says"
        )


def tidy_frame(records: list[Record]) -> pd.DataFrame:
    """The table of these records, columns `COLUMNS` and those of `PRINTED`, each of its type."""
    return _typed(pd.DataFrame(records, columns=[*COLUMNS, *PRINTED.values()]))


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table as CSV, whole or not at all: measured numbers in full precision, published
    ones as they are printed."""
    frame = frame.copy()
    for column, digits in PRINTED.items():
        if digits in frame:
            pairs = zip(frame[column], frame.pop(digits), strict=True)
            frame[column] = [_as_printed(value, places) for value, places in pairs]
    with atomic_write(path) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")


def _as_printed(value: float, digits: Any) -> Any:
    """The number with so many digits, unless it has more: a standard error times √n."""
    if pd.isna(value) or pd.isna(digits):
        return value
    text = f"{value:.{digits}f}"
    return text if isclose(float(text), value, rel_tol=1e-9) else value


def _printed_digits(text: str) -> int | None:
    """Digits after the point of a number in a file; None of one that is not as printed."""
    found = decimals(Decimal(text)) if text else None
    return None if found is None or found > _MAX_PRINTED else found


def read_table(path: str | Path) -> pd.DataFrame:
    """Read what `write_table` wrote: text stays text (a column may be named "0.10").

    Raises:
        ValueError: the columns are not those of a tidy table; names the file.
    """
    frame = read_csv(path, dtype=str, keep_default_na=False)
    if tuple(frame.columns) != COLUMNS:
        raise ValueError(
            f"{path}: columns are {', '.join(frame.columns)}; allowed: {', '.join(COLUMNS)};"
            f" {MADE_AGAIN}"
        )
    try:
        for column, digits in PRINTED.items():
            frame[digits] = [_printed_digits(text) for text in frame[column]]
        return _typed(frame)
    except (InvalidOperation, TypeError, ValueError) as error:
        raise ValueError(f"{path}: a number does not parse: {error}; {MADE_AGAIN}") from error


def read_csv(path: str | Path, **options: Any) -> pd.DataFrame:
    """Read a CSV file that the workflow wrote.

    Raises:
        ValueError: the file is empty, damaged or without rows; names it.
    """
    with naming_damage(path, "no CSV file"):
        frame = pd.read_csv(path, **options)
        if frame.empty:
            raise ValueError("it has no rows")
    return frame


def is_quick(frame: pd.DataFrame) -> bool:
    """Whether any cell of a tidy table, or row of a study, comes from a quick run."""
    if "note" not in frame:
        return False
    return bool(frame["note"].astype(str).str.contains(QUICK, regex=False).any())


def files_behind(frame: pd.DataFrame) -> list[str]:
    """Files that the numbers of a table rest on, each once, in the order of appearance."""
    listed = frame["runs"].dropna() if "runs" in frame else ()
    return list(dict.fromkeys(file for cell in listed for file in cell.split(";") if file))


def not_run(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Cells that were not run, by their reasons, in order of appearance."""
    missing = frame[frame["verdict"] == NOT_RUN]
    # The reason stands last, after remarks on the published value.
    reasons = missing["note"].str.split("; ").str[-1]
    return {str(reason): own for reason, own in missing.groupby(reasons, sort=False)}


def without_verdicts(frame: pd.DataFrame) -> pd.DataFrame:
    """The table of a quick run: each verdict is `QUICK_RUN`, but for cells that were not run, and
    each such cell's note says it too."""
    quick = frame.copy()
    judged = ~frame["verdict"].isin(["", NOT_RUN])
    quick.loc[judged, "verdict"] = QUICK_RUN
    silent = judged & ~frame["note"].str.contains(QUICK, regex=False)
    notes = [f"{note}; {QUICK}" if note else QUICK for note in frame.loc[silent, "note"]]
    quick.loc[silent, "note"] = notes
    return quick


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    for column in _NUMBERS:
        frame[column] = pd.to_numeric(frame[column].replace("", None)).astype(float)
    for column in ("n", *PRINTED.values()):
        frame[column] = pd.to_numeric(frame[column].replace("", None)).astype("Int64")
    return frame
