"""Tidy tables as LaTeX fragments in the paper's shape (booktabs, multirow and xcolor suffice)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from itertools import groupby
from typing import Any

import pandas as pd

from flode.experiments.checks import FLODE
from flode.reporting.fragments import (
    EMPTY,
    NOT_RUN_CELL,
    Cells,
    Paper,
    assemble,
    cell_at,
    lettered_blocks,
    parse,
    published_text,
)
from flode.reporting.layout import Column, Layout, Subtable, rows_with_flode
from flode.reporting.notes import (
    UNLIKE,
    any_unlike,
    by_column,
    by_row,
    not_run_notes,
    over_splits,
    standard_error_note,
    verdict_notes,
)
from flode.reporting.places import hyperparameter
from flode.reporting.published import DISAGREE, NOTHING, shared_digits
from flode.reporting.ranking import ordinal
from flode.reporting.records import splits_of
from flode.reporting.tables import LEARNED, UNPUBLISHED_ROWS
from flode.reporting.typeset import escape, fixed, mark, ranks, scientific, stacked
from flode.reporting.verdicts import MEAN_RULE, NOT_PUBLISHED, NOT_RUN, QUICK_RUN

_DECIMALS = 2

#: Characters of LaTeX of two values that stand in one line, such as ``$2$`` and ``$1$``.
_ONE_LINE = 6


def render_comparison(
    frame: pd.DataFrame, spec: Mapping[str, Any], published: pd.DataFrame, quick: bool = False
) -> str:
    """A comparison table: published baselines, ``FLODE (measured)`` and other measured models
    ranked with them, and below each ``(published)``, which is not ranked.

    Args:
        frame: the tidy table from `comparison_table`.
        spec, published: what that table was made from; ``published`` gives the printed digits.
        quick: stamp the table; also done when a cell comes from a quick run.

    Raises:
        ValueError: the specification is wrong, or ``frame`` lacks one of its cells.
    """
    layout, tidy, paper = parse(frame, spec, published)
    blocks = []
    for subtable in layout.subtables:
        columns = [
            _comparison_column(layout, subtable, column, tidy, paper, quick)
            for column in subtable.columns
        ]
        rows = zip(_names(subtable), *columns, strict=True)
        blocks.append(
            [
                [[name, *cell_row] for (name, _), *cell_row in part]
                for _, part in groupby(rows, key=lambda row: row[0][1])
            ]
        )
    notes = [
        *(_models_notes(layout, frame) if spec.get("models") else _flode_notes(frame)),
        r"$\pm$ is the standard deviation" + over_splits(frame) + standard_error_note(published),
        *verdict_notes(
            frame[frame["row"] == FLODE],
            by_column(layout),
            MEAN_RULE,
            of=FLODE if spec.get("models") else "",
        ),
        *not_run_notes(frame, by_row(layout) if spec.get("models") else by_column(layout)),
    ]
    return assemble(frame, spec, lettered_blocks(layout, blocks), notes, quick)


def _flode_notes(frame: pd.DataFrame) -> list[str]:
    """What is ranked where FLODE alone is measured."""
    quick = (frame["verdict"] == QUICK_RUN).any()
    ranked = "The published baselines are ranked"
    if not quick:
        ranked = "FLODE (measured) and the published baselines are ranked together"
    return [
        f"{ranked} by their printed means; equal means share a rank.",
        r"\flodepublished{FLODE (published)}, in grey, is not ranked.",
    ]


def _models_notes(layout: Layout, frame: pd.DataFrame) -> list[str]:
    """What is ranked and how it is marked where other models are measured too."""
    measured = {FLODE}.union(*(subtable.models for subtable in layout.subtables))
    baselines = not set(frame["row"]) <= measured
    ranked = ["measured models"] if not (frame["verdict"] == QUICK_RUN).any() else []
    ranked += ["the other, published baselines"] if baselines else []
    notes = []
    if ranked and layout.marked:
        marks = ", ".join(mark(ordinal(rank + 1), rank) for rank in range(layout.marked))
        notes.append(
            f"Marked in each column: {marks} of {' and '.join(ranked)}, by their printed means; "
            "equal means share a rank."
        )
        if (frame["verdict"].eq(NOT_RUN) & frame["row"].isin(measured - {FLODE})).any():
            notes.append("A column in which one other than FLODE was not run is left unmarked.")
        own = frame[frame["row"].isin(measured)]
        if any_unlike(own.groupby(["subtable", "column"])):
            notes.append(f"{UNLIKE}.")
    grey = r"\flodepublished{In grey}: what the paper prints for a measured model, not ranked."
    return [*notes, grey]


def render_hyperparameters(
    frame: pd.DataFrame, spec: Mapping[str, Any], published: pd.DataFrame, quick: bool = False
) -> str:
    """A hyperparameter table: the values used, with the published one in brackets if it differs,
    and the learned numbers, with the published ones in brackets.

    Arguments and errors are those of `render_comparison`; ``frame`` is from
    `hyperparameter_table`.
    """
    layout, tidy, paper = parse(frame, spec, published)
    blocks = []
    for subtable in layout.subtables:
        names = dict.fromkeys([*subtable.groups, *UNPUBLISHED_ROWS])
        rows = {
            name: [
                _hyperparameter(
                    cell_at(tidy, (subtable.name, name, column.name)),
                    paper.get((subtable.name, name, column.name), NOTHING),
                )
                for column in subtable.columns
            ]
            for name in names
        }
        own = [name for name in names if name not in subtable.groups]
        parts = [
            *_groups(subtable.groups),
            [name for name in own if name not in LEARNED],
            [name for name in own if name in LEARNED],
        ]
        labels = {
            name: hyperparameter(name) + (r"$^\dagger$" if name in own else "") for name in names
        }
        blocks.append([[[labels[name], *rows[name]] for name in part] for part in parts if part])
    notes = _hyperparameter_notes(layout, frame)
    return assemble(frame, spec, lettered_blocks(layout, blocks), notes, quick)


def _hyperparameter_notes(layout: Layout, frame: pd.DataFrame) -> list[str]:
    notes = ["Values used in the measured runs; in brackets the published one where it differs."]
    learned = frame[frame["row"].isin(LEARNED)]
    published = learned[learned["published_mean"].notna()]
    unpublished = (frame["verdict"] == QUICK_RUN) & frame["published_mean"].isna()
    if ((frame["verdict"] == NOT_PUBLISHED) | unpublished).any():
        notes.append(r"$^\dagger$\,Not published.")
    if frame["n"].notna().any():
        brackets = "; in brackets the published ones" if len(published) else ""
        text = r"Learned numbers: mean $\pm$ standard deviation" + over_splits(frame)
        notes.append(f"{text}{brackets}.")
    column = by_column(layout)

    def place(cell: Any) -> tuple[str, str]:
        return " ".join(column(cell)), hyperparameter(cell.row)

    disagree = frame[~frame["row"].isin(LEARNED) & (frame["verdict"] == DISAGREE)]
    if len(disagree):
        notes.append(r"$^\ddagger$\,The paper gives two values.")
    notes += verdict_notes(pd.concat([published, disagree]), place, MEAN_RULE)
    return notes + not_run_notes(frame, column)


def _comparison_column(
    layout: Layout, subtable: Subtable, column: Column, tidy: Cells, paper: Paper, quick: bool
) -> list[str]:
    """Cells of a column from top to bottom, of a measured model the measured and the published."""
    rows = list(rows_with_flode(subtable))
    printed = {row: paper.get((subtable.name, row, column.name), NOTHING) for row in rows}
    # A measured number gets the digits of FLODE's published one, else those of its column.
    digits, std_digits = shared_digits([printed[FLODE], *printed.values()])
    texts, values, splits = [], [], []
    for row in rows:
        over = frozenset()
        if row == FLODE or row in subtable.models:
            cell = cell_at(tidy, (subtable.name, row, column.name))
            text, value = NOT_RUN_CELL, None
            if pd.notna(cell.mean):
                text = fixed(cell.mean, cell.std, digits, std_digits)
                if not quick and QUICK_RUN not in (cell.verdict, *cell.note.split("; ")):
                    value, over = Decimal(f"{cell.mean:.{digits}f}"), splits_of(cell.runs)
        else:
            cell = tidy.get((subtable.name, row, column.name))
            text = published_text(cell, printed[row])
            value = Decimal(printed[row].text) if printed[row].text else None
        texts.append(text)
        values.append(value)
        splits.append(over)
    # A place that is won against a model which was not run says nothing.
    unmarked = any(
        text == NOT_RUN_CELL
        for row, text in zip(rows, texts, strict=True)
        if row in subtable.models
    )
    places = [None] * len(rows) if unmarked else ranks(values, layout.marked, splits)
    result = []
    for row, text, rank in zip(rows, texts, places, strict=True):
        result.append(mark(text, rank))
        if _is_twofold(subtable, row):
            cell = cell_at(tidy, (subtable.name, row, column.name))
            result.append(rf"\flodepublished{{{published_text(cell, printed[row])}}}")
    return result


def _is_twofold(subtable: Subtable, row: str) -> bool:
    """Whether a row is shown as two, measured and published."""
    return row == FLODE or (row in subtable.models and row in subtable.printed)


def _hyperparameter(cell: Any, printed: Any) -> str:
    if cell.verdict == NOT_RUN:
        return NOT_RUN_CELL
    if pd.isna(cell.mean):
        return EMPTY
    if cell.row in LEARNED:
        digits = printed.decimals if printed.decimals is not None else _DECIMALS
        text = fixed(cell.mean, cell.std, digits, printed.error_decimals or digits)
        other = "" if pd.isna(cell.published_mean) else published_text(cell, printed)
    else:
        text = scientific(cell.mean) + (r"$^\ddagger$" if cell.verdict == DISAGREE else "")
        same = pd.isna(cell.published_mean) or math.isclose(cell.mean, cell.published_mean)
        other = "" if same else scientific(cell.published_mean)
    if not other:
        return text
    if len(text + other) <= _ONE_LINE:
        return f"{text} [{other}]"
    # Two lines, so that a wide table stays on its page.
    return stacked(text, f"[{other}]")


def _names(subtable: Subtable) -> list[tuple[str, int]]:
    """Name (LaTeX) and group of each displayed row: a measured model's is two, measured and
    published, where both are shown."""
    names = []
    for row, group in rows_with_flode(subtable).items():
        name, measured = escape(row), row == FLODE or row in subtable.models
        label = f"{name} (measured)" if measured else name
        names.append((rf"\textbf{{{label}}}" if row == FLODE else label, group))
        if _is_twofold(subtable, row):
            names.append((rf"\flodepublished{{{name} (published)}}", group))
    return names


def _groups(groups: Mapping[str, int]) -> list[list[str]]:
    return [list(rows) for _, rows in groupby(groups, key=groups.__getitem__)]
