"""Tidy tables: the published numbers beside the measured ones, with a verdict on each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from flode.files import atomic_write
from flode.reporting.layout import Column, Subtable, parse_layout, rows_with_flode
from flode.reporting.published import FLODE, NOTHING, Published, cells
from flode.reporting.records import PERCENT_METRICS, Runs, Summary
from flode.reporting.verdicts import mean_verdict, setting_verdict

#: Columns of a tidy table, in order.
COLUMNS = (
    "table", "subtable", "row", "column", "metric", "unit", "mean", "std", "n",
    "published_mean", "published_std", "verdict", "note", "runs",
)  # fmt: skip

#: Stands in the note of every cell that comes from a quick run.
QUICK = "quick run"

#: Numbers that a run measures rather than takes: mean and spread over splits.
LEARNED = ("exponent", "step_size", "dirichlet_energy")

#: Rows of a hyperparameter table that the paper's table may lack: depths, and what was learned.
UNPUBLISHED_ROWS = ("num_layers", "encoder_layers", "decoder_layers", "exponent", "step_size")

_NUMBERS = ("mean", "std", "published_mean", "published_std")

RunsByKey = Mapping[tuple[str, str], Runs]
Reasons = Mapping[tuple[str, str], str]


def comparison_table(
    name: str,
    spec: Mapping[str, Any],
    published: pd.DataFrame,
    runs: RunsByKey,
    reasons: Reasons | None = None,
) -> pd.DataFrame:
    """Published and measured means of a table, one row a cell, columns `COLUMNS`.

    Args:
        name: the table's name.
        spec: its specification from the configuration (see `parse_layout`).
        published: the paper's numbers, from `read_published`.
        runs: ``{(variant, configuration): Runs}``, from `load_runs`.
        reasons: why a (variant, configuration) without runs was not run.

    Returns:
        Cells in printed order. Row ``FLODE`` has measured (``mean``, ``std``, ``n``, ``runs``) and
        published values and a verdict; a baseline's row has published values only. Means and
        population standard deviations are in ``unit`` (percent). A cell without runs has an empty
        mean, the verdict ``not run`` and the reason in ``note``.

    Raises:
        ValueError: the specification is wrong, or the metric of runs, specification and published
            values differ; names the cell.
    """
    layout, paper = parse_layout(name, spec, published), cells(published)
    metrics = _metrics(published)
    records = []
    for subtable in layout.subtables:
        for row in rows_with_flode(subtable):
            for column in subtable.columns:
                at = (subtable.name, row, column.name)
                if row != FLODE and at not in paper:
                    continue
                cell = paper.get(at, NOTHING)
                printed = metrics.get((subtable.name, column.name))
                record = _record(name, subtable, row, column, column.metric or printed, cell)
                _check_metric(record, printed)
                if row == FLODE:
                    run = _fill(record, column, runs, reasons)
                    if run is not None:
                        _check_metric(record, run.metric, run)
                    score = run.score() if run else None
                    _measure(record, score, mean_verdict(score, cell, record["metric"]))
                records.append(record)
    return _frame(records)


def hyperparameter_table(
    name: str,
    spec: Mapping[str, Any],
    published: pd.DataFrame,
    runs: RunsByKey,
    reasons: Reasons | None = None,
) -> pd.DataFrame:
    """Published and used hyperparameters, one row a cell, columns `COLUMNS`.

    Rows are hyperparameters by their key: those of ``published`` in its order, then the
    `UNPUBLISHED_ROWS`. ``mean`` is the value the runs used, or the mean of a learned number
    (`LEARNED`, with ``std`` and ``n`` over splits; the step size by its real part). The verdict is
    ``reproduced`` or ``differs`` for a hyperparameter, the rule for means for a learned number,
    else ``not published`` or ``not run``.

    Raises:
        ValueError: the specification is wrong, or a run does not state a hyperparameter.
    """
    layout, paper = parse_layout(name, spec, published), cells(published)
    units = dict(zip(published["row"], published["unit"], strict=True))
    records = []
    for subtable in layout.subtables:
        for row in dict.fromkeys([*subtable.groups, *UNPUBLISHED_ROWS]):
            for column in subtable.columns:
                cell = paper.get((subtable.name, row, column.name), NOTHING)
                record = _record(name, subtable, row, column, row, cell, units.get(row, ""))
                run = _fill(record, column, runs, reasons)
                if row in LEARNED:
                    learned = run.learned(row) if run else None
                    verdict = mean_verdict(learned, cell, row)
                    _measure(record, learned, verdict)
                    if run and learned is None:
                        _add_note(record, "the model has no such number")
                else:
                    used = run.setting(row) if run else None
                    record["mean"], record["verdict"] = used, setting_verdict(used, cell)
                records.append(record)
    return _frame(records)


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a tidy table as CSV, whole or not at all; numbers in full precision."""
    with atomic_write(path) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")


def read_table(path: str | Path) -> pd.DataFrame:
    """Read what `write_table` wrote: text stays text (a column may be named "0.10").

    Raises:
        ValueError: the columns are not those of a tidy table; names the file.
    """
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    if tuple(frame.columns) != COLUMNS:
        raise ValueError(
            f"{path}: columns are {', '.join(frame.columns)}; allowed: {', '.join(COLUMNS)}"
        )
    return _typed(frame)


def is_quick(frame: pd.DataFrame) -> bool:
    """Whether any cell of a tidy table comes from a quick run."""
    return bool(frame["note"].str.contains(QUICK, regex=False).any())


def _record(
    table: str,
    subtable: Subtable,
    row: str,
    column: Column,
    metric: str | None,
    cell: Published,
    unit: str | None = None,
) -> dict[str, Any]:
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
    if cell.error_kind == "standard error":
        _add_note(record, f"published_std is the printed standard error times √{cell.n}")
    return record


def _fill(
    record: dict[str, Any], column: Column, runs: RunsByKey, reasons: Reasons | None
) -> Runs | None:
    """The runs of a cell, entered in its record; without runs, the reason is."""
    run = runs.get(column.key) if column.key else None
    if run is not None:
        record["runs"] = ";".join(run.files)
        if run.quick:
            _add_note(record, QUICK)
        return run
    if column.key is None:
        _add_note(record, "the configuration names no run for this column")
    else:
        variant, configuration = column.key
        reason = (reasons or {}).get(column.key)
        reason = reason or f"no run of {variant}, configuration {configuration}"
        # A semicolon parts the remarks of a note.
        _add_note(record, reason.replace(";", ","))
    return None


def _measure(record: dict[str, Any], summary: Summary | None, verdict: str) -> None:
    record["verdict"] = verdict
    if summary is not None:
        record |= {"mean": summary.mean, "std": summary.std, "n": summary.n}


def _add_note(record: dict[str, Any], note: str) -> None:
    record["note"] = "; ".join(filter(None, [record["note"], note]))


def _metrics(published: pd.DataFrame) -> dict[tuple[str, str], str]:
    keys = zip(published["subtable"], published["column"], strict=True)
    return dict(zip(keys, published["metric"], strict=True))


def _check_metric(record: dict[str, Any], found: str | None, run: Runs | None = None) -> None:
    if found is not None and found != record["metric"]:
        source = run.files[0] if run else "the published values"
        raise ValueError(
            f"table {record['table']!r}, subtable {record['subtable']!r}, column "
            f"{record['column']!r}: metric is {found!r} in {source}; allowed: "
            f"{record['metric']!r}, as the table's specification says"
        )


def _frame(records: list[dict[str, Any]]) -> pd.DataFrame:
    return _typed(pd.DataFrame(records, columns=list(COLUMNS)))


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    for column in _NUMBERS:
        frame[column] = pd.to_numeric(frame[column].replace("", None)).astype(float)
    frame["n"] = pd.to_numeric(frame["n"].replace("", None)).astype("Int64")
    return frame
