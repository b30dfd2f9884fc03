"""Studies of series of runs: depth, and the number of singular values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd

from flode.experiments.checks import STUDY_COLUMNS
from flode.experiments.studies import StudyGraph
from flode.reporting.dominance import frequency_dominance
from flode.reporting.records import Runs
from flode.reporting.statistics import Statistics
from flode.reporting.tidy import QUICK, Reasons, RunsByKey
from flode.spectral import smallest_eigenvalue
from flode.spectral.factors import resolve_rank


class SeriesGraph(Protocol):
    """What a series asks of a graph."""

    def lambda_1(self) -> float:
        """Smallest eigenvalue of its SNA.

        Raises:
            ValueError: the graph is directed; names its file.
        """
        ...

    def leading(self, rank: int | float | None) -> tuple[int, float | None]:
        """How many singular values a rank keeps, and how much of ‖L‖² they hold, where known."""
        ...


@dataclass(frozen=True)
class _Factorised:
    """A graph whose files are there."""

    graph: StudyGraph

    def lambda_1(self) -> float:
        if not self.graph.factors.symmetric:
            raise _no_lambda_1(self.graph.label, self.graph.factor_file)
        return smallest_eigenvalue(self.graph.laplacian, self.graph.factors)

    def leading(self, rank):
        factors = self.graph.factors.leading(rank)
        return factors.rank, factors.explained_variance


@dataclass(frozen=True)
class Reported:
    """A graph of which the statistics alone are there."""

    label: str
    statistics: Statistics

    def lambda_1(self) -> float:
        found = self.statistics.content["lambda_1"]
        if found is None:
            raise _no_lambda_1(self.label, self.statistics.file)
        return found

    def leading(self, rank):
        content = self.statistics.content
        kept = min(resolve_rank(rank, content["nodes"]) or content["rank"], content["rank"])
        whole = {str(content["rank"]): content["explained_variance"]}
        return kept, (content.get("leading", {}) | whole).get(str(kept))


def _no_lambda_1(label: str, file: str) -> ValueError:
    return ValueError(
        f"graph {label}: {file}: the SNA is not symmetric and has no lambda_1; allowed: an"
        " undirected graph"
    )


def _points(
    settings: Mapping[str, Any],
    graphs: Mapping[str, SeriesGraph],
    runs: RunsByKey,
    reasons: Reasons | None,
):
    """``(graph, series, configuration, values, run)`` of every point; in place of a run why there
    is none, where ``reasons`` are given."""
    for label, by_series in settings["series"].items():
        variant = settings["variants"][label]
        for name, points in by_series.items():
            for configuration, values in points.items():
                key = variant, configuration
                if reasons is None:
                    run = runs[key]
                elif label not in graphs:
                    run = "the files of its graph are not there"
                else:
                    run = reasons.get(key) or runs[key]
                yield label, name, configuration, values, run


def _row(
    kind: str, graph: str, series: str, configuration: str, x: float, run: Runs | str
) -> dict[str, Any]:
    row = dict.fromkeys(STUDY_COLUMNS[kind])
    row |= {"graph": graph, "series": series, "configuration": configuration, "x": x}
    if isinstance(run, str):
        return row | {"n": 0, "note": f"not run: {run}"}
    notes = filter(None, [QUICK if run.quick else None, run.diverged])
    row |= {"runs": ";".join(run.files), "n": len(run.records), "note": "; ".join(notes) or None}
    if not run.diverged:
        score, exponent = run.score(), run.learned("exponent")
        row |= {"mean": score.mean, "std": score.std}
        row |= {"validation_mean": run.score("validation").mean}
        row |= {"exponent_mean": exponent.mean, "exponent_std": exponent.std}
    return row


def depth(
    settings: Mapping[str, Any],
    graphs: Mapping[str, SeriesGraph],
    runs: RunsByKey,
    reasons: Reasons | None = None,
) -> pd.DataFrame:
    """Test accuracy and FD of the trained equation against the number of layers, on undirected
    graphs.

    Returns:
        A row a point, its columns those of `STUDY_COLUMNS`: accuracies in percent with population
        standard deviations, ``x`` the number of layers, ``fd_mean, fd_std`` as in
        `flode.reporting.dominance.frequency_dominance`. A point whose training diverged, or that
        was not run for one of the ``reasons``, has a ``note`` and no numbers.
    """
    lambda_1 = {label: graph.lambda_1() for label, graph in graphs.items()}
    rows = []
    for label, name, configuration, values, run in _points(settings, graphs, runs, reasons):
        row = _row("depth", label, name, configuration, values["num_layers"], run)
        found = None
        if not isinstance(run, str) and not run.diverged:
            found = frequency_dominance(run, lambda_1[label], "FD_trained")
        row |= {"fd_mean": found and found.mean, "fd_std": found and found.std}
        rows.append(row)
    return pd.DataFrame(rows)


def truncated_svd(
    settings: Mapping[str, Any],
    graphs: Mapping[str, SeriesGraph],
    runs: RunsByKey,
    reasons: Reasons | None = None,
) -> pd.DataFrame:
    """Test accuracy and explained variance against the number of singular values.

    Returns:
        As of `depth`, without FD: ``x`` is the number of singular values, all of them for a point
        without a rank, and ``explained_variance`` how much of ‖L‖² they hold, where it is known.
    """
    rows = []
    for label, name, configuration, values, run in _points(settings, graphs, runs, reasons):
        if label not in graphs:
            rows.append(_row("truncated_svd", label, name, configuration, values["rank"], run))
            continue
        rank, explained_variance = graphs[label].leading(values["rank"])
        row = _row("truncated_svd", label, name, configuration, rank, run)
        rows.append(row | {"explained_variance": explained_variance})
    return pd.DataFrame(rows)


def series_graphs(
    graphs: Mapping[str, StudyGraph], statistics: Mapping[str, Statistics]
) -> dict[str, SeriesGraph]:
    """The graphs of a series by their labels: of those whose files are not there, what statistics
    say."""
    reported = {label: Reported(label, found) for label, found in statistics.items()}
    return reported | {label: _Factorised(graph) for label, graph in graphs.items()}


#: A kind of study, ``(settings, graphs, runs) -> DataFrame``; a figure of its name draws it.
SERIES: dict[str, Callable[..., pd.DataFrame]] = {"depth": depth, "truncated_svd": truncated_svd}
