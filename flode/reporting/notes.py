"""Sentences (LaTeX) under a table: what its numbers are and which are missing."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any

import pandas as pd

from flode.reporting.layout import Layout
from flode.reporting.published import FLODE
from flode.reporting.typeset import escape
from flode.reporting.verdicts import MEAN_RULE, NOT_RUN, REPRODUCED


def over_splits(frame: pd.DataFrame) -> str:
    """What a ± runs over: `` over 5 splits``, or ``""`` when nothing was measured."""
    counts = sorted({int(n) for n in frame["n"].dropna()})
    if not counts:
        return ""
    if counts == [1]:
        return " over 1 split"
    span = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f" over {span} splits"


def standard_error_note(published: pd.DataFrame) -> str:
    """What the published row's ± is, ending the sentence on ±."""
    flode = published[published["row"] == FLODE]
    if (flode["error_kind"] == "standard error").any():
        return r"; for FLODE (published), the printed standard error times $\sqrt{n}$."
    return "."


def not_run_notes(layout: Layout, frame: pd.DataFrame) -> list[str]:
    """One sentence a reason, naming the columns that were not run by block and name."""
    missing = frame[frame["verdict"] == NOT_RUN].drop_duplicates(["subtable", "column"])
    reasons: dict[str, list[str]] = {}
    for cell in missing.itertuples(index=False):
        # The reason stands last, after remarks on the published value.
        reasons.setdefault(cell.note.split("; ")[-1], []).append(_place(layout, cell))
    return [
        f"Not run: {', '.join(columns)}: {escape(reason)}." for reason, columns in reasons.items()
    ]


def verdict_notes(layout: Layout, frame: pd.DataFrame) -> list[str]:
    """Verdicts on the measured row, and their rule; those that are no success name their cells."""
    flode = frame[(frame["row"] == FLODE) & (frame["verdict"] != NOT_RUN)]
    places: dict[str, list[str]] = {}
    for cell in flode.itertuples(index=False):
        places.setdefault(cell.verdict, []).append(_place(layout, cell))
    if not places:
        return []
    counts = []
    for verdict, where in sorted(places.items(), key=lambda item: item[0] != REPRODUCED):
        cells = "" if verdict == REPRODUCED else f" [{', '.join(where)}]"
        counts.append(f"{len(where)} {verdict}{cells}")
    return [f"Verdicts: {', '.join(counts)}.", escape(MEAN_RULE) + "."]


def _place(layout: Layout, cell: Any) -> str:
    """The block's letter and the column's name."""
    index = [subtable.name for subtable in layout.subtables].index(cell.subtable)
    return f"({ascii_lowercase[index]}) {escape(cell.column)}"
