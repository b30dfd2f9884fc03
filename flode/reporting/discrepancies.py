"""The table of discrepancies: what each reading of the paper gives, and which its numbers fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from flode.experiments.hyperparameters import DEFAULT
from flode.experiments.readings import DOMINANCE, EXTREMES, OF_GRAPHS
from flode.experiments.runfiles import PERCENT_METRICS
from flode.reporting.dominance import extreme, frequency_dominance
from flode.reporting.frequency import no_lambda_1
from flode.reporting.layout import Column, Subtable
from flode.reporting.published import DISAGREE, Published, cells
from flode.reporting.records import Runs
from flode.reporting.search import best_configuration, comparable
from flode.reporting.statistics import Statistics
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
from flode.reporting.verdicts import exact_verdict, mean_verdict

#: In the note of a reading that has the best mean validation metric of its row.
CHOSEN = "best by validation"

#: Published numbers by the name of their file.
PaperFiles = Mapping[str, pd.DataFrame]


def discrepancy_table(
    name: str,
    spec: Mapping[str, Any],
    published: PaperFiles,
    loaded: tuple[RunsByKey, Mapping[str, Statistics]],
    reasons: Reasons | None = None,
) -> pd.DataFrame:
    """A row for each reading of each row of the specification.

    Args:
        name: the table's name.
        spec: its specification, every reading with its ``variant``, ``configuration``,
            ``quantity`` and ``published`` cell (``Catalogue.table_settings``).
        published: frames of `read_published`, by the name of their file without suffix.
        loaded: runs by key, and statistics of graphs by variant.
        reasons: why a (variant, configuration) was not run; of statistics, under ``default``.

    Returns:
        A tidy table: ``subtable`` what is open, ``row`` a published number, ``column`` a reading.
        Each is judged against its own published cell by the rule for its quantity, also where the
        paper prints another value elsewhere. ``note`` says where the paper speaks of it and,
        where the readings of a row are runs on one graph, each one's mean validation metric and
        which is best.

    Raises:
        ValueError: a published cell that is not there, or runs of another metric; names it.
    """
    paper = {file: cells(frame) for file, frame in published.items()}
    records = []
    for key, subtable in spec["subtables"].items():
        block = Subtable(key, subtable["caption"], "", (), {})
        for row, entry in subtable["rows"].items():
            chosen = _chosen(entry["readings"], loaded[0])
            for label, reading in entry["readings"].items():
                column = Column(
                    label,
                    None,
                    reading["quantity"],
                    (reading["variant"], reading["configuration"]),
                )
                cell = _cell(paper, reading["published"], f"table {name!r}: {row}")
                record = new_record(name, block, row, column, column.metric, cell)
                add_note(record, subtable["source"])
                _measure(record, column, cell, loaded, reasons, chosen)
                records.append(record)
    return tidy_frame(records)


def _cell(paper: Mapping[str, Mapping], place: Mapping[str, str], where: str) -> Published:
    """A published cell, without the remark that another one disagrees."""
    at = (place["subtable"], place["row"], place["column"])
    if at not in paper.get(place["file"], {}):
        raise ValueError(f"{where}: {place['file']} has no published cell {at}")
    cell = paper[place["file"]][at]
    kept = (remark for remark in cell.note.split("; ") if remark != DISAGREE)
    return replace(cell, note="; ".join(kept))


def _chosen(readings: Mapping[str, Mapping], runs: RunsByKey) -> dict[str, str]:
    """What to say of each configuration's validation metric; nothing where the readings are not
    different runs on one graph, all of them there."""
    variants = {reading["variant"] for reading in readings.values()}
    configurations = list(dict.fromkeys(one["configuration"] for one in readings.values()))
    of_runs = all(reading["quantity"] not in OF_GRAPHS for reading in readings.values())
    if len(variants) > 1 or len(configurations) < 2 or not of_runs:
        return {}
    (variant,) = variants
    if any((variant, one) not in runs for one in configurations):
        return {}
    best = best_configuration(variant, configurations, runs)
    remarks = {}
    for one, own in comparable(variant, configurations, runs).items():
        score = own.score("validation")
        fewer = f" of {score.n} splits" if score.n < len(runs[variant, one].records) else ""
        chosen = f", {CHOSEN}" if one == best else ""
        remarks[one] = f"validation {score.mean:.2f} %{fewer}{chosen}"
    return remarks


def _measure(
    record: Record,
    column: Column,
    cell: Published,
    loaded: tuple[RunsByKey, Mapping[str, Statistics]],
    reasons: Reasons | None,
    chosen: Mapping[str, str],
) -> None:
    runs, statistics = loaded
    variant, configuration = column.key
    graph = statistics.get(variant)
    if column.metric in OF_GRAPHS:
        value = None if graph is None else graph.content[column.metric]
        record["mean"], record["verdict"] = value, exact_verdict(value, cell)
        if graph is None:
            add_reason(record, _why(reasons, variant))
        else:
            record["runs"] = graph.file
            if value is None:
                add_reason(record, f"{graph.file} has no {column.metric}")
        return
    run = fill(record, column, runs, reasons)
    summary = None
    if run is not None and column.metric in DOMINANCE and graph is None:
        add_reason(record, _why(reasons, variant))
    elif run is not None and column.metric in DOMINANCE and graph.content["lambda_1"] is None:
        add_reason(record, no_lambda_1(graph))
    elif run is not None:
        summary = _summary(record, column, run, graph)
        if summary is None:
            add_reason(record, f"the model has no {column.metric}")
        elif configuration in chosen:
            add_note(record, chosen[configuration])
    measure(record, summary, mean_verdict(summary, cell, column.metric))


def _summary(record: Record, column: Column, run: Runs, graph: Statistics | None):
    if column.metric in PERCENT_METRICS:
        check_metric(record, run.metric, run)
        return run.score()
    if column.metric in DOMINANCE:
        return frequency_dominance(run, graph.content["lambda_1"], column.metric)
    if column.metric in EXTREMES:
        return extreme(run, column.metric)
    return run.learned(column.metric)


def _why(reasons: Reasons | None, variant: str) -> str:
    return (reasons or {}).get((variant, DEFAULT)) or f"no statistics of {variant}"
