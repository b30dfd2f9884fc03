"""The table of frequency dominance: learned exponents and spectra, and what they predict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from flode.experiments.hyperparameters import DEFAULT
from flode.reporting.dominance import extreme, frequency_dominance, observed_high, predicted_high
from flode.reporting.layout import parse_layout
from flode.reporting.published import NOTHING, cells
from flode.reporting.records import Runs, Summary, load_runs
from flode.reporting.statistics import Statistics, load_statistics
from flode.reporting.tidy import (
    Reasons,
    RunsByKey,
    add_reason,
    fill,
    measure,
    new_record,
    tidy_frame,
)
from flode.reporting.verdicts import exact_verdict, mean_verdict

#: The subtable of numbers of the graphs, not of models.
GRAPHS = "graph"

#: Rows of a subtable of models, and what the unit of each is.
ROWS = {
    "exponent": "",
    "lambda_1_W": "",
    "lambda_K_W": "",
    "FD": "",
    "FD_trained": "",
    "predicted_high": "% of splits",
    "observed_high": "% of splits",
}

#: Rows that ask for λ₁ of the graph too.
OF_LAMBDA_1 = ("FD", "FD_trained", "predicted_high")

#: Rows that the paper does not have.
UNPUBLISHED = ("FD_trained", "predicted_high", "observed_high")


def load_runs_and_statistics(
    paths: Iterable[str | Path],
) -> tuple[RunsByKey, dict[str, Statistics]]:
    """Read run files, and statistics files, which such a name or such a folder has."""
    paths = list(map(Path, paths))
    statistics = [path for path in paths if "statistics" in (path.parent.name, path.stem)]
    return load_runs(path for path in paths if path not in statistics), load_statistics(statistics)


def frequency_table(
    name: str,
    spec: Mapping[str, Any],
    published: pd.DataFrame,
    loaded: tuple[RunsByKey, Mapping[str, Statistics]],
    reasons: Reasons | None = None,
) -> pd.DataFrame:
    """λ₁ of each graph, and for each equation the learned exponent, the extreme eigenvalues of W,
    FD by the printed formula and of the equation as trained, and how many splits are dominated by
    the largest frequency: as the trained model predicts, and as the energy before and after its
    layers shows.

    Args:
        name, spec, published, reasons: as for `flode.reporting.tables.comparison_table`.
        loaded: runs by key, and statistics of the graphs by variant.
    """
    runs, statistics = loaded
    layout, paper, records = parse_layout(name, spec, published), cells(published), []
    for subtable in layout.subtables:
        rows = {"lambda_1": ""} if subtable.name == GRAPHS else ROWS
        for row, unit in rows.items():
            for column in subtable.columns:
                cell = paper.get((subtable.name, row, column.name), NOTHING)
                record = new_record(name, subtable, row, column, row, cell, unit)
                records.append(record)
                graph = statistics.get(column.key[0]) if column.key else None
                if subtable.name == GRAPHS:
                    if graph is not None and graph.generated:
                        record |= {"published_mean": None, "published_std": None}
                        cell = NOTHING
                    _fill_graph(record, graph, cell, column, reasons)
                    continue
                run = fill(record, column, runs, reasons)
                summary, lambda_1 = None, graph.content["lambda_1"] if graph else None
                if run and row in OF_LAMBDA_1 and lambda_1 is None:
                    why = no_lambda_1(graph) if graph else f"no statistics of {run.variant}"
                    add_reason(record, why)
                elif run:
                    summary = _measured(row, run, lambda_1)
                    if summary is None:
                        add_reason(record, _WITHOUT.get(row, f"the run files have no {row}"))
                measure(record, summary, mean_verdict(summary, cell, row))
    return tidy_frame(records)


#: Why a row has no number.
_WITHOUT = {
    "predicted_high": "the prediction is for positive exponents",
    "observed_high": "the run files lack the energy before the first layer",
}


def no_lambda_1(graph: Statistics) -> str:
    """Why a graph has no λ₁, in words."""
    return f"{graph.file} has no lambda_1, as the graph is directed"


def _fill_graph(record, graph, cell, column, reasons) -> None:
    value = None if graph is None else graph.content["lambda_1"]
    record["mean"], record["verdict"] = value, exact_verdict(value, cell)
    if graph is not None:
        record["runs"] = graph.file
        if value is None:
            add_reason(record, no_lambda_1(graph))
    elif column.key:
        add_reason(record, (reasons or {}).get((column.key[0], DEFAULT)) or "no statistics")


def _measured(row: str, run: Runs, lambda_1: float | None) -> Summary | None:
    if row == "exponent":
        return run.learned("exponent")
    if row in ("lambda_1_W", "lambda_K_W"):
        return extreme(run, row)
    if row in ("FD", "FD_trained"):
        return frequency_dominance(run, lambda_1, row)
    return predicted_high(run, lambda_1) if row == "predicted_high" else observed_high(run)
