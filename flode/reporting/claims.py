"""What the paper's text says, as comparisons of measured numbers: each claim holds or fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from flode.reporting.fragments import assemble
from flode.reporting.records import splits_in_words, splits_of
from flode.reporting.tidy import COLUMNS as TABLE_COLUMNS
from flode.reporting.tidy import (
    QUICK,
    Reasons,
    add_note,
    add_reason,
    is_quick,
    read_csv,
    read_table,
    tidy_frame,
)
from flode.reporting.typeset import blocks_beside, escape, ragged, tabular
from flode.reporting.verdicts import FAILS, HALF_POINT, HOLDS, NOT_RUN, QUICK_RULE, QUICK_RUN

#: The verdict on a claim whose checks hold as far as they were run.
OPEN = "open"

#: Remark on a check of percentages that are nearly equal.
CLOSE = "less than half a point apart"

#: Remark on a check of means that do not rest on the same splits.
UNEQUAL = "means over different splits"

#: What the remarks are for, as summaries of claims state it.
REMARKS_RULE = f"Accuracies that are {CLOSE} are called close, and checks of {UNEQUAL} unequal"

#: The claim, where the paper makes it, how many checks hold, the verdict.
_COLUMNS = r"p{0.5\linewidth} p{0.18\linewidth} p{0.17\linewidth} c"

#: How an operator reads between its two sides.
_WORDS = {"greater": "greater than", "less": "less than", "at_least": "at least"}

#: How a check compares its two values.
OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "greater": lambda left, right: left > right,
    "less": lambda left, right: left < right,
    "at_least": lambda left, right: left >= right,
}


@dataclass(frozen=True)
class _Value:
    """A number that a check compares: what it is in words, and the files it rests on."""

    number: float | None
    words: str
    runs: str = ""
    missing: str = ""
    quick: bool = False
    percent: bool = False
    splits: tuple[frozenset[int], ...] = ()


def load_sources(paths: Iterable[str | Path]) -> dict[str, pd.DataFrame]:
    """Read tables (``tables/<name>.csv``) and studies: ``{name: frame}``."""
    return {
        Path(path).stem: read_table(path) if Path(path).parent.name == "tables" else
        read_csv(path)
        for path in paths
    }  # fmt: skip


def claims_table(
    name: str,
    spec: Mapping[str, Any],
    sources: Mapping[str, pd.DataFrame],
    reasons: Reasons | None = None,
) -> pd.DataFrame:
    """A row for each check of each claim.

    A check is ``{operator: [left, right]}`` with an operator of `OPERATORS`. A side is a number, or
    ``{source, where, value, minus}``: the number in the one row of a table or study that has the
    values under ``where``; ``minus`` is another row whose number is taken away, and whose
    ``absolute`` says that the difference has no sign. ``value`` is the column, by default ``mean``,
    what was measured; a baseline has ``published_mean``.

    Returns:
        A tidy table: ``subtable`` where the paper says it, ``row`` the claim, ``column`` the check
        in words, no numbers; the verdict of each check, ``holds``, ``fails`` or ``not run``, and
        the values that it compares in ``note``.

    Raises:
        ValueError: a column that is not there, or values that no row or several have; named. In a
            quick run, whose overlay may leave rows out, no row is ``not run``.
    """
    records = []
    for claim, entry in spec["claims"].items():
        for check in entry["checks"]:
            ((operator, sides),) = check.items()
            where = f"{name}: {claim}"
            left, right = (
                _value(sources, sides[0], where),
                _value(sources, sides[1], where, sides[0]),
            )
            record = dict.fromkeys(TABLE_COLUMNS, "")
            record |= {"table": name, "subtable": entry["source"], "row": claim, "metric": "claim"}
            record |= dict.fromkeys(("mean", "std", "n", "published_mean", "published_std"))
            record["column"] = f"{left.words} {_WORDS[operator]} {right.words}"
            record["runs"] = ";".join(dict.fromkeys(filter(None, [left.runs, right.runs])))
            if left.number is None or right.number is None:
                record["verdict"] = NOT_RUN
                missing = dict.fromkeys(filter(None, [left.missing, right.missing]))
                add_reason(record, ", ".join(missing))
            else:
                holds = OPERATORS[operator](left.number, right.number)
                record["verdict"] = HOLDS if holds else FAILS
                record["note"] = f"{left.number:.4g} against {right.number:.4g}"
                difference = abs(left.number - right.number)
                if left.percent and right.percent and difference < HALF_POINT:
                    add_note(record, CLOSE)
                splits = map(splits_in_words, dict.fromkeys(left.splits + right.splits))
                if len(both := list(splits)) > 1:
                    add_note(record, f"{UNEQUAL}: {' and '.join(both)}")
            if left.quick or right.quick:
                add_note(record, QUICK)
            records.append(record)
    return tidy_frame(records)


def _value(
    sources: Mapping[str, pd.DataFrame], side: Any, where: str, beside: Any = None
) -> _Value:
    """One side of a check, its words those that tell it from what it stands beside."""
    if isinstance(side, (int, float)):
        return _Value(float(side), f"{side:g}")
    found = _cell(sources, side, where, beside)
    if "minus" in side and found.number is not None:
        other = _cell(sources, side | side["minus"], where, side)
        absolute = side["minus"].get("absolute", False)
        number = None if other.number is None else found.number - other.number
        number = abs(number) if absolute and number is not None else number
        runs = ";".join(filter(None, [found.runs, other.runs]))
        words = f"{found.words} {'apart from' if absolute else 'minus'} {other.words}"
        quick = found.quick or other.quick
        splits = found.splits + other.splits
        return _Value(number, words, runs, other.missing, quick, splits=splits)
    return found


def _cell(
    sources: Mapping[str, pd.DataFrame], side: Mapping[str, Any], where: str, beside: Any = None
) -> _Value:
    words = _words(side, beside)
    column = side.get("value", "mean")
    if column != "mean":  # what is published is not shown as if it were measured
        words += " (published)" if column == "published_mean" else f" ({column})"
    if side["source"] not in sources:
        return _Value(None, words, missing=f"{side['source']} was not made")
    frame = sources[side["source"]]
    for key, value in side["where"].items():
        if key not in frame.columns:
            raise ValueError(f"{where}: {side['source']} has no column {key!r}")
        frame = frame[frame[key] == value]
    if frame.empty and is_quick(sources[side["source"]]):  # an overlay may leave points out
        return _Value(None, words, missing=f"the quick run has no {_words(side)}", quick=True)
    if len(frame) != 1:
        raise ValueError(
            f"{where}: {len(frame)} rows of {side['source']} have {dict(side['where'])}; "
            "allowed: one"
        )
    row = frame.iloc[0]
    if column not in frame.columns:
        raise ValueError(f"{where}: {side['source']} has no column {column!r}")
    try:
        number = None if pd.isna(row[column]) else float(row[column])
    except ValueError:
        raise ValueError(
            f"{where}: {column} of {side['source']} is {row[column]!r}; allowed: a number"
        ) from None
    runs, note = row.get("runs"), row.get("note")
    missing = f"{side['source']} has no {column} of {_words(side)}" if number is None else ""
    quick = isinstance(note, str) and QUICK in note
    # A study's column ``mean`` has no unit: it is that of accuracies.
    percent = row.get("unit", "%") == "%" and column in ("mean", "published_mean")
    runs = runs if isinstance(runs, str) else ""
    over_splits = column.endswith(("mean", "std")) and not column.startswith("published")
    found = splits_of(runs) if over_splits and number is not None else None
    splits = (found,) if found else ()
    return _Value(number, words, runs, missing, quick, percent, splits)


def _words(side: Mapping[str, Any], beside: Any = None) -> str:
    """Where the number stands; beside another, only what differs, if anything does."""
    own = side["where"]
    if isinstance(beside, Mapping) and beside["source"] == side["source"]:
        other = beside["where"]
        own = {key: value for key, value in own.items() if other.get(key) != value} or own
    return " / ".join(map(str, own.values()))


def render_claims(frame: pd.DataFrame, spec: Mapping[str, Any], quick: bool = False) -> str:
    """A row a claim: how many of its checks hold, and whether it does; of a quick run, how many
    there are."""
    rows: list[Sequence[str]] = []
    for claim, own in frame.groupby("row", sort=False):
        verdict = claim_verdict(own["verdict"])
        held = str(len(own)) if quick else checks_held(own)
        texts = [escape(str(claim)), escape(own["subtable"].iloc[0]), held]
        rows.append([*map(ragged, texts), verdict])
    notes = [
        "Each check compares measured numbers, means without their spread; the CSV beside this file"
        f" gives their values. {REMARKS_RULE}."
    ]
    if quick:
        notes.append(escape(QUICK_RULE) + ".")
    if frame["column"].str.contains("(published)", regex=False).any():
        notes.append("Baselines are as published.")
    text = tabular("", ("where", "checks", "verdict"), [rows], _COLUMNS)
    return assemble(frame, spec, [blocks_beside([("", text)])], notes, quick)


def checks_held(checks: pd.DataFrame) -> str:
    """How many of a claim's checks hold, of those that were run, and what of the others; how many
    rest on a difference that is small, or on different splits."""
    verdicts, notes = checks["verdict"], checks["note"]
    run = (verdicts != NOT_RUN).sum()
    close, unequal = (notes.str.contains(one, regex=False).sum() for one in (CLOSE, UNEQUAL))
    counts = {"close": close, "unequal": unequal, "not run": len(checks) - run}
    more = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    words = f" ({more})" if more else ""
    return f"{(verdicts == HOLDS).sum()} of {run}{words}"


def claim_verdict(checks: Iterable[str]) -> str:
    """A claim fails if one of its checks does, holds if all do, and is open where one was not run;
    a quick run has no verdict."""
    found = set(checks)
    if QUICK_RUN in found:
        return QUICK_RUN
    if FAILS in found:
        return FAILS
    return OPEN if NOT_RUN in found else HOLDS
