"""The opening of the report, as reStructuredText: what reproduced, what did not, what was learnt.

Every number in it is counted in, or read from, the tables that the workflow made.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from flode.experiments.captions import readable, rst_escape, table_title
from flode.experiments.checks import SUMMARIES
from flode.files import write_text_atomic
from flode.reporting.claims import OPEN, REMARKS_RULE, checks_held, claim_verdict
from flode.reporting.places import plain_words
from flode.reporting.plain import (
    Digits,
    digits_of,
    measured_text,
    places_among,
    published_text,
)
from flode.reporting.published import DISAGREE, DISAGREE_RULE, disagreement
from flode.reporting.reproduction import MAX_LISTED, load_tables, verdict_counts, verdict_order
from flode.reporting.sources import source_rows
from flode.reporting.tidy import is_quick, not_run
from flode.reporting.typeset import QUICK_STAMP
from flode.reporting.verdicts import (
    EXACT_RULE,
    FAILS,
    HIGHER,
    HOLDS,
    LOWER,
    MEAN_RULE,
    NOT_RUN,
    PLACE_RULE,
    QUICK_RUN,
    REPRODUCED,
)

Tables = Mapping[str, pd.DataFrame]

#: Columns that the readings of one published number share.
_OF_A_NUMBER = ("subtable", "row", "metric", "published_mean")


@dataclass(frozen=True)
class _Shown:
    """What a reader calls the tables, and what the report shows of them.

    Attributes:
        layouts: ``Catalogue.layouts``.
        links: names of files that the report shows.
    """

    layouts: Mapping[str, Any]
    links: Collection[str]

    def title(self, table: str) -> str:
        return table_title(self.layouts, table)

    def kinds(self, frame: pd.DataFrame) -> set[str]:
        """Kinds of the tables that its numbers come from."""
        return {self.layouts.get(table, {}).get("kind", "") for table in set(frame["table"])}

    def table(self, name: str, text: str = "") -> str:
        """A table by its title or other words."""
        return self.link(f"{name}.html", text or self.title(name))

    def link(self, file: str, text: str) -> str:
        """The words, and where the report shows the file a link: Snakemake defines a target for
        each."""
        words = rst_escape(text)
        return f"`{words} <{file}_>`__" if file in self.links else words


#: What begins a list, a comment or a directive in reStructuredText, where a cell begins with it.
_MARKER = re.compile(r"[-+•](?=\s|$)|\(?\w+[.)](?=\s|$)|#\.(?=\s|$)|\.\.(?=\s|$)")

_TITLE = "“A Fractional Graph Laplacian Approach to Oversmoothing”, reproduced"


def write_summary(
    settings: Mapping[str, Any],
    tables: Iterable[str | Path],
    items: Iterable[str | Path],
    output: str | Path,
) -> str:
    """Read the tables, write the summary.

    Args:
        settings: ``Report.summary_settings``.
        tables: CSV files of those of its ``layouts`` that were made.
        items: files that the report shows; what is not among them is named without a link.
        output: where to write.
    """
    links = {Path(item).name for item in items}
    text = summary_text(settings, load_tables(tables), links)
    write_text_atomic(output, text)
    return text


def summary_text(settings: Mapping[str, Any], tables: Tables, links: Collection[str] = ()) -> str:
    """The summary of these tables.

    Args:
        settings: ``layouts`` of the tables that it reads (``Catalogue.layouts``), ``learnt``, the
            entries of the configuration's ``report.learnt``, ``splits``, how many each variant has,
            and ``quick``.
        tables: tidy tables by name; one that is missing is said to be so.
        links: names of files that the report shows, ``<table>.html`` and ``<figure>.svg``.
    """
    shown = _Shown(settings["layouts"], links)
    kinds = {name: layout["kind"] for name, layout in shown.layouts.items()}
    quick = settings["quick"] or any(is_quick(frame) for frame in tables.values())
    parts = [_heading(_TITLE, "=")]
    if quick:
        parts.append(
            f"**{QUICK_STAMP}.** Small graphs and short trainings stand in for the paper's: no "
            "number of this report says anything about the paper."
        )
    groups = {kind: [name for name in kinds if kinds[name] == kind] for kind in kinds.values()}
    for name in groups.get("reproduction", []):
        measuring = [table for table in kinds if kinds[table] not in SUMMARIES]
        lacking = [table for table in measuring if table not in tables]
        own = tables.get(name)
        parts += _reproduction(own, name, shown, quick, settings["splits"], lacking)
    for name in groups.get("claims", []):
        parts += _claims(tables.get(name), name, shown)
    parts += _not_run(kinds, tables, shown)
    parts += _sources(tables)
    learnt = []
    for name in kinds:
        if "discrepancies" in (name, kinds[name]):
            learnt += _discrepancies(tables.get(name), name, shown)
    for entry in settings["learnt"]:
        learnt += _learnt(entry, tables, shown)
    for name in groups.get("reproduction", []):
        learnt += _printed_twice(tables.get(name), shown)
    if learnt:
        parts += [_heading("Where paper and numbers disagree", "-"), *learnt]
    return "\n\n".join(parts) + "\n"


def _reproduction(
    frame: pd.DataFrame | None,
    name: str,
    shown: _Shown,
    quick: bool,
    splits: Mapping[str, int],
    lacking: Sequence[str],
) -> list[str]:
    parts = [_heading("Published numbers", "-")]
    if frame is None:
        return [*parts, _not_made(name, shown)]
    verdicts = verdict_order(frame)
    rows = [
        [shown.table(table), *verdict_counts(own, verdicts), str(len(own))]
        for table, own in frame.groupby("table", sort=False)
    ]
    rows.append(["**all**", *verdict_counts(frame, verdicts), str(len(frame))])
    measured = (frame["verdict"] != NOT_RUN).sum()
    good = (frame["verdict"] == REPRODUCED).sum()
    found = (
        f"{measured} have a stand-in of the quick run beside them, and no verdict."
        if quick
        else f"{measured} were measured; **{good} of these {measured} are reproduced**."
        f"{_on_some_splits(frame, splits)}"
    )
    names = _listed([rst_escape(shown.title(table)) for table in lacking])
    left_out = f" (those of tables that were not made, {names}, not counted)" if lacking else ""
    rules = {"Means": MEAN_RULE, "Exact numbers": EXACT_RULE}
    if "ranking" in shown.kinds(frame):
        rules["Places"] = PLACE_RULE
    if DISAGREE in verdicts:
        rules["Published values disagree"] = DISAGREE_RULE
    parts += [
        f"Of the {len(frame)} numbers that the paper publishes for FLODE{left_out}, {found}",
        _table(["table", *map(rst_escape, verdicts), "all"], rows),
        *(f"{what}: {rst_escape(rule)}." for what, rule in rules.items()),
        f"Each number with its verdict: {shown.table(name, 'the table of all')}.",
    ]
    missed = frame[frame["verdict"].isin([HIGHER, LOWER])]
    if len(missed):
        more = f", {MAX_LISTED} of them here" if len(missed) > MAX_LISTED else ""
        parts += [
            f"Not reproduced: {len(missed)}{more}.",
            _cells(missed.head(MAX_LISTED), digits_of(frame), shown),
        ]
    return parts


def _on_some_splits(frame: pd.DataFrame, splits: Mapping[str, int]) -> str:
    """How many measured numbers rest on some of their variant's splits, if any do: a sentence."""

    def is_part(row: pd.Series) -> bool:
        first = row["runs"].partition(";")[0]  # …/runs/<variant>/<configuration>/splits-….json
        whole = splits.get(Path(first).parts[-3], 0) if first.count("/") > 1 else 0
        return pd.notna(row["n"]) and row["n"] < whole

    part = frame[frame.apply(is_part, axis=1)]
    if part.empty:
        return ""
    good = (part["verdict"] == REPRODUCED).sum()
    return (
        f" {len(part)} of the measured ones, of which {good} are reproduced, rest on some of their"
        " splits: not all were trained, and the fewer they are, the wider is the interval."
    )


def _claims(frame: pd.DataFrame | None, name: str, shown: _Shown) -> list[str]:
    parts = [_heading("What the text says", "-")]
    if frame is None:
        return [*parts, _not_made(name, shown)]
    rows, found = [], []
    for claim, own in frame.groupby("row", sort=False):
        verdict = claim_verdict(own["verdict"])
        found.append(verdict)
        said = f"**{verdict}**" if verdict == FAILS else verdict
        where = rst_escape(own["subtable"].iloc[0])
        rows.append([rst_escape(str(claim)), where, checks_held(own), said])
    counts = [f"{found.count(one)} {words}" for one, words in _CLAIM_WORDS.items() if one in found]
    parts += [
        f"Of {len(found)} claims {_listed(counts)}. A claim holds if all of its checks do, "
        f"comparisons of measured numbers. {REMARKS_RULE}. Their values: "
        f"{shown.table(name, 'the table of claims')}.",
        _table(["claim", "where", "checks that hold", "verdict"], rows),
    ]
    return parts


_CLAIM_WORDS = {
    HOLDS: "hold",
    FAILS: "fail",
    OPEN: "are open, as not all checks were run",
    QUICK_RUN: "are of a quick run, and not judged",
}


def _not_run(kinds: Mapping[str, str], tables: Tables, shown: _Shown) -> list[str]:
    """What the tables that measure lack, reason by reason."""
    reasons: dict[str, list[str]] = {}
    for name in kinds:
        if kinds[name] in SUMMARIES:  # their cells are of other tables
            continue
        if name not in tables:
            reasons.setdefault("the table was not made", []).append(rst_escape(shown.title(name)))
            continue
        for reason, own in not_run(tables[name]).items():
            cells = f"{shown.table(name)} ({len(own)})"
            reasons.setdefault(reason or "no reason is given", []).append(cells)
    parts = [_heading("What was not run", "-")]
    if not reasons:
        return [*parts, "Nothing: each cell of the tables that are summed up here has its number."]
    rows = [[rst_escape(reason), ", ".join(cells)] for reason, cells in reasons.items()]
    counted = (
        "Cells of tables, among them such as the paper does not print, or prints for other layers:"
    )
    return [*parts, counted, _table(["why", "tables (cells of each)"], rows)]


def _sources(tables: Tables) -> list[str]:
    """Which trainings the tables rest on, if their run files are there."""
    rows = source_rows(tables.values())
    if not rows:
        return []
    header = ["commit", "PyTorch", "device", "run files", "trained splits", "core or GPU hours"]
    return [
        _heading("Where the numbers come from", "-"),
        "Each table names the run files that a number rests on; each of these its configuration, "
        "its seed and the hashes of its raw data. They were trained by:",
        _table(header, [[rst_escape(cell) for cell in row] for row in rows]),
    ]


def _discrepancies(frame: pd.DataFrame | None, name: str, shown: _Shown) -> list[str]:
    """Readings between which a published number decides: some of its readings reproduce it."""
    if frame is None:
        return [_not_made(name, shown)]
    run = frame[frame["verdict"] != NOT_RUN]
    good = run["verdict"] == REPRODUCED
    share = good.groupby([run[key] for key in _OF_A_NUMBER]).transform("mean")
    decided = run[(share > 0) & (share < 1)]
    table = shown.table(name, f"the table “{shown.title(name)}”")
    words = (
        f"What the text and what the numbers ask for: {len(run)} of {len(frame)} readings were "
        f"measured, all in {table}"
    )
    if decided.empty:
        return [f"{words}."]
    return [
        f"{words}. Of these, readings that a published number tells apart:",
        _cells(decided, digits_of(frame), shown, tables=False),
    ]


def _learnt(entry: Mapping[str, Any], tables: Tables, shown: _Shown) -> list[str]:
    """A statement of the configuration, where it is measured, and the numbers found there."""
    statement = rst_escape(entry["statement"])
    if "document" in entry:
        return [f"{statement}: ``{entry['document']}``."]
    if "figure" in entry:
        figure = entry["figure"]
        drawn = "" if f"{figure}.svg" in shown.links else ", which was not drawn"
        words = shown.link(f"{figure}.svg", f"the figure {readable(figure)}")
        return [f"{statement}: {words}{drawn}."]
    name, found = entry["table"], []
    parts = [f"{statement}: {shown.table(name, f'the table “{shown.title(name)}”')}."]
    if name not in tables:
        return [*parts, _not_made(name, shown)]
    for where in entry.get("cells", []):
        own = tables[name]
        for column, value in where.items():
            own = own[own[column] == value]
        if own.empty:
            raise ValueError(f"report.learnt: no cell of table {name} has {dict(where)}")
        found.append(own)
    if found:
        parts.append(_cells(pd.concat(found), digits_of(tables[name]), shown, tables=False))
    return parts


def _printed_twice(frame: pd.DataFrame | None, shown: _Shown) -> list[str]:
    """Numbers of which the paper prints two, with the remark that says which."""
    found = None if frame is None else frame[frame["verdict"] == DISAGREE]
    if found is None or found.empty:
        return []
    return [
        "Of some numbers the paper prints two values, or one that its others contradict; beside "
        "them what was measured:",
        _cells(found, digits_of(frame), shown, remarks=True),
    ]


def _cells(
    own: pd.DataFrame,
    digits: Digits,
    shown: _Shown,
    tables: bool = True,
    remarks: bool = False,
) -> str:
    """Cells one under the other: table, number, measured, published, verdict or remark."""
    header = ["table", "number", "measured", "published", "remark" if remarks else "verdict"]
    rows = []
    for cell in own.itertuples(index=False):
        place, published = places_among(cell)
        rows.append(
            [
                shown.table(cell.table),
                rst_escape(plain_words(shown.layouts, cell)),
                place + measured_text(cell, digits),
                published + published_text(cell, digits),
                rst_escape(cell.verdict if pd.notna(cell.mean) else ""),
            ]
        )
        if remarks:
            rows[-1][-1] = rst_escape(disagreement(cell.note))
    first = 0 if tables else 1
    return _table(header[first:], [row[first:] for row in rows])


def _not_made(name: str, shown: _Shown) -> str:
    return f"The table “{rst_escape(shown.title(name))}” was not made."


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _heading(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: auto", ""]
    for row in [header, *rows]:
        cells = [rf"\ {cell}" if _MARKER.match(cell) else cell for cell in row]
        lines += [f"   {'*' if k == 0 else ' '} - {cell}".rstrip() for k, cell in enumerate(cells)]
    return "\n".join(lines)
