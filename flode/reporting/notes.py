"""Sentences (LaTeX) under a table: what its numbers are and which are missing."""

from __future__ import annotations

from collections.abc import Callable
from string import ascii_lowercase
from typing import Any

import pandas as pd

from flode.experiments.checks import FLODE
from flode.reporting.layout import Layout
from flode.reporting.published import DISAGREE, disagreement
from flode.reporting.typeset import escape
from flode.reporting.verdicts import NOT_RUN, QUICK_RULE, QUICK_RUN, REPRODUCED

#: Names a cell of a tidy table in a sentence (LaTeX).
Place = Callable[[Any], str]


def by_column(layout: Layout) -> Place:
    """Names a cell by the block's letter and the column's name."""
    letters = dict(zip([block.name for block in layout.subtables], ascii_lowercase, strict=False))
    return lambda cell: f"({letters[cell.subtable]}) {escape(cell.column)}"


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


def not_run_notes(frame: pd.DataFrame, place: Place) -> list[str]:
    """One sentence a reason, naming the places of the cells that were not run."""
    # The reason stands last, after remarks on the published value.
    reasons = _places(frame[frame["verdict"] == NOT_RUN], place, lambda c: c.note.split("; ")[-1])
    return [
        f"Not run: {', '.join(places)}: {escape(reason)}." for reason, places in reasons.items()
    ]


def verdict_notes(frame: pd.DataFrame, place: Place, rule: str) -> list[str]:
    """Verdicts on the measured cells of a frame, and their rule; those that are no success name
    their cells, and what the paper says where it disagrees with itself is quoted."""
    judged = frame[(frame["verdict"] != "") & (frame["verdict"] != NOT_RUN)]
    found = _places(judged, place, lambda cell: cell.verdict)
    if not found:
        return []
    if set(found) == {QUICK_RUN}:
        return [escape(QUICK_RULE) + "."]
    counts = []
    for verdict, places in sorted(found.items(), key=lambda item: item[0] != REPRODUCED):
        cells = "" if verdict == REPRODUCED else f" [{', '.join(places)}]"
        counts.append(f"{len(places)} {verdict}{cells}")
    twice = judged[judged["verdict"] == DISAGREE]
    remarks = _places(twice, place, lambda cell: disagreement(cell.note))
    return [
        f"Verdicts: {', '.join(counts)}.",
        *(f"In the paper, {', '.join(at)}: {escape(remark)}." for remark, at in remarks.items()),
        escape(rule) + ".",
    ]


def _places(frame: pd.DataFrame, place: Place, key: Place) -> dict[str, list[str]]:
    """The places of cells with the same key, each once, in the order of the table."""
    found: dict[str, dict[str, None]] = {}
    for cell in frame.itertuples(index=False):
        found.setdefault(key(cell), {})[place(cell)] = None
    return {one: list(places) for one, places in found.items()}
