"""Statistics of the graphs, as read and as built, beside the published ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import pandas as pd

from flode.experiments.hyperparameters import DEFAULT
from flode.jsonfiles import naming_remedy, read_json, require
from flode.reporting.layout import Column, RowBlock, Subtable, parse_rows
from flode.reporting.published import NOTHING, Published, cells
from flode.reporting.tidy import Reasons, Record, add_note, add_reason, new_record, tidy_frame
from flode.reporting.verdicts import NOT_RUN, exact_verdict

#: Remark on the rank of a truncated factorisation.
TRUNCATED = "largest singular values only, as many as the configuration asks for"


@dataclass(frozen=True)
class Quantity:
    """A column: its key in the statistics, label (LaTeX), digits (None: a count)."""

    key: str
    label: str
    digits: int | None = None


#: Columns by their name in the tidy table and in published values, in order.
QUANTITIES = {
    "raw nodes": Quantity("raw_nodes", "raw nodes"),
    "raw edges": Quantity("raw_edges", "raw edges"),
    "nodes": Quantity("nodes", "nodes"),
    "edges": Quantity("edges", "edges"),
    "features": Quantity("features", "features"),
    "classes": Quantity("classes", "classes"),
    "homophily": Quantity("homophily", "homophily", 3),
    "rank": Quantity("rank", "rank"),
    "explained variance": Quantity("explained_variance", "expl. var.", 3),
    "lambda_1": Quantity("lambda_1", r"$\lambda_1$", 4),
    "lambda_PF": Quantity("lambda_pf", r"$\lambda_{\mathrm{PF}}$", 4),
}

_COUNTS = ("nodes", "edges", "features", "classes", "rank")
#: Null where a graph has no such number.
_OPTIONAL = ("raw_nodes", "raw_edges", "homophily", "lambda_1", "lambda_pf")
_NONE = type(None)


@dataclass(frozen=True)
class Statistics:
    """What `flode.experiments.statistics.graph_report` found, and the file it stands in."""

    content: Mapping[str, Any]
    file: str

    @property
    def generated(self) -> bool:
        """Whether the graph stands for the published one in a quick run: then no published number
        is one of it."""
        return self.content.get("generated", False)


def load_statistics(paths: Iterable[str | Path]) -> dict[str, Statistics]:
    """Read statistics files.

    Returns:
        ``{variant: Statistics}``.

    Raises:
        ValueError: a file is no statistics file, or a variant comes twice; names the file.
    """
    loaded: dict[str, Statistics] = {}
    for path in dict.fromkeys(map(str, paths)):
        content = read_json(path)
        with naming_remedy(path):
            _check_content(content, path)
        variant = content["variant"]
        if variant in loaded:
            raise ValueError(f"{path}: variant {variant!r} is already in {loaded[variant].file}")
        loaded[variant] = Statistics(content, path)
    return loaded


def _check_content(content: Mapping[str, Any], path: str) -> None:
    for key in ("variant", "title"):
        require(content, key, str, path)
    require(content, "truncated", bool, path)
    require(content, "explained_variance", (int, float), path, isfinite, "a finite number")
    for key in _COUNTS:
        require(content, key, int, path, lambda count: count >= 0, "an integer from 0")
    for key in _OPTIONAL:
        require(content, key, (int, float, _NONE), path, _is_number, "a number or null")
    require(content, "published", dict, path)
    if "leading" in content:
        require(content, "leading", dict, path)
        for rank in content["leading"]:
            require(content["leading"], rank, (int, float), path, isfinite, "a finite number")


def statistics_table(
    name: str,
    spec: Mapping[str, Any],
    published: pd.DataFrame,
    statistics: Mapping[str, Statistics],
    reasons: Reasons | None = None,
) -> pd.DataFrame:
    """Measured and published statistics, one row a cell, columns `COLUMNS` of `tidy`.

    Args:
        name: the table's name.
        spec: its specification (see `parse_rows`).
        published: rows are variants, columns `QUANTITIES`. What it lacks of raw nodes and edges
            is taken from the statistics' own ``published``.
        statistics: ``{variant: Statistics}``, from `load_statistics`.
        reasons: why a (variant, ``default``) has no statistics.

    Returns:
        Rows are variants. Numbers are exact: no ``std`` and ``n``, and the verdict is equality at
        the printed digits. A number that a graph does not have (λ₁ of a directed one) is empty,
        without verdict. A variant without statistics is ``not run``, with the reason. A generated
        graph has no published numbers.

    Raises:
        ValueError: the specification is wrong, or the published values have another column.
    """
    paper = cells(published)
    unknown = [column for column in published["column"] if column not in QUANTITIES]
    if unknown:
        raise ValueError(
            f"table {name!r}: published column {unknown[0]!r}; allowed: {', '.join(QUANTITIES)}"
        )
    records = []
    for part in parse_rows(name, spec, published):
        for variant in part.rows:
            found = statistics.get(variant)
            for column in QUANTITIES:
                cell = paper.get((part.name, variant, column)) or _own(found, column)
                cell = NOTHING if found and found.generated else cell
                records.append(_record(name, part, variant, column, cell, found, reasons))
    return tidy_frame(records)


def _own(found: Statistics | None, column: str) -> Published:
    """The size that the configuration says is published."""
    key = column.removeprefix("raw ")
    if found is None or key == column or key not in found.content["published"]:
        return NOTHING
    value = found.content["published"][key]
    return Published(str(value), float(value), None, None, 0, None)


def _record(
    name: str,
    part: RowBlock,
    variant: str,
    column: str,
    cell: Published,
    found: Statistics | None,
    reasons: Reasons | None,
) -> Record:
    quantity = QUANTITIES[column]
    record = new_record(
        name,
        Subtable(part.name, part.caption, "", (), {}),
        variant,
        Column(column, None, None, None),
        quantity.key,
        cell,
        unit="",
    )
    if found is None:
        record["verdict"] = NOT_RUN
        reason = (reasons or {}).get((variant, DEFAULT))
        add_reason(record, reason or f"no statistics of {variant}")
        return record
    record["runs"] = found.file
    value = found.content[quantity.key]
    if value is None and cell.mean is None:
        return record
    if value is None:
        add_note(record, f"{found.file} has no {quantity.key}")
    if column == "rank" and found.content["truncated"]:
        add_note(record, TRUNCATED)
    record["mean"] = value
    record["verdict"] = exact_verdict(value, cell)
    return record


def _is_number(value: float | None) -> bool:
    return value is None or isfinite(value)
