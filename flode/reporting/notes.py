"""Sentences (LaTeX) under a table: what its numbers are and which are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from operator import itemgetter
from string import ascii_lowercase
from typing import Any

import pandas as pd

from flode.experiments.checks import FLODE
from flode.reporting.layout import Layout
from flode.reporting.published import DISAGREE, disagreement
from flode.reporting.records import splits_of
from flode.reporting.typeset import escape, unlike
from flode.reporting.verdicts import NOT_RUN, QUICK_RULE, QUICK_RUN, REPRODUCED

#: Why a best is not marked.
UNLIKE = "No best is marked among means over different splits"

#: Places that were not run, named at most.
MAX_NOT_RUN = 40

#: Names a cell of a tidy table in a sentence (LaTeX): where it is, which cells may share, and what.
Place = Callable[[Any], tuple[str, str]]

#: Places, by what they share.
Places = dict[str, dict[str, None]]


def by_column(layout: Layout) -> Place:
    """Names a cell by the block's letter and the column."""
    letters, labels = _letters(layout), _labels(layout)
    return lambda cell: (f"({letters[cell.subtable]})", labels[cell.subtable, cell.column])


def by_row(layout: Layout) -> Place:
    """Names a cell by the row, beside the block's letter and the column."""
    letters, labels = _letters(layout), _labels(layout)
    return lambda cell: (
        f"({letters[cell.subtable]}) {labels[cell.subtable, cell.column]}:", escape(cell.row)
    )  # fmt: skip


def _letters(layout: Layout) -> dict[str, str]:
    return dict(zip([block.name for block in layout.subtables], ascii_lowercase, strict=False))


def _labels(layout: Layout) -> dict[tuple[str, str], str]:
    return {
        (block.name, column.name): column.label or escape(column.name)
        for block in layout.subtables
        for column in block.columns
    }


def over_splits(frame: pd.DataFrame) -> str:
    """What a ± runs over: `` over 5 splits``, or ``""`` when nothing was measured."""
    counts = sorted({int(n) for n in frame["n"].dropna()})
    if not counts:
        return ""
    if counts == [1]:
        return " over 1 split"
    span = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f" over {span} splits"


def any_unlike(groups: Iterable[tuple[Any, pd.DataFrame]]) -> bool:
    """Whether in any group the cells that have a mean are of different splits."""
    measured = (own.loc[own["mean"].notna(), "runs"] for _, own in groups)
    return any(unlike(map(splits_of, runs)) for runs in measured)


def standard_error_note(published: pd.DataFrame) -> str:
    """What the published row's ± is, ending the sentence on ±."""
    flode = published[published["row"] == FLODE]
    if (flode["error_kind"] == "standard error").any():
        return r"; for FLODE (published), the printed standard error times $\sqrt{n}$."
    return "."


def not_run_notes(frame: pd.DataFrame, place: Place) -> list[str]:
    """One sentence a reason, naming the places of the cells that were not run; of many the first,
    as the cells themselves say it too."""
    # The reason stands last, after remarks on the published value.
    reasons = _places(frame[frame["verdict"] == NOT_RUN], place, lambda c: c.note.split("; ")[-1])
    return [
        f"Not run ({escape(reason)}): {_listed(places, MAX_NOT_RUN)}."
        for reason, places in reasons.items()
    ]


def verdict_notes(frame: pd.DataFrame, place: Place, rule: str, of: str = "") -> list[str]:
    """Verdicts on the measured cells of a frame, ``of`` whose they are, and their rule; those that
    are no success name their cells, and what the paper says where it disagrees with itself is
    quoted."""
    judged = frame[(frame["verdict"] != "") & (frame["verdict"] != NOT_RUN)]
    found = _places(judged, place, lambda cell: cell.verdict)
    if not found:
        return []
    if set(found) == {QUICK_RUN}:
        return [escape(QUICK_RULE) + "."]
    counts = []
    for verdict, places in sorted(found.items(), key=lambda item: item[0] != REPRODUCED):
        cells = "" if verdict == REPRODUCED else f" [{_listed(places)}]"
        counts.append(f"{sum(map(len, places.values()))} {verdict}{cells}")
    twice = judged[judged["verdict"] == DISAGREE]
    remarks = _places(twice, place, lambda cell: disagreement(cell.note))
    return [
        f"Verdicts{' on ' if of else ''}{of}: {', '.join(counts)}.",
        *(f"In the paper, {_listed(at)}: {escape(remark)}." for remark, at in remarks.items()),
        escape(rule) + ".",
    ]


def _places(frame: pd.DataFrame, place: Place, key: Callable[[Any], str]) -> dict[str, Places]:
    """The places of cells with the same key, each once, in the order of the table."""
    found: dict[str, Places] = {}
    for cell in frame.itertuples(index=False):
        where, what = place(cell)
        found.setdefault(key(cell), {}).setdefault(where, {})[what] = None
    return found


def _listed(places: Places, most: int | None = None) -> str:
    """``(a) Film, Cora; (b) Film``; at ``most`` so many places, and how many more there are."""
    pairs = [(where, name) for where, names in places.items() for name in names]
    texts = [
        f"{where} {', '.join(name for _, name in own)}".rstrip()
        for where, own in groupby(pairs[:most], key=itemgetter(0))
    ]
    more = len(pairs) - len(pairs[:most])
    return "; ".join(texts) + (f"; and {more} more" if more else "")
