"""Random raw graphs for quick runs: a stochastic block model whose blocks are the classes."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from flode.datasets.dsbm import arranged_probabilities, dsbm_edges
from flode.datasets.readers import RawGraph

#: Probability that a node has a feature of another class than its own.
BACKGROUND = 0.1


def synthetic_graph(generate: Mapping[str, Any], num_splits: int, name: str, seed: int) -> RawGraph:
    """A random graph with what published raw files have: binary features, splits, and edges and
    nodes that a reader must take care of.

    Edges are those of :func:`flode.datasets.dsbm.dsbm_edges`, classes its clusters. Feature f
    belongs to class ``f mod C``: a node has it with probability ``signal``, of another class with
    probability `BACKGROUND`. Nodes stand in random order. A split holds half of the nodes for
    training, a quarter for validation and a quarter for testing.

    Args:
        generate: keys as in the configuration: ``arrangement``, ``clusters``, ``cluster_size``,
            ``alpha_within``, ``alpha_between`` and ``beta``, see
            :func:`flode.datasets.dsbm.arranged_probabilities`; ``features`` and ``signal``;
            ``directed``, otherwise edges are listed once, source < target; ``reciprocal``, the
            share of edges listed in the other direction too; ``repeated`` edges, ``self_loops``,
            ``isolated`` nodes, and nodes without label and features (``unlabelled``, of those that
            Planetoid's format keeps for testing). The last six are optional: none.
        num_splits: number of splits S.
        name: of the dataset; graphs of other names are other graphs.
        seed: of the run.

    Returns:
        ``N = clusters · cluster_size`` nodes; features float32.

    Raises:
        ValueError: more special nodes than there are.
    """
    streams = np.random.SeedSequence((seed, zlib.crc32(name.encode()))).spawn(4)
    edge_rng, node_rng, feature_rng, split_rng = map(np.random.default_rng, streams)
    classes, size = generate["clusters"], generate["cluster_size"]
    nodes = classes * size
    order = node_rng.permutation(nodes)
    labels = np.empty(nodes, dtype=np.int64)
    labels[order] = np.repeat(np.arange(classes), size)
    alpha, beta = arranged_probabilities(
        classes,
        generate["alpha_within"],
        generate["alpha_between"],
        generate["beta"],
        generate["arrangement"],
    )
    edges = order[dsbm_edges([size] * classes, alpha, beta, edge_rng)]

    own = labels[:, None] == np.arange(generate["features"]) % classes
    chance = np.where(own, generate["signal"], BACKGROUND)
    features = (feature_rng.random(chance.shape) < chance).astype(np.float32)

    special = _special_nodes(generate, nodes, node_rng)
    edges = edges[:, ~np.isin(edges, special["isolated"]).any(axis=0)]
    back = edges[::-1, edge_rng.random(edges.shape[1]) < generate.get("reciprocal", 0)]
    again = edge_rng.choice(edges, generate.get("repeated", 0), axis=1)
    loops = np.stack([special["self_loops"]] * 2)
    edges = np.concatenate([edges, back, again, loops], axis=1)
    edges = edges[:, edge_rng.permutation(edges.shape[1])]
    labels[special["unlabelled"]], features[special["unlabelled"]] = -1, 0

    masks = np.zeros((3, num_splits, nodes), dtype=bool)
    for split in range(num_splits):
        parts = np.split(split_rng.permutation(nodes), [nodes // 2, 3 * nodes // 4])
        for mask, part in zip(masks, parts, strict=True):
            mask[split, part] = True
    edges = edges if generate.get("directed") else np.sort(edges, axis=0)
    return RawGraph(features, labels, edges, *masks)


def _special_nodes(
    generate: Mapping[str, Any], nodes: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Distinct nodes for each peculiarity; those without a label among the last three tenths, and
    not the last one, as Planetoid's format has them."""
    late = nodes - nodes * 3 // 10
    unlabelled = rng.permutation(np.arange(late, nodes - 1))[: generate.get("unlabelled", 0)]
    others = rng.permutation(np.setdiff1d(np.arange(nodes), unlabelled))
    counts = [generate.get("isolated", 0), generate.get("self_loops", 0)]
    if len(unlabelled) < generate.get("unlabelled", 0) or len(others) < sum(counts):
        raise ValueError(
            f"generate is {dict(generate)}; of {nodes} nodes, at most {nodes - 1 - late} may be"
            f" unlabelled, and at most {len(others)} isolated or with a self-loop"
        )
    isolated, self_loops, _ = np.split(others, np.cumsum(counts))
    return {"unlabelled": unlabelled, "isolated": isolated, "self_loops": self_loops}
