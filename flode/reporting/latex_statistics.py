"""The table of graph statistics as a LaTeX fragment."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

import pandas as pd

from flode.reporting.fragments import (
    EMPTY,
    NOT_RUN_CELL,
    assemble,
    cell_at,
    table_name,
    tidy_cells,
)
from flode.reporting.layout import parse_rows
from flode.reporting.notes import not_run_notes, verdict_notes
from flode.reporting.places import block, label, statistic
from flode.reporting.published import NOTHING, Published, cells
from flode.reporting.statistics import QUANTITIES, TRUNCATED
from flode.reporting.typeset import blocks_beside, escape, fixed, ragged, stacked, tabular
from flode.reporting.verdicts import EXACT_RULE, NOT_RUN, QUICK_RUN, REPRODUCED

#: What columns are of: how many, from the left.
_HEADER = (("raw", 2), ("as built", 5), ("operator", 4))

#: Of a column; what its header says is left out, and what is long stands in two lines.
_LABELS = tuple(
    stacked(*quantity.label.removeprefix("raw ").split()) for quantity in QUANTITIES.values()
)

#: Names may take two lines.
_COLUMNS = rf"p{{0.14\linewidth}} *{{{len(_LABELS)}}}{{c}}"


def render_statistics(
    frame: pd.DataFrame, spec: Mapping[str, Any], published: pd.DataFrame, quick: bool = False
) -> str:
    """The table of statistics: a block of rows a subtable, the published number in brackets where
    it differs, an asterisk where it is the same.

    Args:
        frame: the tidy table from `statistics_table`.
        spec, published: what that table was made from.
        quick: stamp the table.

    Raises:
        ValueError: the specification is wrong, or ``frame`` lacks one of its cells.
    """
    tidy, paper = tidy_cells(frame), cells(published)
    groups = []
    for part in parse_rows(table_name(frame), spec, published):
        rows = [[rf"\multicolumn{{{len(QUANTITIES) + 1}}}{{@{{}}l}}{{\emph{{{part.caption}}}}}"]]
        for variant, name in part.rows.items():
            row = [cell_at(tidy, (part.name, variant, column)) for column in QUANTITIES]
            printed = [paper.get((part.name, variant, c), NOTHING) for c in QUANTITIES]
            rows.append([ragged(name or escape(variant)), *_texts(row, printed)])
        groups.append(rows if part.caption else rows[1:])

    def row_of(cell: Any) -> tuple[str, str]:
        own = spec["subtables"][cell.subtable]
        return f"{block(own, '')}:", label(own["rows"], cell.row)

    def place(cell: Any) -> tuple[str, str]:
        where, row = row_of(cell)
        return f"{where} {row},", statistic(cell.column)

    not_run = frame[frame["verdict"] == NOT_RUN]
    notes = [
        "Raw: as read from the files; the other columns are of the graph that the models see. "
        "Edges are unordered pairs of nodes, self-loops included. Rank: singular values kept"
        + (r" ($^\dagger$ truncated)" if frame["note"].str.contains(TRUNCATED).any() else "")
        + r", and the variance they explain. $\lambda_1$: smallest eigenvalue of a symmetric SNA; "
        r"$\lambda_{\mathrm{PF}}$: largest real eigenvalue of a directed one. "
        + (
            "The graphs are generated, not the published ones."
            if (frame["verdict"] == QUICK_RUN).any() and frame["published_mean"].isna().all()
            else r"$^\ast$\,Equal to the published number; in brackets the published one where it "
            "differs."
        ),
        *verdict_notes(frame[frame["published_mean"].notna()], place, EXACT_RULE),
        *not_run_notes(not_run, row_of),
    ]
    blocks = [blocks_beside([("", tabular(_HEADER, _LABELS, groups, _COLUMNS))])]
    return assemble(frame, spec, blocks, notes, quick, "statistics files")


def _texts(row: list[Any], printed: list[Published]) -> list[str]:
    """The cells of a row; neighbours that were not run share one."""
    texts = []
    pairs = zip(row, printed, strict=True)
    for (not_run, known), group in groupby(
        pairs, lambda pair: (pair[0].verdict == NOT_RUN, pd.notna(pair[0].published_mean))
    ):
        members = list(group)
        if not_run and not known:
            texts.append(rf"\multicolumn{{{len(members)}}}{{c}}{{{NOT_RUN_CELL}}}")
        else:
            texts += [_text(cell, one) for cell, one in members]
    return texts


def _text(cell: Any, printed: Published) -> str:
    quantity = QUANTITIES[cell.column]
    published = ""
    if pd.notna(cell.published_mean):
        published = f"[{_number(cell.published_mean, printed.decimals)}]"
    if pd.isna(cell.mean):
        return rf"\flodepublished{{{published}}}" if published else EMPTY
    text = _number(cell.mean, quantity.digits)
    if cell.verdict == REPRODUCED:
        return text + r"$^\ast$"
    if TRUNCATED in cell.note:
        text += r"$^\dagger$"
    return stacked(text, published)


def _number(value: float, digits: int | None) -> str:
    """A count with its thousands apart, or a number with its digits."""
    return fixed(value, None, digits, 0) if digits else f"{int(value):,}"
