"""The factorisation stage: the SNA of each graph of a variant, factorised."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch

from flode.datasets.graph import Graph, count_graphs
from flode.devices import resolve_device
from flode.spectral import Factors, factorize, sna

logger = logging.getLogger("flode.factors")


def factorize_graphs(
    graph_file: str | Path, settings: Mapping, device: str = "auto"
) -> Iterator[Factors]:
    """Factors of each graph of a file, in float32, as training uses them.

    Args:
        graph_file: of the variant.
        settings: ``Catalogue.factor_settings``.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
    """
    total = count_graphs(graph_file)
    for number in range(total):
        graph = Graph.load(graph_file, number)
        started = time.monotonic()
        laplacian = sna(graph.edge_index, graph.edge_weight, graph.num_nodes, settings["flow"])
        factors = factorize(
            laplacian,
            settings["rank"],
            settings["tolerance"],
            resolve_device(device),
            settings["seed"],
        )
        logger.info(
            "graph %d of %d: %d nodes, rank %d, %s, explained variance %.4f, %.1f s",
            number + 1,
            total,
            factors.num_nodes,
            factors.rank,
            "symmetric" if factors.symmetric else "not symmetric",
            factors.explained_variance,
            time.monotonic() - started,
        )
        yield factors.to(dtype=torch.float32)
