"""The table of discrepancies as a LaTeX fragment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from flode.reporting.discrepancies import CHOSEN, PaperFiles
from flode.reporting.fragments import (
    NOT_RUN_CELL,
    Cells,
    Paper,
    assemble,
    cell_at,
    published_text,
    tidy_cells,
)
from flode.reporting.notes import not_run_notes, over_splits
from flode.reporting.places import measure, reading_words
from flode.reporting.published import cells
from flode.reporting.typeset import blocks_beside, escape, fixed, ragged, tabular
from flode.reporting.verdicts import EXACT_RULE, MEAN_RULE, NOT_RUN

#: Lines on a page; a longer table is continued on the next one.
PAGE_LINES = 60

#: Characters of what the paper says that a line holds, about.
_LINE = 95

#: At the number of the reading that validation chooses.
_MARK = r"$^\ast$"

_COLUMNS = r"p{0.52\linewidth} c c l"
_LABELS = ("measured", "published", "verdict")


def render_discrepancies(
    frame: pd.DataFrame, spec: Mapping[str, Any], published: PaperFiles, quick: bool = False
) -> str:
    """A group of rows for each thing that is open, below what the paper says of it; below each
    published number a line a reading. What is too long for a page is continued in a second table of
    the same number.

    Args:
        frame: the tidy table from `discrepancy_table`.
        spec, published: what that table was made from.
        quick: stamp the table.
    """
    notes = [
        r"$\pm$ is the standard deviation" + over_splits(frame) + ".",
        rf"{_MARK}\,Best of the readings by mean validation metric.",
        escape(MEAN_RULE) + ".",
        escape(EXACT_RULE) + ", where numbers have no spread.",
        *not_run_notes(frame, lambda cell: (escape(cell.row), "")),
    ]
    tables: list[str] = []
    pages = _pages(frame, spec, published)
    for page in pages:
        block = blocks_beside([("", tabular("", _LABELS, page, _COLUMNS))])
        own = spec | {"caption": f"{spec['caption']} (Continued.)", "label": ""} if tables else spec
        last = len(tables) == len(pages) - 1
        tables.append(assemble(frame, own, [block], notes if last else [], quick))
    return "\\addtocounter{table}{-1}\n".join(tables)


def _pages(
    frame: pd.DataFrame, spec: Mapping[str, Any], published: PaperFiles
) -> list[list[list[list[str]]]]:
    """Pages of groups of rows. What is open goes on, on the next page, below its name alone; a
    published number and its readings stay together."""
    tidy, paper = tidy_cells(frame), {file: cells(one) for file, one in published.items()}
    pages: list[list[list[list[str]]]] = [[]]
    count = 0
    for key, subtable in spec["subtables"].items():
        name, says = rf"\emph{{{subtable['caption']}}}", _says(subtable)
        title, height = f"{name}. {says}", 2 + len(says) // _LINE
        for row, entry in subtable["rows"].items():
            lines = _lines((key, row), entry["readings"], tidy, paper)
            if count and count + height + len(lines) > PAGE_LINES:
                pages.append([])
                count = 0
                # What has not begun yet keeps its whole title.
                title, height = (title, height) if height else (f"{name} (continued).", 1)
            if title:
                pages[-1].append([[_across(title)]])
            pages[-1][-1] += lines
            count += height + len(lines)
            title, height = "", 0
    return pages


def _says(subtable: Mapping[str, Any]) -> str:
    return f"{escape(subtable['source'])}: {subtable['says']}."


def _across(text: str) -> str:
    return rf"\multicolumn{{{len(_LABELS) + 1}}}{{@{{}}p{{\linewidth}}@{{}}}}{{{text}}}"


def _lines(
    place: tuple[str, str],
    readings: Mapping[str, Mapping[str, Any]],
    tidy: Cells,
    paper: Mapping[str, Paper],
) -> list[list[str]]:
    """A published number's name, and a line for each of its readings."""
    quantity = next(iter(readings.values()))["quantity"]
    name = f"{escape(place[1])}: {measure(quantity)}"
    lines = [[rf"\addlinespace[1pt]{_across(name)}"]]
    for label, reading in readings.items():
        cell, at = cell_at(tidy, (*place, label)), reading["published"]
        printed = paper[at["file"]][at["subtable"], at["row"], at["column"]]
        measured = NOT_RUN_CELL
        if pd.notna(cell.mean):
            decimals = printed.decimals or 0
            measured = fixed(cell.mean, cell.std, decimals, printed.error_decimals or decimals)
        if CHOSEN in cell.note:
            measured += _MARK
        grey = rf"\flodepublished{{{published_text(cell, printed)}}}"
        verdict = "" if cell.verdict == NOT_RUN else escape(cell.verdict)
        lines.append([ragged(rf"\quad {escape(reading_words(label))}"), measured, grey, verdict])
    return lines
