"""The verdict on the whole paper: every number that it publishes for FLODE, from all tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from flode.experiments.captions import readable
from flode.experiments.checks import FLODE
from flode.reporting.ablation import AS_PUBLISHED
from flode.reporting.fragments import assemble
from flode.reporting.places import cell_words
from flode.reporting.plain import Digits, digits_of, places_among, places_of
from flode.reporting.published import NOT_IN_PAPER
from flode.reporting.ranking import place_of
from flode.reporting.tables import LEARNED
from flode.reporting.tidy import Reasons, read_table
from flode.reporting.typeset import blocks_beside, escape, fixed, ragged, tabular
from flode.reporting.verdicts import (
    EXACT_RULE,
    HIGHER,
    LOWER,
    MEAN_RULE,
    NOT_RUN,
    PLACE_RULE,
    QUICK_RULE,
    QUICK_RUN,
    REPRODUCED,
)

#: Numbers that do not reproduce, listed at most; the CSV has all.
MAX_LISTED = 40

#: A number's place, what was measured, what is published, the verdict.
_COLUMNS = r"p{0.55\linewidth} c c c"


def _judged(kind: str, frame: pd.DataFrame) -> pd.Series:
    """Which cells of a table are numbers that the paper publishes for FLODE and runs measure."""
    published = frame["published_mean"].notna()
    if kind in ("comparison", "ranking"):
        return published & frame["row"].map(lambda row: place_of(row)[1] == FLODE).astype(bool)
    if kind == "hyperparameters":
        return published & frame["row"].isin(LEARNED)
    if kind == "ablation":
        # A number of layers is a setting.
        return (
            published
            & frame["column"].str.endswith(AS_PUBLISHED)
            & (frame["column"] != f"layers{AS_PUBLISHED}")
        )
    # A datasets table has counts of the paper's program too.
    return published & ~frame["note"].str.contains(NOT_IN_PAPER, regex=False)


def load_tables(paths: Iterable[str | Path]) -> dict[str, pd.DataFrame]:
    """Read tidy tables: ``{name: table}``, the name that of the file."""
    return {Path(path).stem: read_table(path) for path in paths}


def reproduction_table(
    name: str,
    spec: Mapping[str, Any],
    tables: Mapping[str, pd.DataFrame],
    reasons: Reasons | None = None,
) -> pd.DataFrame:
    """All numbers of all tables that the paper publishes for FLODE, each with its verdict.

    Args:
        name: the table's name.
        spec: its specification; ``tables`` is ``{table: kind}``.
        tables: tidy tables by name; one that is missing leaves its numbers out.
        reasons: not used.

    Returns:
        Rows of the tables as they are, ``table`` naming where each comes from.
    """
    parts = [
        tables[table][_judged(kind, tables[table])]
        for table, kind in spec["tables"].items()
        if table in tables
    ]
    if not parts:
        wanted = ", ".join(spec["tables"])
        raise ValueError(f"table {name!r}: none of its tables is there; allowed: {wanted}")
    numbers = pd.concat(parts, ignore_index=True)
    # The paper prints the λ₁ of a graph once, in the header of the one table.
    twice = pd.Series(False, index=numbers.index)
    if "frequency_dominance" in spec["tables"].values():
        datasets = [table for table, kind in spec["tables"].items() if kind == "datasets"]
        twice = numbers["table"].isin(datasets) & (numbers["metric"] == "lambda_1")
    return numbers[~twice].reset_index(drop=True)


def render_reproduction(frame: pd.DataFrame, spec: Mapping[str, Any], quick: bool = False) -> str:
    """How many numbers of each table have which verdict, and which were not reproduced."""
    verdicts = verdict_order(frame)
    layouts = spec.get("layouts", {})
    rows = [
        [_title(layouts, table), *verdict_counts(own, verdicts)]
        for table, own in frame.groupby("table", sort=False)
    ]
    total = [["all", *verdict_counts(frame, verdicts)]]
    counts = tabular("", [escape(verdict) for verdict in verdicts], [rows, total])
    blocks = [blocks_beside([("(a) Verdicts on the published numbers.", counts)])]
    missed = frame[frame["verdict"].isin([HIGHER, LOWER])]
    if len(missed):
        labels = ("measured", "published", "verdict")
        listed = _listed(missed.head(MAX_LISTED), spec, digits_of(frame))
        text = tabular("", labels, listed, _COLUMNS)
        blocks.append(blocks_beside([("(b) Numbers that were not reproduced.", text)]))
    measured = frame[frame["verdict"] != NOT_RUN]
    judged = [
        f"{(measured['verdict'] == REPRODUCED).sum()} of the {len(measured)} numbers that were "
        f"measured are reproduced, of {len(frame)} published.",
        f"Means: {escape(MEAN_RULE)}.",
        f"Exact numbers: {escape(EXACT_RULE)}.",
        *([f"Places: {escape(PLACE_RULE)}."] if "ranking" in spec["tables"].values() else []),
    ]
    unjudged = [
        f"{len(measured)} of the {len(frame)} numbers published for FLODE stand beside a measured "
        "one in the tables of this quick run.",
        escape(QUICK_RULE) + ".",
    ]
    notes = unjudged if quick else judged
    if left_out := [table for table in spec["tables"] if table not in set(frame["table"])]:
        titles = "; ".join(_title(layouts, table) for table in left_out)
        notes.append(f"No number comes from: {titles}.")
    if len(missed) > MAX_LISTED:
        notes.append(f"{len(missed) - MAX_LISTED} more in the CSV beside this file.")
    return assemble(frame, spec, blocks, notes, quick)


def verdict_order(frame: pd.DataFrame) -> list[str]:
    """The verdicts to count: those of a mean, then others that the frame has, `NOT_RUN` last; of a
    quick run, which has none of a mean, the others alone."""
    found = set(frame["verdict"])
    known = [] if QUICK_RUN in found else [REPRODUCED, HIGHER, LOWER]
    return [*known, *sorted(found - {*known, NOT_RUN}), *({NOT_RUN} & found)]


def verdict_counts(frame: pd.DataFrame, verdicts: Sequence[str]) -> list[str]:
    """How many cells have each of these verdicts, as text."""
    counts = frame["verdict"].value_counts()
    return [str(counts.get(verdict, 0)) for verdict in verdicts]


def _listed(missed: pd.DataFrame, spec: Mapping[str, Any], digits: Digits) -> list[list[list[str]]]:
    """A group of rows for each table, below its title; a row a number."""
    groups, layouts = [], spec.get("layouts", {})
    for table, own in missed.groupby("table", sort=False):
        title = rf"\multicolumn{{4}}{{@{{}}l}}{{\emph{{{_title(layouts, table)}}}}}"
        subtables = layouts.get(table, {}).get("subtables", {})
        rows = [
            _missed(cell, spec["tables"][table], subtables, digits)
            for cell in own.itertuples(index=False)
        ]
        groups.append([[title], *rows])
    return groups


def _missed(cell: Any, kind: str, subtables: Mapping[str, Any], digits: Digits) -> list[str]:
    own, published = places_among(cell)
    places, spread = places_of(cell, digits)
    texts = [
        own + fixed(cell.mean, cell.std, places, spread),
        published + fixed(cell.published_mean, cell.published_std, places, spread),
    ]
    return [ragged(cell_words(kind, subtables, cell)), *texts, escape(cell.verdict)]


def _title(layouts: Mapping[str, Any], table: str) -> str:
    return layouts.get(table, {}).get("title") or escape(readable(table))
