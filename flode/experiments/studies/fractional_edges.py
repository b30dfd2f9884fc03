"""Virtual edges of fractional powers against the distance that they bridge (paper, Figure 3)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from flode.experiments.studies.graphs import StudyGraph
from flode.spectral import graph_distances, virtual_edge_bound

#: Quantiles of ``|(L^α)_ij|`` at a distance, by column.
QUANTILES = {"median": 0.5, "q90": 0.9, "q99": 0.99, "max": 1.0}

#: Entries below it are zeros: factors are stored in single precision.
ROUNDING = 1e-6


def fractional_edges_distance(settings: Mapping, graphs: Mapping[str, StudyGraph]) -> pd.DataFrame:
    """How many entries of L^α exceed a size, and how large they are, at each distance d(i, j).

    Args:
        settings: ``spec["exponents"]``, the values of α, and ``spec["size"]``.

    Returns:
        A row a graph, exponent and distance, columns ``graph, exponent, distance, pairs, size,
        edges, median, q90, q99, max, bound, guaranteed``. The distance of pairs that no directed
        path joins is ``inf``. ``edges`` of the ``pairs`` have ``|(L^α)_ij| > size``. ``bound`` is
        Theorem 4.1's for ``2 ≤ d < ∞`` and ``0 < α ≤ 1``, else missing; ``guaranteed`` says
        whether it is proved, as it is for undirected graphs.
    """
    spec = settings["spec"]
    return pd.concat(
        [
            _of_one_graph(label, graph, spec["exponents"], spec["size"])
            for label, graph in graphs.items()
        ],
        ignore_index=True,
    )


def _of_one_graph(label, graph, exponents, size):
    distances = graph_distances(graph.laplacian).ravel()
    # Pairs of one distance stand together: one sort serves every exponent.
    order = np.argsort(distances, kind="stable")
    found, starts = np.unique(distances[order], return_index=True)
    rows = []
    for exponent in exponents:
        entries = np.abs(graph.factors.fractional_power(exponent).numpy()).ravel()[order]
        if not np.isfinite(entries).all():
            raise ValueError(
                f"exponents, {label}: {exponent} gives entries that are not finite; allowed: an"
                " exponent nearer to 0"
            )
        entries[entries < ROUNDING] = 0
        for distance, group in zip(found, np.split(entries, starts[1:]), strict=True):
            bounded = 2 <= distance < np.inf and 0 < exponent <= 1
            quantiles = np.quantile(group, list(QUANTILES.values())).tolist()
            rows.append(
                {
                    "graph": label,
                    "exponent": exponent,
                    "distance": float(distance),
                    "pairs": len(group),
                    "size": size,
                    "edges": int((group > size).sum()),
                    **dict(zip(QUANTILES, quantiles, strict=True)),
                    "bound": float(virtual_edge_bound(distance, exponent)) if bounded else np.nan,
                    "guaranteed": bounded and graph.factors.symmetric,
                }
            )
    return pd.DataFrame(rows)
