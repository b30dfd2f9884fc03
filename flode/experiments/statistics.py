"""Statistics of a graph as it was built: its size, homophily, rank and extreme eigenvalues."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from flode.datasets.build import graph_statistics
from flode.datasets.graph import Graph
from flode.experiments.provenance import commit, versions
from flode.files import MADE_AGAIN
from flode.spectral import Factors, perron_eigenvalue, smallest_eigenvalue, sna

_COUNTED = ("nodes", "edges", "directed_edges", "self_loops", "features", "classes", "homophily")


def graph_report(
    graph_file: str | Path,
    factor_file: str | Path,
    settings: Mapping,
    raw: Mapping[str, int] | None = None,
    graph: int = 0,
) -> dict:
    """Statistics of a graph of a variant, as a table of them shows it.

    Args:
        graph_file, factor_file: of the variant.
        settings: ``variant``, ``dataset`` and ``title``, names; ``flow``, see `flode.spectral.sna`;
            ``published``, the sizes that are published, or none; ``generated``, whether its raw
            files were generated in place of the published ones (by default not); ``ranks``, of
            which the explained variance is asked; and ``version`` and ``origin``, of which the
            report says that it is.
        raw: ``nodes`` and ``edges`` of the raw graph, from ``graph_statistics``; None for a graph
            that is generated.
        graph: which of the variant's graphs.

    Returns:
        What can be written as JSON. ``lambda_1`` is the smallest eigenvalue of a symmetric SNA,
        ``lambda_pf`` the largest real eigenvalue of another; the one that a graph does not have is
        None, as is the homophily of a graph without edges. ``leading`` is the explained variance of
        the leading singular values by their number. ``versions`` and ``commit`` say by what it was
        computed.

    Raises:
        ValueError: damaged inputs, or factors of another graph; named.
    """
    built, factors = Graph.load(graph_file, graph), Factors.load(factor_file, graph)
    if factors.num_nodes != built.num_nodes:
        raise ValueError(
            f"{factor_file}: factors of {factors.num_nodes} nodes; allowed: {built.num_nodes}, as"
            f" {graph_file} has; {MADE_AGAIN}"
        )
    laplacian = sna(built.edge_index, built.edge_weight, built.num_nodes, settings["flow"])
    counted = graph_statistics(built)
    homophily = counted["homophily"]
    return {
        "variant": settings["variant"],
        "dataset": settings["dataset"],
        "title": settings["title"],
        **{key: counted[key] for key in _COUNTED},
        "homophily": None if math.isnan(homophily) else homophily,
        "rank": factors.rank,
        "truncated": factors.truncated,
        "explained_variance": factors.explained_variance,
        "symmetric": factors.symmetric,
        "lambda_1": smallest_eigenvalue(laplacian, factors) if factors.symmetric else None,
        "lambda_pf": None if factors.symmetric else perron_eigenvalue(laplacian),
        "raw_nodes": raw["nodes"] if raw else None,
        "raw_edges": raw["edges"] if raw else None,
        "published": dict(settings.get("published") or {}),
        # What is not said of a graph need not be computed again for it.
        **({"leading": _leading(factors, settings["ranks"])} if settings.get("ranks") else {}),
        **({"generated": True} if settings.get("generated") else {}),
        **{key: settings[key] for key in ("version", "origin") if key in settings},
        "versions": versions(),
        "commit": commit(),
    }


def _leading(factors: Factors, ranks: Iterable[int | float]) -> dict[str, float]:
    """Explained variance by the number of singular values, without those that truncated factors do
    not hold."""
    kept = [factors.leading(rank) for rank in ranks if factors.holds(rank)]
    return {str(one.rank): one.explained_variance for one in kept}
