"""Tables of discrepancies: readings of what the paper leaves open, and what measures each.

Light on purpose, as the catalogue that calls it is.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flode.experiments.publishedfiles import published_lines
from flode.experiments.validation import ConfigurationError
from flode.experiments.variants import Run

if TYPE_CHECKING:
    from flode.experiments.catalogue import Catalogue

#: What statistics say of a graph alone, without a run.
OF_GRAPHS = ("lambda_1", "lambda_pf", "explained_variance", "homophily", "rank", "nodes", "edges")

#: Frequency dominance, as printed, as the text has it and as trained: of a run on a graph.
DOMINANCE = ("FD", "FD_text", "FD_trained")

#: Extremes of W, as printed and as the text has them: of a run.
EXTREMES = ("lambda_1_W", "lambda_K_W", "lambda_1_W_text", "lambda_K_W_text")

#: Of which variants there are numbers that not all have.
_UNDIRECTED = ("lambda_1", *DOMINANCE)


def completed_rows(catalogue: Catalogue, table: str) -> dict:
    """Subtables of a table of discrepancies, every reading with its ``variant``, ``configuration``,
    ``quantity`` and ``published`` cell; the readings of a ``search`` are its candidates.

    Raises:
        ConfigurationError: a name that is not there, or hyperparameters that are not allowed.
    """
    subtables = copy.deepcopy(catalogue.config["tables"][table]["subtables"])
    for name, subtable in subtables.items():
        for row, entry in subtable["rows"].items():
            where = f"tables.{table}.subtables.{name}.rows.{row}"
            if "search" in entry:
                entry["readings"] = _candidates(catalogue, entry, where)
            for label, reading in entry["readings"].items():
                at = f"{where}.readings.{label}"
                reading.setdefault("quantity", entry["quantity"])
                if "published" not in reading:
                    if "published" not in entry:
                        raise ConfigurationError(
                            f"{at}: the key 'published' is missing, here and in its row"
                        )
                    reading["published"] = entry["published"]
                values = reading.pop("set", {})
                if values and reading["quantity"] in OF_GRAPHS:
                    raise ConfigurationError(
                        f"{at}.set is {values!r}, but {reading['quantity']} is of a graph, which"
                        " has no hyperparameters; allowed is a variant alone"
                    )
                if "configuration" not in reading:
                    (run,) = catalogue.candidates(reading["variant"], values, [{}], at)
                    reading["configuration"] = run.configuration
    return subtables


def readings_of(catalogue: Catalogue, table: str) -> Iterator[tuple[str, Mapping]]:
    """Every reading of a table, after its place in the configuration."""
    for name, subtable in completed_rows(catalogue, table).items():
        for row, entry in subtable["rows"].items():
            for label, reading in entry["readings"].items():
                yield f"tables.{table}.subtables.{name}.rows.{row}.readings.{label}", reading


def check_discrepancies(catalogue: Catalogue, table: str) -> None:
    """Refuse readings that have no such quantity or that are measured in the same way, and
    published cells that are not there or are of another quantity."""
    spec, where = catalogue.config["tables"][table], f"tables.{table}"
    files = {Path(file).stem: Path(file) for file in spec["published"]}
    if len(files) < len(spec["published"]):
        raise ConfigurationError(
            f"{where}.published is {spec['published']!r}; allowed are files of different names"
        )
    printed = {stem: _metrics(path) for stem, path in files.items()}
    for at, reading in readings_of(catalogue, table):
        _check_quantity(catalogue, reading, at)
        _check_cell(reading, printed, at)
    # As they are written: another default must not forbid every other target.
    for name, subtable in spec["subtables"].items():
        for row, entry in subtable["rows"].items():
            labels: dict[str, str] = {}
            for label, reading in entry.get("readings", {}).items():
                same = labels.setdefault(str(sorted(reading.items(), key=str)), label)
                if same != label:
                    raise ConfigurationError(
                        f"{where}.subtables.{name}.rows.{row}.readings: {same!r} and {label!r} are"
                        f" both {reading!r}; allowed are readings that differ"
                    )


def _candidates(catalogue: Catalogue, entry: Mapping, where: str) -> dict:
    variant, runs = entry["variant"], catalogue.search_runs(entry["search"])
    if variant not in runs:
        raise ConfigurationError(
            f"{where}.variant is {variant!r}, which search {entry['search']!r} does not have;"
            f" allowed are {', '.join(map(repr, runs))}"
        )
    return {
        run.configuration: {"variant": variant, "configuration": run.configuration}
        for run in runs[variant]
    }


def _check_quantity(catalogue: Catalogue, reading: Mapping, where: str) -> None:
    variant, quantity = reading["variant"], reading["quantity"]
    spec = catalogue.config["variants"][variant]
    metric = catalogue.config["datasets"][spec["dataset"]]["metric"]
    if quantity in ("accuracy", "auroc") and quantity != metric:
        raise ConfigurationError(f"{where}: quantity is {quantity!r}; {variant} has {metric!r}")
    undirected = spec.get("undirected", False)
    if quantity in _UNDIRECTED and not undirected:
        raise ConfigurationError(
            f"{where}: variant {variant} is directed and has no {quantity}; an undirected one is"
            " allowed"
        )
    if quantity == "lambda_pf" and undirected:
        raise ConfigurationError(
            f"{where}: variant {variant} is undirected and has no lambda_pf; a directed one is"
            " allowed"
        )
    run = Run(variant, reading["configuration"])
    if quantity == "step_size" and "ode=false" in run.configuration.split(","):
        raise ConfigurationError(f"{where}: quantity is 'step_size'; without the ODE there is none")


def _check_cell(reading: Mapping, printed: Mapping, where: str) -> None:
    cell, quantity = reading["published"], reading["quantity"]
    if cell["file"] not in printed:
        raise ConfigurationError(
            f"{where}: published.file is {cell['file']!r}; allowed are"
            f" {', '.join(map(repr, printed))}, the names of the table's published files"
        )
    known = printed[cell["file"]]
    if known is None:  # a file that is not there is the workflow's to tell of
        return
    place = (cell["subtable"], cell["row"], cell["column"])
    if place not in known:
        raise ConfigurationError(f"{where}: {cell['file']} has no published cell {place}")
    # A number has one name in the paper, whichever way it is read here.
    wanted = quantity.removesuffix("_text").removesuffix("_trained")
    if known[place] != wanted:
        raise ConfigurationError(
            f"{where}: quantity is {quantity!r}, but {known[place]!r} is published in"
            f" {cell['file']}, cell {place}"
        )


def _metrics(path: Path) -> dict[tuple[str, ...], str] | None:
    """``{(subtable, row, column): metric}`` of a file of published numbers."""
    lines = published_lines(path)
    place = ("subtable", "row", "column")
    return lines and {tuple(map(line.get, place)): line.get("metric") for line in lines}


def needs_statistics(reading: Mapping) -> bool:
    """Whether a reading needs the statistics of its variant's graph."""
    return reading["quantity"] in (*OF_GRAPHS, *DOMINANCE)


def needs_run(reading: Mapping) -> bool:
    """Whether a reading needs a run."""
    return reading["quantity"] not in OF_GRAPHS
