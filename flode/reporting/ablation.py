"""The ablation table: model options, each with its hyperparameters chosen by validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from flode.reporting.layout import Column, parse_options
from flode.reporting.published import NOTHING, cells
from flode.reporting.search import best_configuration
from flode.reporting.tidy import (
    Reasons,
    RunsByKey,
    add_note,
    add_reason,
    fill,
    measure,
    new_record,
    tidy_frame,
)
from flode.reporting.verdicts import NOT_RUN, mean_verdict, setting_verdict

#: Columns of the table and of the published file, and the metric of each.
COLUMNS = {
    "test accuracy": "accuracy",
    "dirichlet energy": "dirichlet_energy",
    "layers": "num_layers",
}


def ablation_table(
    name: str,
    spec: Mapping[str, Any],
    published: pd.DataFrame,
    runs: RunsByKey,
    reasons: Reasons | None = None,
) -> pd.DataFrame:
    """Accuracy, energy and number of layers of each row's best candidate, by mean validation.

    Args:
        name: the table's name.
        spec: its specification, each row with its ``candidates`` (``Catalogue.table_settings``).
        published: the paper's numbers, from `read_published`.
        runs: ``{(variant, configuration): Runs}``, from `load_runs`.
        reasons: why a (variant, configuration) without runs was not run.

    Returns:
        A tidy table. A row with a candidate that was not run has no choice and is ``not run``; one
        that diverged is not chosen. The note names the choice and its validation accuracy.
    """
    paper, records = cells(published), []
    for subtable in parse_options(name, spec, published):
        for row, options in subtable.rows.items():
            variant, candidates = options["variant"], options["candidates"]
            missing = [one for one in candidates if (variant, one) not in runs]
            chosen = None if missing else best_configuration(variant, candidates, runs)
            key = (variant, chosen or (missing or list(candidates))[0])
            for label, metric in COLUMNS.items():
                cell = paper.get((subtable.name, row, label), NOTHING)
                column = Column(label, None, metric, key)
                record = new_record(name, subtable, row, column, metric, cell)
                if missing:
                    reason = (reasons or {}).get(key)
                    add_reason(record, reason or f"no run of {key[0]}, configuration {key[1]}")
                    record["verdict"] = NOT_RUN
                else:
                    _fill(
                        record, column, cell, fill(record, column, runs, reasons), len(candidates)
                    )
                records.append(record)
    return tidy_frame(records)


def _fill(record, column, cell, run, candidates):
    if run is None:  # all candidates diverged
        record["verdict"] = NOT_RUN
    elif column.metric == "num_layers":
        record["mean"] = run.setting("num_layers")
        record["verdict"] = setting_verdict(record["mean"], cell)
        validation = run.score("validation").mean
        add_note(record, f"best of {candidates} by validation, {validation:.2f} %")
    else:
        accuracy = column.metric == run.metric
        summary = run.score() if accuracy else run.learned(column.metric)
        measure(record, summary, mean_verdict(summary, cell, column.metric))
