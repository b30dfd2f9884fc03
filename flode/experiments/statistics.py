"""Statistics of a graph as it was built: its size, homophily, rank and extreme eigenvalues."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigs, eigsh

from flode.datasets.build import graph_statistics
from flode.datasets.graph import Graph
from flode.experiments.provenance import commit, versions
from flode.spectral import Factors, sna

#: A matrix of fewer rows is decomposed as a dense one.
DENSE_NODES = 100

#: Convergence of the iterative solvers, far below the printed digits.
_SOLVER_TOLERANCE = 1e-10

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
            files were generated in place of the published ones (by default not); and ``version``
            and ``origin``, of which the report says that it is.
        raw: ``nodes`` and ``edges`` of the raw graph, from ``graph_statistics``; None for a graph
            that is generated.
        graph: which of the variant's graphs.

    Returns:
        What can be written as JSON. ``lambda_1`` is the smallest eigenvalue of a symmetric SNA,
        ``lambda_pf`` the largest real eigenvalue of another; the one that a graph does not have is
        None, as is the homophily of a graph without edges. ``versions`` and ``commit`` say by what
        it was computed.

    Raises:
        ValueError: damaged inputs, or factors of another graph; named.
    """
    built, factors = Graph.load(graph_file, graph), Factors.load(factor_file, graph)
    if factors.num_nodes != built.num_nodes:
        raise ValueError(
            f"{factor_file}: factors of {factors.num_nodes} nodes; allowed: {built.num_nodes}, as"
            f" {graph_file} has"
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
        # What is not said of a real graph need not be computed again for it.
        **({"generated": True} if settings.get("generated") else {}),
        **{key: settings[key] for key in ("version", "origin") if key in settings},
        "versions": versions(),
        "commit": commit(),
    }


def smallest_eigenvalue(laplacian: sparse.csr_array, factors: Factors | None = None) -> float:
    """λ₁ of a symmetric SNA.

    Args:
        laplacian: ``(N, N)``.
        factors: its factors; they hold λ₁ unless they are truncated.
    """
    nodes = laplacian.shape[0]
    if factors is not None and not factors.truncated:
        # The eigenvalues that the factors leave out are zeros.
        zeros = [0.0] if factors.rank < nodes else []
        return min([*factors.values.tolist(), *zeros])
    if nodes < DENSE_NODES:
        return float(np.linalg.eigvalsh(laplacian.toarray())[0])
    return float(_extreme(eigsh, laplacian, "SA"))


def perron_eigenvalue(laplacian: sparse.csr_array) -> float:
    """Largest real eigenvalue of a non-negative matrix, its Perron-Frobenius eigenvalue.

    It is that of a strongly connected component: alone, a component has it as a simple
    eigenvalue, while a graph of many may have it, or the 0 of an acyclic one, in a Jordan block,
    from which rounding takes all digits.
    """
    count, component = connected_components(laplacian, connection="strong")
    # What is no larger component has its diagonal as eigenvalues.
    largest = float(laplacian.diagonal().max(initial=0.0))
    order = np.argsort(component, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(component, minlength=count))[:-1])
    for nodes in members:
        if len(nodes) == 1:
            continue
        block = laplacian[nodes][:, nodes]
        if len(nodes) < DENSE_NODES:
            found = np.linalg.eigvals(block.toarray()).real.max()
        else:
            found = _extreme(eigs, block, "LR").real
        largest = max(largest, float(found))
    return largest


def _extreme(solver, matrix: sparse.csr_array, which: str):
    """An extreme eigenvalue, from a start vector that does not depend on chance."""
    start = np.random.default_rng(0).random(matrix.shape[0])
    return solver(
        matrix, k=1, which=which, v0=start, tol=_SOLVER_TOLERANCE, return_eigenvectors=False
    )[0]
