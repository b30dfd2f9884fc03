"""The ablation table as a LaTeX fragment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import groupby
from string import ascii_lowercase
from typing import Any

import pandas as pd

from flode.reporting.ablation import AS_PUBLISHED, COLUMNS
from flode.reporting.fragments import (
    EMPTY,
    NOT_RUN_CELL,
    assemble,
    cell_at,
    published_text,
    table_name,
    tidy_cells,
)
from flode.reporting.layout import OptionBlock, parse_options
from flode.reporting.notes import UNLIKE, any_unlike, not_run_notes, over_splits, verdict_notes
from flode.reporting.places import label, option
from flode.reporting.published import NOTHING, cells
from flode.reporting.records import splits_of
from flode.reporting.tidy import not_run
from flode.reporting.typeset import blocks_beside, escape, fixed, mark, ranks, tabular
from flode.reporting.verdicts import MEAN_RULE

_HEADER = (("layers chosen by validation", 3), ("layers as published", 2), ("published", 3))
_LABELS = ("accuracy", "energy", "$t$", "accuracy", "energy", "accuracy", "energy", "$t$")
_DIGITS = {"accuracy": 2, "dirichlet_energy": 3, "num_layers": 0}


#: What verdicts are given on.
_JUDGED = "Verdicts compare the numbers with the layers as published"


def render_ablation(
    frame: pd.DataFrame, spec: Mapping[str, Any], published: pd.DataFrame, quick: bool = False
) -> str:
    """A block a subtable: measured with the number of layers that validation chooses, with the
    published one, and in grey the published numbers. The best of each group of rows are marked.

    Args:
        frame: the tidy table from `ablation_table`.
        spec, published: what that table was made from.
        quick: stamp the table.
    """
    tidy, paper, blocks = tidy_cells(frame), cells(published), []
    options = parse_options(table_name(frame), spec, published)
    for letter, subtable in zip(ascii_lowercase, options, strict=False):
        groups = [
            _group(subtable, list(rows), tidy, paper, spec.get("marked", 0))
            for _, rows in groupby(subtable.rows, key=subtable.groups.__getitem__)
        ]
        caption = f"({letter}) {subtable.caption}"
        blocks.append(blocks_beside([(caption, tabular(_HEADER, _LABELS, groups))]))
    letters = dict(zip([block.name for block in options], ascii_lowercase, strict=False))
    accuracies = frame[frame["metric"] == "accuracy"]
    whole = _not_run_at_all(accuracies)

    def row(cell: Any) -> str:
        return label(spec["subtables"][cell.subtable]["rows"], cell.row)

    def place(cell: Any) -> tuple[str, str]:
        return f"({letters[cell.subtable]}) {option(cell)}:", row(cell)

    def choice(cell: Any) -> tuple[str, str]:
        text, _ = _HEADER[cell.column.endswith(AS_PUBLISHED)]
        missing = (cell.subtable, cell.column) in whole
        return f"({letters[cell.subtable]}) {text}:", "all" if missing else row(cell)

    judged = frame[frame["column"].str.endswith(AS_PUBLISHED) & (frame["metric"] != "num_layers")]
    notes = [
        r"Test accuracy (\%), Dirichlet energy and number of layers $t$; D: directed, U: "
        "undirected. Where the paper prints no number of layers, the variant's.",
        r"$\pm$ is the standard deviation" + over_splits(frame) + ".",
        *(_unmarked(accuracies, options) if spec.get("marked", 0) else []),
        *verdict_notes(judged[judged["published_mean"].notna()], place, f"{_JUDGED}. {MEAN_RULE}"),
        *not_run_notes(accuracies, choice),
    ]
    return assemble(frame, spec, blocks, notes, quick)


def _unmarked(accuracies: pd.DataFrame, options: Iterable[OptionBlock]) -> list[str]:
    """Why no best is marked in some groups of rows."""
    groups = {(block.name, row): of for block in options for row, of in block.groups.items()}
    own = [groups[at] for at in zip(accuracies["subtable"], accuracies["row"], strict=True)]
    by_group = accuracies.groupby([accuracies["subtable"], accuracies["column"], own])
    notes = [f"{UNLIKE}."] if any_unlike(by_group) else []
    if (accuracies["runs"] == "").any():
        notes.append("No best is marked among rows of which one was not run.")
    return notes


def _not_run_at_all(accuracies: pd.DataFrame) -> set[tuple[str, str]]:
    """Subtables and columns of which no row was run, all for one reason."""
    return {
        at
        for at, own in accuracies.groupby(["subtable", "column"])
        if [len(cells) for cells in not_run(own).values()] == [len(own)]
    }


def _group(subtable: OptionBlock, rows: list[str], tidy, paper, marked: int) -> list[list[str]]:
    marks = {}
    for suffix in ("", AS_PUBLISHED):
        found = [cell_at(tidy, (subtable.name, row, f"test accuracy{suffix}")) for row in rows]
        rounded = [None if pd.isna(c.mean) else Decimal(f"{c.mean:.2f}") for c in found]
        splits = [splits_of(c.runs) if pd.notna(c.mean) else set() for c in found]
        # A place that is won against a row which was not run says nothing; one that diverged lost.
        places = marked if all(c.runs for c in found) else 0
        marks[suffix] = dict(zip(rows, ranks(rounded, places, splits), strict=True))
    lines = []
    for row in rows:
        line = [subtable.rows[row].get("label") or escape(row)]
        for suffix, columns in (("", list(COLUMNS)), (AS_PUBLISHED, list(COLUMNS)[:2])):
            for column in columns:
                text = _measured(cell_at(tidy, (subtable.name, row, column + suffix)))
                rank = marks[suffix][row] if COLUMNS[column] == "accuracy" else None
                line.append(mark(text, rank))
        for column in COLUMNS:
            at = (subtable.name, row, column)
            grey = published_text(cell_at(tidy, at), paper.get(at, NOTHING))
            line.append("" if grey == EMPTY else rf"\flodepublished{{{grey}}}")
        lines.append(line)
    return lines


def _measured(cell: Any) -> str:
    if pd.isna(cell.mean):
        return NOT_RUN_CELL
    digits = _DIGITS[cell.metric]
    return fixed(cell.mean, cell.std, digits, digits)
