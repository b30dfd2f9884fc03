"""What a reader of the paper calls the cells of a table, which have keys: as LaTeX, and plainly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flode.experiments.captions import plain_text, readable
from flode.experiments.checks import FLODE
from flode.reporting.ablation import AS_PUBLISHED
from flode.reporting.ranking import place_of
from flode.reporting.statistics import QUANTITIES
from flode.reporting.typeset import escape

_HYPERPARAMETERS = {
    "num_layers": "layers",
    "exponent": r"learned exponent $\alpha$",
    "step_size": r"learned step size $\mathrm{Re}\,h$",
    "dirichlet_energy": "Dirichlet energy",
}

_SPECTRA = {
    "lambda_1": r"$\lambda_1(\mathbf{L})$",
    "exponent": r"$\alpha$",
    "lambda_1_W": r"$\lambda_1(\mathbf{W})$",
    "lambda_K_W": r"$\lambda_K(\mathbf{W})$",
    "FD": "FD",
    "FD_trained": "FD as trained",
    "predicted_high": r"HFD predicted (\%)",
    "observed_high": r"HFD observed (\%)",
}

_OPTIONS = {
    "D": "directed",
    "U": "undirected",
    "schroedinger": "Schrödinger",
    "ode": "ODE",
    "no ode": "no ODE",
}

#: Kinds of table whose numbers `cell_words` tells apart.
_OF_FLODE = ("comparison", "ranking", "hyperparameters", "frequency_dominance", "datasets")

#: What the readings of a discrepancy are compared by; metrics in percent.
_MEASURES = {
    "accuracy": r"accuracy (\%)",
    "auroc": r"AUROC (\%)",
    "exponent": r"$\alpha$",
    "step_size": r"$\mathrm{Re}\,h$",
    "dirichlet_energy": "Dirichlet energy",
    "FD": "FD",
    "FD_text": "FD",
    "FD_trained": "FD",
    "lambda_1_W": r"$\lambda_1(\mathbf{W})$",
    "lambda_1_W_text": r"$\lambda_1(\mathbf{W})$",
    "lambda_K_W": r"$\lambda_K(\mathbf{W})$",
    "lambda_K_W_text": r"$\lambda_K(\mathbf{W})$",
    "lambda_1": r"$\lambda_1(\mathbf{L})$",
    "lambda_pf": r"$\lambda_{\mathrm{PF}}(\mathbf{L})$",
    "explained_variance": "explained variance",
}

_METRICS = {"accuracy": "accuracy", "dirichlet_energy": "energy", "num_layers": "layers"}


def hyperparameter(row: str) -> str:
    """A row of a table of hyperparameters."""
    return _HYPERPARAMETERS.get(row, escape(readable(row)))


def spectrum(subtable: str, row: str) -> str:
    """A row of a table of frequency dominance; W of Schrödinger's equation is complex."""
    label = _SPECTRA[row]
    if subtable == "schroedinger" and row.endswith("_W"):
        label = label.replace("$", r"$\mathrm{Re}\,", 1)
    return label


def statistic(column: str) -> str:
    """A column of a table of graphs."""
    label = QUANTITIES[column].label
    return label if label.startswith("$") else escape(column)


def option(cell: Any) -> str:
    """A number of an ablation's row."""
    return _METRICS[cell.metric]


def measure(quantity: str) -> str:
    """What the readings of a discrepancy are compared by."""
    return _MEASURES.get(quantity, escape(quantity))


def reading_words(column: str) -> str:
    """A reading as plain text; a candidate of a search is named by what it sets, ``rank=0.5``."""
    return column if " " in column else column.replace("=", " ").replace(",", ", ")


def reading_place(cell: Any) -> str:
    """A number of a table of discrepancies, below its point, as plain text."""
    return f"{cell.row}, {plain_text(measure(cell.metric))}; {reading_words(cell.column)}"


def block(subtable: Mapping[str, Any], name: str) -> str:
    """A subtable: what its caption says before the first bracket."""
    caption = subtable.get("caption", "").partition(" (")[0].rstrip(".")
    return caption or escape(readable(name))


def label(entries: Mapping[str, Any], name: str) -> str:
    """A column or row by its label in the configuration."""
    return (entries.get(name) or {}).get("label") or escape(name)


def cell_words(kind: str, subtables: Mapping[str, Any], cell: Any) -> str:
    """Where a number of FLODE stands in a table of a kind: ``Directed graphs: Film``.

    Args:
        kind: the table's.
        subtables: of its specification.
        cell: of its tidy table.
    """
    own = subtables.get(cell.subtable, {})
    columns, rows = own.get("columns", {}), own.get("rows", {})
    column = label(columns, cell.column)
    if own.get("header", "").startswith("$"):  # the symbol of what the columns are values of
        column = f"{own['header']} {column}"
    if kind == "hyperparameters":
        words = f"{column}, {hyperparameter(cell.row)}"
    elif kind == "ablation":
        words = f"{label(rows, cell.row)}, {option(cell)}"
    elif kind == "frequency_dominance":
        words = f"{spectrum(cell.subtable, cell.row)}, {column}"
    elif kind == "datasets":
        words = f"{label(rows, cell.row)}, {statistic(cell.column)}"
    else:  # of a ranking, the place stands before the number
        words = column
    return f"{block(own, cell.subtable)}: {words}"


def plain_block(layouts: Mapping[str, Any], cell: Any) -> str:
    """The subtable of a number, as plain text."""
    subtables = layouts.get(cell.table, {}).get("subtables", {})
    return plain_text(block(subtables.get(cell.subtable, {}), cell.subtable))


def plain_words(layouts: Mapping[str, Any], cell: Any) -> str:
    """The same of any table's number, as plain text: ``Directed graphs: Film``.

    Args:
        layouts: ``Catalogue.layouts`` of its table and perhaps others.
        cell: of a tidy table.
    """
    layout = layouts.get(cell.table, {})
    kind, subtables = layout.get("kind"), layout.get("subtables", {})
    title = plain_block(layouts, cell)
    if kind == "ablation":  # its labels are equations
        published = cell.column.endswith(AS_PUBLISHED)
        what = option(cell) + (AS_PUBLISHED if published else ", layers chosen by validation")
        options = ", ".join(_OPTIONS.get(one, one) for one in cell.row.split(", "))
        return f"{title}: {options}; {what}"
    if kind == "discrepancies":
        return f"{title}: {reading_place(cell)}"
    if kind not in _OF_FLODE:
        return ", ".join(filter(None, [cell.subtable, cell.row, cell.column]))
    words = plain_text(cell_words(kind, subtables, cell))
    others = kind in ("comparison", "ranking") and place_of(cell.row)[1] != FLODE
    return f"{words}, {cell.row}" if others else words
