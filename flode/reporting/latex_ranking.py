"""Rankings as LaTeX fragments in the shape of the paper's summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from flode.experiments.checks import FLODE
from flode.reporting.fragments import NOT_RUN_CELL, assemble, lettered_blocks, table_name
from flode.reporting.layout import Layout
from flode.reporting.notes import by_column, not_run_notes, over_splits, verdict_notes
from flode.reporting.published import NOTHING, Published
from flode.reporting.ranking import TIE, Field, digits_of, ordinal, parse_ranking
from flode.reporting.typeset import escape, fixed, stacked
from flode.reporting.verdicts import NOT_RUN, PLACE_RULE, QUICK_RUN


def render_ranking(
    frame: pd.DataFrame,
    spec: Mapping[str, Any],
    full: pd.DataFrame,
    summary: pd.DataFrame,
    quick: bool = False,
) -> str:
    """A ranking in the shape of the paper's summary: a model and its number a cell.

    In grey brackets stands what the summary has in the place, where that differs. A last row is
    for FLODE where it is not among the best or was not run.

    Args:
        frame: the tidy table from `ranking_table`.
        spec, full, summary: what that table was made from.
        quick: stamp the table; also done when a cell comes from a quick run.

    Raises:
        ValueError: the specification is wrong, or ``frame`` lacks a column.
    """
    layout, fields = parse_ranking(table_name(frame), spec, full, summary)
    places = [ordinal(place) for place in range(1, layout.marked + 1)]
    blocks = []
    for subtable in layout.subtables:
        columns = [_texts(frame, field, places) for field in fields if field.subtable is subtable]
        groups = []
        for place in [*places, FLODE]:
            label = rf"\textbf{{{FLODE}}}" if place == FLODE else _superscript(place)
            row = [texts.get(place, "") for texts in columns]
            if any(row):
                groups.append([[label, *row]])
        blocks.append(groups)
    return assemble(frame, spec, lettered_blocks(layout, blocks), _notes(layout, frame), quick)


def _texts(frame: pd.DataFrame, field: Field, places: list[str]) -> dict[str, str]:
    """The cells of a column by place; under ``FLODE`` where it is not among the best."""
    at = (frame["subtable"] == field.subtable.name) & (frame["column"] == field.column.name)
    if not at.any():
        raise ValueError(
            f"the tidy table lacks column {field.column.name!r} of {field.subtable.name!r}; "
            "allowed: all of the layout"
        )
    texts = {}
    for cell in frame[at].itertuples(index=False):
        place, _, model = cell.row.partition(": ")
        if place in places:
            name = rf"\textbf{{{FLODE}}}" if model == FLODE else escape(model)
            in_paper = field.places.get(place, (model, NOTHING))
        else:
            name = _superscript(place) if model else ""
            in_paper = (FLODE, field.models.get(FLODE, NOTHING))
            place = model = FLODE
        texts[place] = _cell(cell, name, model, in_paper, field)
    return texts


def _cell(cell: Any, name: str, model: str, in_paper: tuple[str, Published], field: Field) -> str:
    paper_model, printed = in_paper
    if model != FLODE:
        number = _number(field.models[model])
    elif cell.verdict == NOT_RUN:
        number = NOT_RUN_CELL
    else:
        number = fixed(cell.mean, cell.std, *digits_of(field))
    grey = ""
    if printed.text and (model == FLODE or model != paper_model):
        other = "" if model == paper_model else escape(paper_model) + " "
        grey = rf"\flodepublished{{[{other}{_number(printed)}]}}"
    return stacked(name, number, grey)


def _notes(layout: Layout, frame: pd.DataFrame) -> list[str]:
    flode = frame[(frame["row"] == FLODE) | frame["row"].str.endswith(f": {FLODE}")]
    place = by_column(layout)
    ties: dict[str, None] = {}
    for cell in frame.itertuples(index=False):
        for remark in cell.note.split("; "):
            if remark.startswith(TIE):
                others = remark.removeprefix(TIE).split(", ")
                models = sorted([cell.row.partition(": ")[2], *others])
                ties[f"{' '.join(place(cell))} {' = '.join(map(escape, models))}"] = None
    quick = (flode["verdict"] == QUICK_RUN).any()
    ranked = "published baselines" if quick else "published baselines and the measured FLODE,"
    notes = [
        f"The best of the {ranked} ranked by their printed means; of equal means the one with the "
        "smaller $\\pm$ stands first" + (f" [{'; '.join(ties)}]." if ties else "."),
        r"\flodepublished{In grey}: the paper's model and number in a place where either differs.",
        r"$\pm$ is the standard deviation" + over_splits(frame) + ".",
    ]
    if (flode["verdict"] == NOT_RUN).any():
        notes.append("Where FLODE was not run, the baselines are ranked alone.")
    return notes + verdict_notes(flode, place, PLACE_RULE) + not_run_notes(flode, place)


def _number(cell: Published) -> str:
    return fixed(cell.mean or 0.0, cell.std, cell.decimals or 0, cell.error_decimals or 0)


def _superscript(place: str) -> str:
    return rf"{place[:-2]}$^{{\mathrm{{{place[-2:]}}}}}$"
