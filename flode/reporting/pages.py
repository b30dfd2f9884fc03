"""Tables as pages for a browser: numbers, marks and verdicts, and the files behind them."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import jinja2
import pandas as pd

from flode.experiments.captions import plain_text, table_title
from flode.experiments.checks import FLODE
from flode.files import write_text_atomic
from flode.reporting.places import plain_block, plain_words, reading_place
from flode.reporting.plain import Digits, digits_of, measured_text, places_among, published_text
from flode.reporting.published import files_of, read_published
from flode.reporting.ranking import ordinal, place_of
from flode.reporting.records import splits_of
from flode.reporting.tidy import files_behind, is_quick, not_run, read_csv, read_table
from flode.reporting.typeset import QUICK_STAMP, ranks
from flode.reporting.verdicts import EXACT_RULE, MEAN_RULE, NOT_RUN, PLACE_RULE

#: Kinds that are shown in their rows and columns; others cell by cell, one under the other.
_MATRICES = (
    "comparison", "ranking", "hyperparameters", "ablation", "frequency_dominance", "datasets",
)  # fmt: skip

_RULES = {
    "datasets": [EXACT_RULE],
    "ranking": [PLACE_RULE],
    "reproduction": [MEAN_RULE, EXACT_RULE],
}
_BRACKETS = (
    "In brackets: as published, where a number was measured too. ± is the standard deviation."
)
_TYPES = {".csv": "text/csv", ".tex": "text/x-tex"}


@dataclass(frozen=True)
class _Cell:
    text: str = ""
    published: str = ""
    verdict: str = ""
    hint: str = ""
    rank: int = 0
    number: bool = False


@dataclass(frozen=True)
class _Row:
    name: str
    cells: Sequence[_Cell]
    chosen: bool = False
    again: bool = False  # the name stands in a row above, and is only searched for here


@dataclass(frozen=True)
class _Block:
    caption: str
    header: Sequence[str]
    rows: Sequence[_Row] = field(default_factory=tuple)


def write_table_page(
    settings: Mapping[str, Any],
    csv: str | Path,
    tex: str | Path,
    published: str | Path | Iterable[str | Path],
    output: str | Path,
) -> str:
    """A page of a table.

    Args:
        settings: ``spec``, the table's entry in the configuration, and ``caption``, see
            `flode.experiments.captions`.
        csv, tex: the table; the page carries both.
        published: files of published numbers, for the groups in which an ablation is ranked.
        output: where to write.

    Raises:
        ValueError: the CSV file is damaged or no tidy table; names it.
    """
    frame, spec, caption = read_table(csv), settings["spec"], settings["caption"]
    groups = {}
    if spec["kind"] == "ablation":
        for row in read_published(files_of(published)[0]).itertuples(index=False):
            groups[row.subtable, row.row] = row.group
    quick = caption["quick"] or is_quick(frame)
    marked = 0 if quick else spec.get("marked", 0)
    blocks = (
        _matrix(frame, spec, groups, marked) if spec["kind"] in _MATRICES else _list(frame, spec)
    )
    missing = [f"Not run, {len(own)} cells: {reason}." for reason, own in not_run(frame).items()]
    notes = []
    if frame["published_mean"].notna().any():
        notes = [_BRACKETS, *(f"{rule}." for rule in _RULES.get(spec["kind"], [MEAN_RULE]))]
    if files := files_behind(frame):
        notes.append(f"Generated from {len(files)} files of runs and statistics.")
    counts = frame.loc[frame["verdict"] != "", "verdict"].value_counts()
    return _write(
        output,
        caption | {"quick": quick},
        blocks,
        [*notes, *missing],
        [csv, tex],
        list(counts.items()),
    )


def write_search_page(settings: Mapping[str, Any], csv: str | Path, output: str | Path) -> str:
    """A page of a search, a row a candidate, the chosen ones in bold; ``settings`` hold the
    ``caption``.

    Raises:
        ValueError: the CSV file is damaged; names it.
    """
    frame = read_csv(csv).drop(columns="runs")
    rows = [
        _Row(
            str(variant),
            [_Cell(_plain(value), number=True) for value in own[1:]],
            chosen=bool(own[frame.columns.get_loc("chosen")]),
        )
        for variant, own in zip(frame["variant"], frame.itertuples(index=False), strict=True)
    ]
    header = [column.replace("_", " ") for column in frame.columns]
    return _write(output, settings["caption"], [_Block("", header, rows)], [], [csv])


def _matrix(
    frame: pd.DataFrame, spec: Mapping[str, Any], groups: Mapping, marked: int
) -> list[_Block]:
    """A block a subtable, rows and columns in the table's order."""
    digits, blocks = digits_of(frame), []
    for name, own in frame.groupby("subtable", sort=False):
        columns = list(dict.fromkeys(own["column"]))
        rows: dict[str, dict[str, _Cell]] = {}
        found = _ranks(own, spec["kind"], groups, marked, digits)
        for cell in own.itertuples(index=False):
            row, model = cell.row, ""
            if spec["kind"] == "ranking":
                place, model = place_of(row)
                row = ordinal(place) if place else model
                model = model if place else ""
            rank = found.get((cell.row, cell.column), 0)
            rows.setdefault(row, {})[cell.column] = _shown(cell, digits, rank, model)
        part = spec.get("subtables", {}).get(name, {})
        label = plain_text(part.get("header", ""))
        lines = [_Row(row, [cells.get(c, _Cell()) for c in columns]) for row, cells in rows.items()]
        title = plain_text(part.get("caption", ""))
        # Lettered as in the .tex, where captions refer to it.
        if title and spec["kind"] != "datasets":
            title = f"({ascii_lowercase[len(blocks) % 26]}) {title}"
        blocks.append(_Block(title, [label, *columns], lines))
    return blocks


def _list(frame: pd.DataFrame, spec: Mapping[str, Any]) -> list[_Block]:
    """A row a cell."""
    digits, layouts = digits_of(frame), spec.get("layouts", {})
    if spec["kind"] == "claims":
        rows, before = [], None
        for cell in frame.itertuples(index=False):
            again, before = cell.row == before, cell.row
            cells = [_Cell("" if again else cell.subtable), _Cell(cell.column), _Cell(cell.note)]
            rows.append(_Row(cell.row, [*cells, _verdict(cell)], again=again))
        return [_Block("", ["claim", "where", "check", "values", "verdict"], rows)]
    points = spec["kind"] == "discrepancies"
    rows = []
    for cell in frame.itertuples(index=False):
        if points:
            name, number = plain_block(layouts, cell), reading_place(cell)
        else:
            name, number = table_title(layouts, cell.table), plain_words(layouts, cell)
        place, published = places_among(cell)
        cells = [
            _Cell(number),
            _Cell(place + measured_text(cell, digits), number=True),
            _Cell(published + published_text(cell, digits), number=True),
            _verdict(cell),
            _Cell(cell.note),
        ]
        rows.append(_Row(name, cells))
    first = "point" if points else "table"
    return [_Block("", [first, "number", "measured", "published", "verdict", "note"], rows)]


def _verdict(cell: Any) -> _Cell:
    return _Cell(verdict=cell.verdict, hint=cell.runs.replace(";", "\n"))


def _shown(cell: Any, digits: Digits, rank: int, model: str) -> _Cell:
    text, published = measured_text(cell, digits), published_text(cell, digits)
    if not text:  # a baseline: what is published is all there is
        text, published = published, ""
    hint = "\n".join(filter(None, [cell.note, *cell.runs.split(";")]))
    verdict = cell.verdict if cell.verdict != NOT_RUN else ""
    return _Cell(f"{model} {text}".strip(), published, verdict, hint, rank, number=True)


def _ranks(
    own: pd.DataFrame, kind: str, groups: Mapping, marked: int, digits: Digits
) -> dict[tuple[str, str], int]:
    """The place, from 1, of the best cells of each column: of a comparison among the published
    baselines and the measured models, of an ablation among the rows of its group."""
    found: dict[tuple[str, str], int] = {}
    if not marked:
        return found
    if kind == "ranking":
        return {
            (row, column): place
            for row, column in zip(own["row"], own["column"], strict=True)
            for place, _ in [place_of(row)]
            if place is not None and place <= marked
        }
    if kind not in ("comparison", "ablation"):
        return found
    scores = own[own["metric"].isin(["accuracy", "auroc"])]
    group = [groups.get((cell.subtable, cell.row), "") for cell in scores.itertuples(index=False)]
    for (column, _), part in scores.groupby([scores["column"], group], sort=False):
        cells = list(part.itertuples(index=False))
        # As in the .tex, no place is won against what was not run.
        if kind == "ablation" and not all(cell.runs for cell in cells):
            continue
        if kind == "comparison" and any(
            cell.row != FLODE and cell.verdict == NOT_RUN for cell in cells
        ):
            continue
        values = [
            cell.mean if kind == "ablation" or _is_measured(cell) else cell.published_mean
            for cell in cells
        ]
        places = [digits.get((cell.table, cell.subtable, cell.metric), 2) for cell in cells]
        rounded = [
            None if pd.isna(value) else Decimal(f"{value:.{places_}f}")
            for value, places_ in zip(values, places, strict=True)
        ]
        splits = [splits_of(cell.runs) if pd.notna(cell.mean) else set() for cell in cells]
        for cell, rank in zip(cells, ranks(rounded, marked, splits), strict=True):
            if rank is not None:
                found[cell.row, column] = rank + 1
    return found


def _is_measured(cell: Any) -> bool:
    """Whether a cell of a comparison is of a model that is measured, run or not."""
    return cell.row == FLODE or cell.verdict == NOT_RUN or pd.notna(cell.mean)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.6g}"
    return str(value)


def _write(
    output: str | Path,
    caption: Mapping[str, Any],
    blocks: Sequence[_Block],
    notes: Sequence[str],
    files: Iterable[str | Path],
    verdicts: Sequence[tuple[str, int]] = (),
) -> str:
    downloads = []
    for file in map(Path, files):
        content = base64.b64encode(file.read_bytes()).decode("ascii")
        uri = f"data:{_TYPES[file.suffix]};charset=utf-8;base64,{content}"
        downloads.append({"name": file.name, "uri": uri})
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("flode.reporting"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    text = environment.get_template("page.html").render(
        title=caption["title"],
        place=caption["place"],
        quick=caption["quick"],
        stamp=QUICK_STAMP,
        verdicts=verdicts,
        blocks=blocks,
        notes=list(filter(None, [*notes, caption["rests_on"]])),
        downloads=downloads,
    )
    write_text_atomic(output, text)
    return text
