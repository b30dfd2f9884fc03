"""From a raw graph to the graph of a variant.

A change of what is built must come with a new :data:`flode.versions.GRAPH`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from flode.datasets.features import normalize_features
from flode.datasets.graph import Graph
from flode.datasets.manifest import ManifestRow, mismatch
from flode.datasets.readers import RawFileError, RawGraph, read_raw
from flode.datasets.registry import Variant

logger = logging.getLogger("flode.graph")

UNLABELLED = ("exclude", "class_0")

#: Features of which at most this share is not zero are kept sparse, which training makes use of.
SPARSE_DENSITY = 0.2


def build_from_files(
    settings: Mapping, splits: int, expected: Mapping[str, ManifestRow] | None = None
) -> tuple[RawGraph, Graph]:
    """Read raw files and build the graph of a variant.

    Args:
        settings: ``Catalogue.graph_settings`` of the variant.
        splits: how many the configuration gives the dataset; its files may have more.
        expected: what the bytes of raw files must be, by their paths.

    Returns:
        The raw graph and the built one.

    Raises:
        RawFileError: a malformed file, or one of other bytes; named.
        ValueError: fewer splits, or see :func:`build_graph`; the file of the masks is named.
    """
    variant, files = Variant(**settings["build"]), settings["files"]
    for path, row in (expected or {}).items():
        if wrong := mismatch(path, row):
            raise RawFileError(
                f"{path}: {wrong}. Delete the file to have it fetched again, or correct its line of"
                " the manifest"
            )
    raw = read_raw(settings["format"], files)
    # What is still wrong with a graph that could be read is its masks, or their classes.
    masks = files["splits"] if "splits" in files else [files["archive"]]
    where = masks[0] if len(masks) == 1 else f"{masks[0]} to {Path(masks[-1]).name}"
    try:
        graph = build_graph(raw, variant, settings["metric"])
    except ValueError as error:
        raise ValueError(f"datasets.{variant.dataset}, {where}: {error}") from error
    known = np.unique(graph.labels[graph.labels >= 0])
    if len(known) < graph.num_classes:
        empty = np.setdiff1d(np.arange(graph.num_classes), known)
        logger.warning(
            "datasets.%s: no node is of class %d (of 0 to %d); the model has an output for it",
            variant.dataset, empty[0], graph.num_classes - 1,
        )  # fmt: skip
    if graph.num_splits < splits:
        raise ValueError(
            f"datasets.{variant.dataset}.splits is {splits}; {where} has {graph.num_splits}"
        )
    return raw, graph


def build_graph(raw: RawGraph, variant: Variant, metric: str = "accuracy") -> Graph:
    """Apply a variant to a raw graph.

    Edges and nodes first (:func:`variant_adjacency`), then labels, masks and features of the nodes
    that are kept; features are normalised last, over those nodes.

    Args:
        raw: what a reader returned, splits included.
        variant: what to do.
        metric: ``accuracy`` or ``auroc``.

    Returns:
        A graph whose edges are sorted by source, then target.

    Raises:
        ValueError: no splits, an unknown setting, or a split of which nothing is left.
    """
    if raw.train is None:
        raise ValueError("the raw graph has no splits; give its files the role splits")
    if variant.unlabelled not in UNLABELLED:
        raise ValueError(
            f"unlabelled is {variant.unlabelled!r}; allowed are {', '.join(UNLABELLED)}"
        )
    matrix, kept = variant_adjacency(raw.edge_index, raw.num_nodes, variant)
    edges = matrix.tocoo()
    labels = raw.labels[kept]
    masks = {name: getattr(raw, name)[:, kept] for name in ("train", "validation", "test")}
    if variant.unlabelled == "class_0":
        labels = np.maximum(labels, 0)
    else:
        masks = {name: mask & (labels >= 0) for name, mask in masks.items()}
    return Graph(
        features=normalize_features(_compact(raw.features[kept]), variant.normalization),
        labels=labels,
        edge_index=np.stack(edges.coords).astype(np.int64),
        edge_weight=edges.data,
        metric=metric,
        **masks,
    )


def variant_adjacency(
    edge_index: np.ndarray, num_nodes: int, variant: Variant
) -> tuple[sparse.csr_array, np.ndarray]:
    """Weighted adjacency ``A[source, target]`` of a variant, and the nodes that it keeps.

    The steps, in this order, which the paper's numbers need: an edge listed several times counts
    once, with weight 1; ``undirected`` takes ``A + Aᵀ``, so that a reciprocal edge and a self-loop
    weigh 2; ``binary`` sets weights to 1; ``largest_component`` keeps the largest weakly connected
    component (the first, if several are as large); ``self_loops`` gives nodes without a self-loop
    one of that weight (a second one on Citeseer's 52 such nodes would move λ₁ off the paper's).

    Args:
        edge_index: ``(2, E)`` integers, row 0 the sources, row 1 the targets.
        num_nodes: number of nodes N.

    Returns:
        ``(M, M)`` CSR array, float64, and ``(M,)`` the kept nodes, ascending.
    """
    matrix = _listed_once(edge_index, num_nodes)
    if variant.undirected:
        matrix = sparse.csr_array(matrix + matrix.T)
    if variant.binary:
        matrix.data[:] = 1
    kept = np.arange(num_nodes)
    if variant.largest_component:
        _, component = connected_components(matrix, connection="weak")
        kept = np.flatnonzero(component == np.bincount(component).argmax())
        matrix = matrix[kept][:, kept]
    if variant.self_loops:
        missing = (matrix.diagonal() == 0) * float(variant.self_loops)
        matrix = sparse.csr_array(matrix + sparse.diags_array(missing))
        matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix, kept


def graph_statistics(graph: Graph | RawGraph) -> dict[str, int | float]:
    """Size and homophily of a graph, as built or as read.

    Returns:
        ``nodes``; ``edges``, unordered pairs of nodes joined in either direction, self-loops
        included, as the paper's program counts; ``directed_edges``, ordered pairs, each counted
        once; ``self_loops``; ``features``; ``classes``; ``unlabelled`` nodes; and ``homophily``,
        see :func:`flode.spectral.node_homophily`, over edges between labelled nodes.
    """
    from flode.spectral import node_homophily  # here, because it imports torch

    nodes = len(graph.labels)
    matrix = _listed_once(graph.edge_index, nodes)
    labelled = graph.labels >= 0
    return {
        "nodes": nodes,
        "edges": sparse.triu(matrix + matrix.T).nnz,
        "directed_edges": matrix.nnz,
        "self_loops": int(np.count_nonzero(matrix.diagonal())),
        "features": graph.features.shape[1],
        "classes": int(graph.labels.max()) + 1,
        "unlabelled": int(np.count_nonzero(~labelled)),
        "homophily": node_homophily(matrix[labelled][:, labelled], graph.labels[labelled]),
    }


def _compact(features: np.ndarray | sparse.csr_array) -> np.ndarray | sparse.csr_array:
    """Features as a sparse array where most are zero, as a dense one elsewhere."""
    few = sparse.csr_array(features)
    few.eliminate_zeros()
    if few.nnz <= SPARSE_DENSITY * np.prod(few.shape):
        return few
    return few.toarray()


def _listed_once(edge_index: np.ndarray, num_nodes: int) -> sparse.csr_array:
    ones = np.ones(edge_index.shape[1])
    matrix = sparse.coo_array((ones, tuple(edge_index)), shape=(num_nodes, num_nodes)).tocsr()
    matrix.data[:] = 1  # tocsr has summed the repetitions
    return matrix
