"""What a table looks like: its specification from the configuration, checked and completed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from flode.experiments.checks import FLODE
from flode.experiments.hyperparameters import DEFAULT


@dataclass(frozen=True)
class Column:
    """A column: which runs fill it; ``key`` is None where the configuration names none."""

    name: str
    label: str | None
    metric: str | None
    key: tuple[str, str] | None


@dataclass(frozen=True)
class Subtable:
    """A block of a table: caption and header are LaTeX, columns and rows in printed order.

    Attributes:
        groups: ``{row: group}``; a rule is drawn where the group changes.
        beside: whether the block stands to the right of the one before.
        models: ``{row: configuration}`` of other models that are measured beside FLODE.
        printed: the rows that the paper has.
    """

    name: str
    caption: str
    header: str
    columns: tuple[Column, ...]
    groups: Mapping[str, int]
    beside: bool = False
    models: Mapping[str, str] = field(default_factory=dict)
    printed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Layout:
    """A whole table: caption and label are LaTeX, ``marked`` counts the models that are marked."""

    name: str
    caption: str
    label: str
    marked: int
    subtables: tuple[Subtable, ...]


@dataclass(frozen=True)
class RowBlock:
    """A block of a table whose rows are variants: its caption is LaTeX, ``rows`` are
    ``{variant: label}``, a label LaTeX or None."""

    name: str
    caption: str
    rows: Mapping[str, str | None]


@dataclass(frozen=True)
class OptionBlock:
    """A block of an ablation: ``rows`` are ``{name: {variant, set, label, candidates}}``, and a
    rule is drawn where the ``groups``, ``{row: group}``, change."""

    name: str
    caption: str
    rows: Mapping[str, Mapping[str, Any]]
    groups: Mapping[str, int]


def parse_options(name: str, spec: Mapping[str, Any], published: pd.DataFrame) -> list[OptionBlock]:
    """Check the specification of an ablation. Published rows that it leaves out are not shown.

    Raises:
        ValueError: a key that is missing; names the table and the key.
    """
    blocks = []
    for key, value in _mapping(spec, "subtables", f"table {name!r}").items():
        where = f"table {name!r}, subtable {key!r}"
        rows = _mapping(value, "rows", where)
        printed = published[published["subtable"] == str(key)]
        groups = {
            row: int(group) for row, group in zip(printed["row"], printed["group"], strict=True)
        }
        last = max(groups.values(), default=0) + 1
        ordered = {row: groups.get(row, last) for row in rows}
        blocks.append(OptionBlock(str(key), value.get("caption", ""), rows, ordered))
    return blocks


def parse_layout(name: str, spec: Mapping[str, Any], published: pd.DataFrame) -> Layout:
    """Check a table's specification and complete it by what the paper prints.

    A column is ``{variant, configuration, label, metric}``, all but the variant optional.
    Columns stand as in the specification; published columns that it leaves out follow, without
    runs, so that nothing of the paper disappears silently. Published subtables that it leaves out
    are not shown; with ``rows`` none but these rows, and the columns of the specification.

    Raises:
        ValueError: a key is missing or has a wrong value; names the table and the key.
    """
    where = f"table {name!r}"
    marked = spec.get("marked", 0)
    if isinstance(marked, bool) or not isinstance(marked, int) or not 0 <= marked <= 3:
        raise ValueError(f"{where}: marked is {marked!r}; allowed: an integer from 0 to 3")
    subtables = _mapping(spec, "subtables", where)
    return Layout(
        name=name,
        caption=spec.get("caption", ""),
        label=spec.get("label", ""),
        marked=marked,
        subtables=tuple(
            _subtable(str(key), value, spec, published[published["subtable"] == str(key)], where)
            for key, value in subtables.items()
        ),
    )


def _subtable(
    name: str,
    spec: Mapping[str, Any],
    table: Mapping[str, Any],
    published: pd.DataFrame,
    where: str,
) -> Subtable:
    where = f"{where}, subtable {name!r}"
    if not isinstance(spec, Mapping):
        raise ValueError(f"{where} is {spec!r}; allowed: a mapping with the key 'columns'")
    default = spec.get("metric", table.get("metric"))
    columns = []
    for key, value in _mapping(spec, "columns", where).items():
        at = f"{where}, column {key!r}"
        # YAML reads an unquoted 0.10 as the number 0.1, which is another name than "0.10".
        if not isinstance(key, str):
            raise ValueError(f"{at}: the name is a {type(key).__name__}; allowed: text in quotes")
        if not isinstance(value, Mapping) or "variant" not in value:
            raise ValueError(f"{at}: is {value!r}; allowed: a mapping with the key 'variant'")
        columns.append(
            Column(
                name=key,
                label=value.get("label"),
                metric=value.get("metric", default),
                key=(str(value["variant"]), str(value.get("configuration", DEFAULT))),
            )
        )
    named = {column.name for column in columns}
    for key in published["column"].unique() if "rows" not in table else ():
        if key not in named:
            columns.append(Column(name=key, label=None, metric=None, key=None))
    groups: dict[str, int] = {}
    for row, group in zip(published["row"], published["group"], strict=True):
        groups.setdefault(row, int(group))
    if "rows" in table:  # in its order, one block
        known = {*groups, *table.get("models", {})}
        groups = dict.fromkeys([row for row in table["rows"] if row in known], 0)
    return Subtable(
        name=name,
        caption=spec.get("caption", ""),
        header=spec.get("header", ""),
        columns=tuple(columns),
        groups=groups,
        beside=bool(spec.get("beside", False)),
        models=table.get("models", {}),
        printed=frozenset(published["row"]),
    )


def parse_rows(name: str, spec: Mapping[str, Any], published: pd.DataFrame) -> list[RowBlock]:
    """Check the specification of a table whose rows are variants.

    A row is ``{label}``, optional. Rows stand as in the specification; published rows that it
    leaves out follow.

    Raises:
        ValueError: a key is missing or has a wrong value; names the table and the key.
    """
    blocks = []
    for key, value in _mapping(spec, "subtables", f"table {name!r}").items():
        where = f"table {name!r}, subtable {key!r}"
        if not isinstance(value, Mapping):
            raise ValueError(f"{where} is {value!r}; allowed: a mapping with the key 'rows'")
        rows = dict(_mapping(value, "rows", where))
        for variant, row in rows.items():
            if not isinstance(row, Mapping):
                raise ValueError(f"{where}, row {variant!r}: is {row!r}; allowed: a mapping")
        for variant in published.loc[published["subtable"] == str(key), "row"]:
            rows.setdefault(variant, {})
        labels = {str(variant): row.get("label") for variant, row in rows.items()}
        blocks.append(RowBlock(str(key), value.get("caption", ""), labels))
    return blocks


def rows_with_flode(subtable: Subtable) -> dict[str, int]:
    """The subtable's rows and groups: FLODE last where the paper has no such row, and before it, in
    its group, other measured models that have none."""
    groups = dict(subtable.groups)
    groups.setdefault(FLODE, max(groups.values(), default=-1) + 1)
    own = {row: groups[FLODE] for row in subtable.models if row not in groups}
    before = list(groups).index(FLODE)
    rows = list(groups.items())
    return dict([*rows[:before], *own.items(), *rows[before:]])


def of_model(column: Column, subtable: Subtable, row: str) -> Column:
    """A column whose runs are those of a row's model."""
    if column.key is None or row not in subtable.models:
        return column
    return replace(column, key=(column.key[0], subtable.models[row]))


def _mapping(spec: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    value = spec.get(key)
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"{where}: {key} is {value!r}; allowed: a mapping with one entry or more")
    return value
