"""The table of frequency dominance as a LaTeX fragment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from flode.reporting.fragments import EMPTY, NOT_RUN_CELL, assemble, cell_at, parse, published_text
from flode.reporting.frequency import GRAPHS, ROWS, UNPUBLISHED
from flode.reporting.notes import not_run_notes, over_splits, verdict_notes
from flode.reporting.places import block, spectrum
from flode.reporting.published import NOTHING
from flode.reporting.typeset import blocks_beside, escape, fixed, stacked, tabular
from flode.reporting.verdicts import MEAN_RULE, NOT_RUN


def render_frequency(
    frame: pd.DataFrame, spec: Mapping[str, Any], published: pd.DataFrame, quick: bool = False
) -> str:
    """One block: the graphs' λ₁, then a group of rows for each equation, the published number below
    each measured one.

    Args:
        frame: the tidy table from `frequency_table`.
        spec, published: what that table was made from.
        quick: stamp the table.
    """
    layout, tidy, paper = parse(frame, spec, published)
    # A column has one place in all subtables, whichever of them have it.
    every = (column for subtable in layout.subtables for column in subtable.columns)
    columns = list({column.name: column for column in every}.values())
    groups = []
    for subtable in layout.subtables:
        title = rf"\multicolumn{{{len(columns) + 1}}}{{@{{}}l}}{{\emph{{{subtable.caption}}}}}"
        rows = [[title]] if subtable.caption else []
        for row in ["lambda_1"] if subtable.name == GRAPHS else ROWS:
            own = {column.name for column in subtable.columns}
            cells = [(subtable.name, row, column.name) for column in columns]
            texts = [
                _text(cell_at(tidy, at), paper.get(at, NOTHING)) if at[2] in own else ""
                for at in cells
            ]
            rows.append([spectrum(subtable.name, row), *texts])
        groups.append(rows)
    labels = [column.label or escape(column.name) for column in columns]

    names = {column.name: label for column, label in zip(columns, labels, strict=True)}

    def equation(cell: Any) -> str:
        return "" if cell.subtable == GRAPHS else block(spec["subtables"][cell.subtable], "")

    def place(cell: Any) -> tuple[str, str]:
        words = filter(None, [equation(cell), spectrum(cell.subtable, cell.row)])
        return f"{', '.join(words)}:", names[cell.column]

    def column_of(cell: Any) -> tuple[str, str]:
        return f"{equation(cell) or spectrum(cell.subtable, cell.row)}:", names[cell.column]

    judged = frame[~frame["row"].isin(UNPUBLISHED) & frame["published_mean"].notna()]
    notes = [
        r"Measured, below it in \flodepublished{grey} published.",
        r"$\pm$ is the standard deviation" + over_splits(frame) + ".",
        r"FD $= \lambda_K(\mathbf{W}) f_\alpha(\lambda_1(\mathbf{L})) - \lambda_1(\mathbf{W})$ as "
        r"printed, of $\mathrm{Re}\,W$ for Schrödinger's equation too, as the paper's numbers are; "
        r"as trained: of $-\mathrm{Im}\,W$, for $x' = -\mathrm{i} L^\alpha x W$. "
        "HFD predicted: splits whose trained Euler scheme "
        r"(with its own sign and step size) enlarges $\lambda_1(\mathbf{L})$ most, "
        r"$\arg\max_{r,l} |1 + s h w_r f_\alpha(\lambda_l)|$; "
        "observed: splits whose layers raised the Dirichlet energy.",
        *verdict_notes(judged, place, MEAN_RULE),
        *not_run_notes(frame[frame["row"].isin(["FD", "lambda_1"])], column_of),
    ]
    blocks = [blocks_beside([("", tabular("", labels, groups))])]
    return assemble(frame, spec, blocks, notes, quick)


def _text(cell: Any, printed: Any) -> str:
    grey = published_text(cell, printed)
    below = "" if grey == EMPTY else rf"\flodepublished{{{grey}}}"
    if cell.verdict == NOT_RUN or pd.isna(cell.mean):
        return stacked(NOT_RUN_CELL, below)
    if cell.unit:  # a percentage of splits
        return f"{cell.mean:.0f}"
    digits = printed.decimals if printed.decimals is not None else 2
    return stacked(fixed(cell.mean, cell.std, digits, printed.error_decimals or digits), below)
