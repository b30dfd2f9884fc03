"""The ablation table: model options, each with its hyperparameters chosen by validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from flode.reporting.layout import Column, parse_options
from flode.reporting.published import NOTHING, Published, cells
from flode.reporting.records import Runs
from flode.reporting.search import best_configuration, comparable
from flode.reporting.tidy import (
    Reasons,
    Record,
    RunsByKey,
    add_note,
    add_reason,
    check_metric,
    fill,
    measure,
    new_record,
    tidy_frame,
)
from flode.reporting.verdicts import NOT_RUN, mean_verdict, setting_verdict

#: Columns of the published file, and the metric of each.
COLUMNS = {
    "test accuracy": "accuracy",
    "dirichlet energy": "dirichlet_energy",
    "layers": "num_layers",
}

#: Added to a column's name where the number of layers is not chosen but the paper's (or, where it
#: prints none, the variant's).
AS_PUBLISHED = ", published layers"


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
        A tidy table, columns `COLUMNS` of the candidate that validation chooses and, with
        `AS_PUBLISHED`, of the one that has the paper's number of layers. A row with a candidate
        that was not run has no choice and is ``not run``; one that diverged is not chosen. The note
        of the number of layers gives the choice's validation accuracy.
    """
    paper, records = cells(published), []
    for subtable in parse_options(name, spec, published):
        for row, options in subtable.rows.items():
            variant, candidates = options["variant"], options["candidates"]
            printed = paper.get((subtable.name, row, "layers"), NOTHING).mean
            layers = printed or options["default"]["num_layers"]
            # Of hyperparameters chosen besides, the variant's.
            wanted = options["default"] | {"num_layers": layers}
            as_published = next(
                (one for one, values in candidates.items() if values == wanted), None
            )
            missing = [one for one in candidates if (variant, one) not in runs]
            chosen = None if missing else best_configuration(variant, candidates, runs)
            for suffix, one in (("", chosen), (AS_PUBLISHED, as_published)):
                key = (variant, one or (missing or list(candidates))[0])
                run = runs.get(key) if one else None
                for label, metric in COLUMNS.items():
                    cell = paper.get((subtable.name, row, label), NOTHING)
                    column = Column(label + suffix, None, metric, key)
                    record = new_record(name, subtable, row, column, metric, cell)
                    if one is None and suffix:
                        add_reason(record, f"no candidate has {layers:g} layers")
                    elif one is None and not missing:
                        add_reason(record, "no candidate has a result")
                    else:
                        run = fill(record, column, {key: run} if run else {}, reasons)
                    if run and label == "test accuracy":
                        check_metric(record, run.metric, run)
                    _measure(record, metric, cell, run)
                    if run and metric == "num_layers" and not suffix:
                        validation = comparable(variant, candidates, runs)[one].score("validation")
                        best = f"best of {len(candidates)} by validation, {validation.mean:.2f} %"
                        add_note(record, best)
                    records.append(record)
    return tidy_frame(records)


def _measure(record: Record, metric: str, cell: Published, run: Runs | None) -> None:
    if run is None:
        record["verdict"] = NOT_RUN
    elif metric == "num_layers":
        record["mean"] = run.setting(metric)
        record["verdict"] = setting_verdict(record["mean"], cell)
    else:
        summary = run.score() if metric == run.metric else run.learned(metric)
        measure(record, summary, mean_verdict(summary, cell, metric))
