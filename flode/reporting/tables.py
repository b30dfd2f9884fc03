"""Tidy tables: the published numbers beside the measured ones, with a verdict on each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from flode.experiments.checks import FLODE
from flode.reporting.layout import of_model, parse_layout, rows_with_flode
from flode.reporting.published import NOTHING, cells
from flode.reporting.tidy import (
    COLUMNS,
    Reasons,
    RunsByKey,
    add_note,
    check_metric,
    fill,
    is_quick,
    measure,
    metrics_of,
    new_record,
    read_table,
    tidy_frame,
    write_table,
)
from flode.reporting.verdicts import NOT_RUN, mean_verdict, setting_verdict

__all__ = [
    "COLUMNS",
    "comparison_table",
    "hyperparameter_table",
    "is_quick",
    "read_table",
    "write_table",
]

#: Numbers that a run measures rather than takes: mean and spread over splits.
LEARNED = ("exponent", "step_size", "dirichlet_energy")

#: Rows of a hyperparameter table that the paper's table may lack: depths, and what was learned.
UNPUBLISHED_ROWS = ("num_layers", "encoder_layers", "decoder_layers", "exponent", "step_size")


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
        published values and a verdict; the row of another model that is measured has both without
        one, and a baseline's row has published values only. Means and
        population standard deviations are in ``unit`` (percent). A cell without runs has an empty
        mean, the verdict ``not run`` and the reason in ``note``.

    Raises:
        ValueError: the specification is wrong, or the metric of runs, specification and published
            values differ; names the cell.
    """
    layout, paper = parse_layout(name, spec, published), cells(published)
    metrics = metrics_of(published)
    records = []
    for subtable in layout.subtables:
        for row in rows_with_flode(subtable):
            for column in subtable.columns:
                at = (subtable.name, row, column.name)
                measured = row == FLODE or row in subtable.models
                if not measured and at not in paper:
                    continue
                cell = paper.get(at, NOTHING)
                printed = metrics.get((subtable.name, column.name))
                record = new_record(name, subtable, row, column, column.metric or printed, cell)
                check_metric(record, printed)
                if measured:
                    run = fill(record, of_model(column, subtable, row), runs, reasons)
                    if run is not None:
                        check_metric(record, run.metric, run)
                    score = run.score() if run else None
                    measure(record, score, mean_verdict(score, cell, record["metric"]))
                    if row != FLODE and record["verdict"] != NOT_RUN:
                        record["verdict"] = ""  # the paper's number is not of a run of its own
                records.append(record)
    return tidy_frame(records)


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
    else ``published values disagree``, ``not published`` or ``not run``.

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
                record = new_record(name, subtable, row, column, row, cell, units.get(row, ""))
                run = fill(record, column, runs, reasons)
                if row in LEARNED:
                    learned = run.learned(row) if run else None
                    measure(record, learned, mean_verdict(learned, cell, row))
                    if run and learned is None:
                        add_note(record, "the model has no such number")
                else:
                    used = run.setting(row) if run else None
                    record["mean"], record["verdict"] = used, setting_verdict(used, cell)
                records.append(record)
    return tidy_frame(records)
