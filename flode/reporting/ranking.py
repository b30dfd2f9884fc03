"""The best models of each column, as the paper's summary of a comparison shows them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import inf
from typing import Any, TypeVar

import pandas as pd

from flode.experiments.checks import FLODE
from flode.reporting.layout import Column, Layout, Subtable, parse_layout
from flode.reporting.published import NOTHING, Published, cells, shared_digits
from flode.reporting.tidy import (
    Reasons,
    Record,
    RunsByKey,
    add_note,
    check_metric,
    fill,
    measure,
    metrics_of,
    new_record,
    tidy_frame,
)
from flode.reporting.verdicts import HIGHER, LOWER, QUICK_RUN, place_verdict

T = TypeVar("T")

#: Begins the remark on a cell that names the models with the same printed mean.
TIE = "same mean as "

_ALONE = "FLODE was not run, and the baselines are ranked alone"
_QUICK = "a quick run of FLODE is not ranked, and the baselines are ranked alone"


@dataclass(frozen=True)
class Field:
    """A column and what is printed about it.

    Attributes:
        metric: as the published comparison has it.
        models: cells of the full comparison, by model.
        places: (model, cell) of the summary, by place (``1st``).
    """

    subtable: Subtable
    column: Column
    metric: str
    models: Mapping[str, Published]
    places: Mapping[str, tuple[str, Published]]


@dataclass(frozen=True)
class _Entry:
    """A model that is ranked, its mean and ± as printed."""

    model: str
    mean: Decimal
    spread: float
    record: Record


def ranking_table(
    name: str,
    spec: Mapping[str, Any],
    full: pd.DataFrame,
    summary: pd.DataFrame,
    runs: RunsByKey,
    reasons: Reasons | None = None,
) -> pd.DataFrame:
    """The best ``marked`` models of each column: published baselines and the measured FLODE.

    Args:
        name, spec, runs, reasons: see `comparison_table`; the columns are the summary's.
        full: the published comparison that the models are taken from.
        summary: the paper's own ranking: rows 1st, 2nd, 3rd, the model in a column ``method``.

    Returns:
        Column by column a cell a place, columns `COLUMNS`; its row is ``2nd: GREAD``. Models are
        ranked by their means as printed; of equal means the one with the smaller ± stands first,
        and the note names the others. FLODE's cell has measured and published values, and a
        verdict on its place (`place_verdict`); it stands last, as ``7th: FLODE``, when FLODE is
        not among the best, and as ``FLODE`` when it was not run, or in a quick run, which is
        not ranked. A baseline's cell has the
        published values of ``full``. Where the summary has another model, the note says which.

    Raises:
        ValueError: the specification is wrong, the full comparison lacks a column, the summary
            lacks its column ``method`` or has a row that is no place, or metrics differ; names it.
    """
    layout, fields = parse_ranking(name, spec, full, summary)
    records = []
    for field in fields:
        records += _records(name, field, layout.marked, runs, reasons)
    return tidy_frame(records)


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``3rd``, ``4th``, ..."""
    suffixes = {1: "st", 2: "nd", 3: "rd"}
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else suffixes.get(number % 10, 'th')}"


def place_of(row: str) -> tuple[int | None, str]:
    """``(2, "GREAD")`` of ``2nd: GREAD``; of a model without a place None and itself."""
    place, _, model = row.partition(": ")
    number = _number(place) if model else None
    return (None, row) if number is None else (number, model)


def _number(place: str) -> int | None:
    """``2`` of ``2nd``; None of what is no place."""
    found = re.fullmatch("([1-9][0-9]*)(st|nd|rd|th)", place)
    return int(found[1]) if found and ordinal(int(found[1])) == place else None


def parse_ranking(
    name: str, spec: Mapping[str, Any], full: pd.DataFrame, summary: pd.DataFrame
) -> tuple[Layout, list[Field]]:
    """The layout of a ranking, and its columns with what is printed about them.

    Raises:
        ValueError: see `ranking_table`.
    """
    layout, metrics = parse_layout(name, spec, summary), metrics_of(full)
    if layout.marked < 1:
        raise ValueError(f"table {name!r}: marked is 0; allowed: 1 to 3, the places it shows")
    if "method" not in summary:
        raise ValueError(f"table {name!r}: the published summary lacks a column 'method'")
    compared = _by_column(cells(full))
    printed = cells(summary)
    for _, row, _ in printed:
        if _number(row) is None:
            raise ValueError(
                f"table {name!r}: a row of the summary is {row!r}; allowed: 1st, 2nd, ..."
            )
    methods = dict(zip(printed, summary["method"], strict=True))
    ranked = _by_column({at: (methods[at], cell) for at, cell in printed.items()})
    fields = []
    for subtable in layout.subtables:
        for column in subtable.columns:
            here = (subtable.name, column.name)
            if here not in metrics:
                known = ", ".join(repr(c) for s, c in metrics if s == subtable.name)
                raise ValueError(
                    f"table {name!r}, subtable {subtable.name!r}: column {column.name!r} is not in "
                    f"the full comparison; allowed: {known}"
                )
            fields.append(
                Field(subtable, column, metrics[here], compared[here], ranked.get(here, {}))
            )
    return layout, fields


def _by_column(printed: Mapping[tuple[str, str, str], T]) -> dict[tuple[str, str], dict[str, T]]:
    """``{(subtable, column): {row: value}}``."""
    found: dict[tuple[str, str], dict[str, T]] = {}
    for (subtable, row, column), value in printed.items():
        found.setdefault((subtable, column), {})[row] = value
    return found


def _records(
    name: str, field: Field, marked: int, runs: RunsByKey, reasons: Reasons | None
) -> list[Record]:
    """The records of a column: its best models, then FLODE if it is not one of them."""

    def new(model: str) -> Record:
        metric, cell = field.column.metric or field.metric, field.models.get(model, NOTHING)
        record = new_record(name, field.subtable, model, field.column, metric, cell)
        check_metric(record, field.metric)
        return record

    entries = [
        _Entry(model, Decimal(cell.text), inf if cell.std is None else cell.std, new(model))
        for model, cell in field.models.items()
        if model != FLODE and cell.text
    ]
    flode = new(FLODE)
    run = fill(flode, field.column, runs, reasons)
    score, better, tied = None, None, 0
    if run is not None:
        check_metric(flode, run.metric, run)
        score = run.score()
        if not run.quick:
            digits, std_digits = digits_of(field)
            mean = Decimal(f"{score.mean:.{digits}f}")
            better = sum(entry.mean > mean for entry in entries)
            tied = sum(entry.mean == mean for entry in entries)
            entries.append(_Entry(FLODE, mean, round(score.std, std_digits), flode))
    entries.sort(key=lambda entry: (-entry.mean, entry.spread))
    for place, entry in enumerate(entries, start=1):
        _enter(entry, place, entries, field)
    in_paper = {model: _number(place) for place, (model, _) in field.places.items()}
    published = in_paper.get(FLODE)
    place = None if better is None else better + 1
    disagrees = field.models.get(FLODE, NOTHING).disagrees
    quick = run is not None and run.quick
    verdict = QUICK_RUN if quick else place_verdict(place, tied + 1, published, disagrees)
    measure(flode, score, verdict)
    if verdict in (HIGHER, LOWER):
        add_note(flode, f"{ordinal(published)} in the paper")
    best = [entry.record for entry in entries[:marked]]
    if better is None:
        for record in best:
            add_note(record, _QUICK if quick else _ALONE)
    return best if any(record is flode for record in best) else [*best, flode]


def _enter(entry: _Entry, place: int, entries: list[_Entry], field: Field) -> None:
    """Name the place in a record, and whom the paper has there."""
    entry.record["row"] = f"{ordinal(place)}: {entry.model}"
    ties = [one.model for one in entries if one.mean == entry.mean and one is not entry]
    if ties:
        add_note(entry.record, TIE + ", ".join(ties))
    model, cell = field.places.get(ordinal(place), (entry.model, NOTHING))
    if model != entry.model:
        add_note(entry.record, f"in this place the paper has {model}, {cell.text}")


def digits_of(field: Field) -> tuple[int, int]:
    """Digits of a measured mean and its ±: those of FLODE's published one."""
    return shared_digits([field.models.get(FLODE, NOTHING), *field.models.values()])
