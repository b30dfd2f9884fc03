"""The factorisation stage: the SNA of each graph of a variant, factorised."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch

from flode.datasets.graph import Graph, count_graphs
from flode.devices import memory_advice, resolve_device
from flode.spectral import Factors, factorize, sna
from flode.spectral.factors import EXACT_NODES

#: In which an exact factorisation computes.
PRECISIONS = {"double": torch.float64, "single": torch.float32}

logger = logging.getLogger("flode.factors")


def factorize_graphs(
    graph_file: str | Path, settings: Mapping, device: str = "auto"
) -> Iterator[Factors]:
    """Factors of each graph of a file, in float32, as training uses them.

    Args:
        graph_file: of the variant.
        settings: ``Catalogue.factor_settings``.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        ValueError: a damaged graph file, a device that is not there, or single precision for a
            graph that is not factorised whole.
        MemoryError: too little memory; the message says which setting to change.
    """
    total, where = count_graphs(graph_file), resolve_device(device)
    for number in range(total):
        graph = Graph.load(graph_file, number)
        started = time.monotonic()
        laplacian = sna(graph.edge_index, graph.edge_weight, graph.num_nodes, settings["flow"])
        advice = _advice(settings, graph, where)
        with memory_advice(f"factorisation of {graph_file} on {where}", advice):
            factors = factorize(
                laplacian,
                settings["rank"],
                settings["tolerance"],
                where,
                settings["seed"],
                PRECISIONS[settings.get("precision", "double")],
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


def _advice(settings: Mapping, graph: Graph, device: torch.device) -> str:
    """What takes less memory; a rank does on graphs that are not factorised whole."""
    ways = []
    if graph.num_nodes > EXACT_NODES:
        rank = settings["rank"] or "none, which takes dense matrices of all nodes"
        ways.append(f"lower the variant's rank ({rank})")
    if device.type != "cpu":
        ways.append("set device: cpu")
    size = 8 * graph.num_nodes**2 / 2**30
    ways.append(f"use a machine with more memory: a dense matrix here is {size:.1f} GiB")
    text = ", or ".join(ways)
    return text[0].upper() + text[1:] + "."
