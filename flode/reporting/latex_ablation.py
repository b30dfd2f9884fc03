"""The ablation table as a LaTeX fragment."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from itertools import groupby
from string import ascii_lowercase
from typing import Any

import pandas as pd

from flode.reporting.ablation import COLUMNS
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
from flode.reporting.notes import not_run_notes, over_splits, verdict_notes
from flode.reporting.published import NOTHING, cells
from flode.reporting.typeset import blocks_beside, escape, fixed, mark, ranks, tabular
from flode.reporting.verdicts import MEAN_RULE

_LABELS = ("Test accuracy", "", "Dirichlet energy", "", "Layers", "")
_DIGITS = {"accuracy": 2, "dirichlet_energy": 3, "num_layers": 0}


def render_ablation(
    frame: pd.DataFrame, spec: Mapping[str, Any], published: pd.DataFrame, quick: bool = False
) -> str:
    """A block a subtable; beside each measured number the published one, in grey. The best of each
    group of rows by measured accuracy are marked.

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
        blocks.append(blocks_beside([(caption, tabular("", _LABELS, groups))]))
    letters = dict(zip([block.name for block in options], ascii_lowercase, strict=False))

    def place(cell: Any) -> str:
        return f"({letters[cell.subtable]}) {escape(cell.row)}, {escape(cell.column)}"

    judged = frame[frame["metric"] != "num_layers"]
    notes = [
        r"Measured, and in \flodepublished{grey} published. D: directed, U: undirected.",
        r"$\pm$ is the standard deviation" + over_splits(frame) + ".",
        *verdict_notes(judged[judged["published_mean"].notna()], place, MEAN_RULE),
        *not_run_notes(frame[frame["metric"] == "accuracy"], place),
    ]
    return assemble(frame, spec, blocks, notes, quick)


def _group(subtable: OptionBlock, rows: list[str], tidy, paper, marked: int) -> list[list[str]]:
    accuracies = [cell_at(tidy, (subtable.name, row, "test accuracy")).mean for row in rows]
    rounded = [None if pd.isna(value) else Decimal(f"{value:.2f}") for value in accuracies]
    lines = []
    for row, rank in zip(rows, ranks(rounded, marked), strict=True):
        line = [subtable.rows[row].get("label") or escape(row)]
        for column, metric in COLUMNS.items():
            cell = cell_at(tidy, (subtable.name, row, column))
            printed = paper.get((subtable.name, row, column), NOTHING)
            text = NOT_RUN_CELL
            if pd.notna(cell.mean):
                std = None if pd.isna(cell.std) else cell.std
                text = fixed(cell.mean, std, _DIGITS[metric], _DIGITS[metric])
            line.append(mark(text, rank) if metric == "accuracy" else text)
            grey = published_text(cell, printed)
            line.append("" if grey == EMPTY else rf"\flodepublished{{{grey}}}")
        lines.append(line)
    return lines
