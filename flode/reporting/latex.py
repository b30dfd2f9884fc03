"""Tidy tables as LaTeX fragments in the paper's shape (booktabs, multirow and xcolor suffice)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import groupby
from string import ascii_lowercase
from typing import Any

import pandas as pd

from flode.reporting import typeset
from flode.reporting.layout import Column, Layout, Subtable, parse_layout, rows_with_flode
from flode.reporting.notes import not_run_notes, over_splits, standard_error_note, verdict_notes
from flode.reporting.published import FLODE, NOTHING, Published, cells
from flode.reporting.tables import LEARNED, UNPUBLISHED_ROWS, is_quick
from flode.reporting.typeset import block, escape, fixed, mark, ranks, scientific
from flode.reporting.verdicts import NOT_PUBLISHED, NOT_RUN, REPRODUCED

Cells = dict[tuple[str, str, str], Any]

_EMPTY = "--"
#: A longer note is a remark on the cell, not what the paper prints in place of a number.
_PRINTED_NOTE = 8
_DECIMALS = 2
_ROW_LABELS = {
    "num_layers": "layers",
    "exponent": r"learned exponent $\alpha$",
    "step_size": r"learned step size $\mathrm{Re}\,h$",
}
_NOT_RUN = rf"\emph{{{NOT_RUN}}}"


def render_comparison(
    frame: pd.DataFrame, spec: Mapping[str, Any], published: pd.DataFrame, quick: bool = False
) -> str:
    """A comparison table: published baselines, ``FLODE (measured)`` ranked with them, and below
    it ``FLODE (published)``, which is not ranked.

    Args:
        frame: the tidy table from `comparison_table`.
        spec, published: what that table was made from; ``published`` gives the printed digits.
        quick: stamp the table; also done when a cell comes from a quick run.

    Raises:
        ValueError: the specification is wrong, or ``frame`` lacks one of its cells.
    """
    layout, tidy, paper = _parse(frame, spec, published)
    blocks = []
    for index, subtable in enumerate(layout.subtables):
        columns = [_comparison_column(layout, subtable, c, tidy, paper) for c in subtable.columns]
        rows = zip(_names(subtable), *columns, strict=True)
        groups = [
            [[name, *cell_row] for (name, _), *cell_row in part]
            for _, part in groupby(rows, key=lambda row: row[0][1])
        ]
        blocks.append(_block(index, subtable, groups))
    notes = [
        "FLODE (measured) and the published baselines are ranked together by their printed means; "
        "equal means share a rank. "
        r"\flodepublished{FLODE (published)}, in grey, is not ranked.",
        r"$\pm$ is the standard deviation" + over_splits(frame) + standard_error_note(published),
        *verdict_notes(layout, frame),
        *not_run_notes(layout, frame[frame["row"] == FLODE]),
    ]
    return _table(layout, frame, blocks, notes, quick)


def render_hyperparameters(
    frame: pd.DataFrame, spec: Mapping[str, Any], published: pd.DataFrame, quick: bool = False
) -> str:
    """A hyperparameter table: the values used, with the published one in brackets if it differs.

    Arguments and errors are those of `render_comparison`; ``frame`` is from
    `hyperparameter_table`.
    """
    layout, tidy, paper = _parse(frame, spec, published)
    blocks = []
    for index, subtable in enumerate(layout.subtables):
        names = dict.fromkeys([*subtable.groups, *UNPUBLISHED_ROWS])
        rows = {
            name: [
                _hyperparameter(
                    _cell(tidy, (subtable.name, name, column.name)),
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
            name: _ROW_LABELS.get(name, escape(name.replace("_", " ")))
            + (r"$^\dagger$" if name in own else "")
            for name in names
        }
        groups = [[[labels[name], *rows[name]] for name in part] for part in parts if part]
        blocks.append(_block(index, subtable, groups))
    notes = ["Values used in the measured runs; in brackets the published one where it differs."]
    if (frame["verdict"] == NOT_PUBLISHED).any():
        notes.append(r"$^\dagger$\,Not published.")
    if frame["n"].notna().any():
        notes.append(r"Learned numbers: mean $\pm$ standard deviation" + over_splits(frame) + ".")
    notes += not_run_notes(layout, frame)
    return _table(layout, frame, blocks, notes, quick)


def _parse(
    frame: pd.DataFrame, spec: Mapping[str, Any], published: pd.DataFrame
) -> tuple[Layout, Cells, dict[tuple[str, str, str], Published]]:
    name = frame["table"].iloc[0] if len(frame) else ""
    tidy = {(r.subtable, r.row, r.column): r for r in frame.itertuples(index=False)}
    return parse_layout(name, spec, published), tidy, cells(published)


def _comparison_column(
    layout: Layout,
    subtable: Subtable,
    column: Column,
    tidy: Cells,
    paper: Mapping[tuple[str, str, str], Published],
) -> list[str]:
    """Cells of a column from top to bottom, the measured and the published FLODE row included."""
    rows = list(rows_with_flode(subtable))
    printed = {row: paper.get((subtable.name, row, column.name), NOTHING) for row in rows}
    measured = _cell(tidy, (subtable.name, FLODE, column.name))
    # A measured number gets the digits of the published one, else those of its column.
    digits, std_digits = (
        _first([printed[FLODE], *printed.values()], attribute)
        for attribute in ("decimals", "error_decimals")
    )
    texts, values = [], []
    for row in rows:
        if row == FLODE:
            text, value = _NOT_RUN, None
            if pd.notna(measured.mean):
                text = fixed(measured.mean, measured.std, digits, std_digits)
                value = Decimal(f"{measured.mean:.{digits}f}")
        else:
            cell = tidy.get((subtable.name, row, column.name))
            text = _published(cell, printed[row])
            value = Decimal(printed[row].text) if printed[row].text else None
        texts.append(text)
        values.append(value)
    result = []
    for row, text, rank in zip(rows, texts, ranks(values, layout.marked), strict=True):
        result.append(mark(text, rank))
        if row == FLODE:
            result.append(rf"\flodepublished{{{_published(measured, printed[FLODE])}}}")
    return result


def _published(cell: Any, printed: Published) -> str:
    if cell is None or pd.isna(cell.published_mean) or printed.decimals is None:
        note = printed.note
        return escape(note) if 0 < len(note) <= _PRINTED_NOTE else _EMPTY
    std = None if pd.isna(cell.published_std) else cell.published_std
    return fixed(cell.published_mean, std, printed.decimals, printed.error_decimals or 0)


def _hyperparameter(cell: Any, printed: Published) -> str:
    if cell.verdict == NOT_RUN:
        return _NOT_RUN
    if pd.isna(cell.mean):
        return _EMPTY
    if pd.notna(cell.std):
        digits = printed.decimals if printed.decimals is not None else _DECIMALS
        text = fixed(cell.mean, cell.std, digits, printed.error_decimals or digits)
    else:
        text = scientific(cell.mean)
    if cell.verdict in (REPRODUCED, NOT_PUBLISHED) or pd.isna(cell.published_mean):
        return text
    other = _published(cell, printed) if pd.notna(cell.std) else scientific(cell.published_mean)
    # Two lines, so that a wide table stays on its page.
    return rf"\begin{{tabular}}{{@{{}}c@{{}}}}{text}\\{{}}[{other}]\end{{tabular}}"


def _names(subtable: Subtable) -> list[tuple[str, int]]:
    """Name (LaTeX) and group of each displayed row: FLODE's is two, measured and published."""
    names = []
    for row, group in rows_with_flode(subtable).items():
        if row == FLODE:
            names.append((rf"\textbf{{{FLODE} (measured)}}", group))
            names.append((rf"\flodepublished{{{FLODE} (published)}}", group))
        else:
            names.append((escape(row), group))
    return names


def _groups(groups: Mapping[str, int]) -> list[list[str]]:
    return [list(rows) for _, rows in groupby(groups, key=groups.__getitem__)]


def _block(index: int, subtable: Subtable, groups: Sequence[Sequence[Sequence[str]]]) -> str:
    caption = f"({ascii_lowercase[index]}) {subtable.caption}" if subtable.caption else ""
    labels = [
        f"${escape(c.name)}$" if c.label is None and _is_number(c.name) else
        escape(c.name) if c.label is None else c.label
        for c in subtable.columns
    ]  # fmt: skip
    return block(caption, subtable.header, labels, groups)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def _first(printed: Sequence[Published], attribute: str) -> int:
    """The attribute of the first cell that has it, else the default number of digits."""
    found = [getattr(cell, attribute) for cell in printed]
    return next((value for value in found if value is not None), _DECIMALS)


def _cell(tidy: Cells, at: tuple[str, str, str]) -> Any:
    if at not in tidy:
        raise ValueError(f"the tidy table lacks cell ({', '.join(at)}); allowed: all of the layout")
    return tidy[at]


def _table(
    layout: Layout, frame: pd.DataFrame, blocks: list[str], notes: list[str], quick: bool
) -> str:
    files = {path for cell in frame["runs"] for path in cell.split(";") if path}
    comment = (
        f"Table {layout.name}: generated by flode.reporting from {len(files)} run files.\n"
        "Do not edit: the workflow writes it anew. The same numbers stand in the CSV beside it."
    )
    stamped = quick or is_quick(frame)
    return typeset.table(comment, layout.caption, layout.label, blocks, notes, stamped)
