"""The graphs of the cases: read where raw files are at hand, drawn elsewhere."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
import yaml
from scipy import sparse

from benchmarks.cases import Case
from flode.datasets.build import build_graph
from flode.datasets.dsbm import arranged_probabilities, dsbm_graph
from flode.datasets.graph import Graph
from flode.datasets.readers import read_raw
from flode.datasets.registry import Registry
from flode.spectral import Factors, factorize, sna

ROOT = Path(__file__).resolve().parents[1]


def graph_of(case: Case, data: Path | None) -> tuple[Graph, Factors, bool]:
    """A case's graph, its factors in float32, and whether it is the real one.

    Args:
        data: folder of raw files, ``<source>/<path>``; None for none.
    """
    if case.name == "dsbm":
        size = case.nodes // 5
        probabilities = arranged_probabilities(5, 0.1, 0.1, 0.2)
        graph = dsbm_graph([size] * 5, *probabilities, num_validation=size)
        return graph, _factors(graph), False
    graph = _real(case.variant, data) if case.variant and data else None
    if graph is not None:
        return graph, _factors(graph), True
    return _drawn(case), drawn_factors(case.nodes, case.rank or case.nodes, case.symmetric), False


def _factors(graph: Graph) -> Factors:
    factors = factorize(sna(graph.edge_index, graph.edge_weight, graph.num_nodes))
    return factors.to(dtype=torch.float32)


@lru_cache(maxsize=2)
def _real(name: str, data: Path) -> Graph | None:
    """A variant's graph; None where a raw file is missing."""
    config = yaml.safe_load((ROOT / "config" / "datasets.yaml").read_text(encoding="utf-8"))
    registry = Registry.from_config(config, ROOT / "config" / "manifest.csv")
    variant = registry.variants[name]
    dataset = registry.datasets[variant.dataset]
    if not all((data / file.source / file.path).is_file() for file in dataset.raw_files):
        return None
    raw = read_raw(dataset.format, dataset.local_files(data))
    return build_graph(raw, variant, dataset.metric)


def _drawn(case: Case) -> Graph:
    """Features, labels and splits of a case's sizes. Edges stay out: the factors stand for them."""
    rng = np.random.default_rng(0)
    nodes, features = case.nodes, case.features
    if case.per_node:
        columns = rng.integers(0, features, (nodes, case.per_node))
        rows = np.repeat(np.arange(nodes), case.per_node)
        values = np.ones(rows.size, dtype=np.float32)
        x = sparse.csr_array((values, (rows, columns.ravel())), shape=(nodes, features))
    else:
        x = rng.normal(size=(case.distinct or nodes, features)).astype(np.float32)
        x = x[rng.permutation(np.arange(nodes) % len(x))]
    masks = np.zeros((3, case.num_splits, nodes), dtype=bool)
    ends = [round(nodes * case.train), round(nodes * (case.train + case.validation))]
    for split in range(case.num_splits):
        for mask, chosen in zip(masks, np.split(rng.permutation(nodes), ends), strict=True):
            mask[split, chosen] = True
    labels = rng.integers(0, case.classes, nodes)
    labels[: case.classes] = np.arange(case.classes)
    none = np.zeros((2, 0), dtype=np.int64)
    return Graph(x, labels, none, np.zeros(0), *masks)


@lru_cache(maxsize=2)
def drawn_factors(nodes: int, rank: int, symmetric: bool) -> Factors:
    """Factors of a rank with random singular vectors: sizes alone set the time of an epoch."""
    generator = torch.Generator().manual_seed(0)
    left = torch.linalg.qr(torch.randn(nodes, rank, generator=generator)).Q.contiguous()
    values = torch.linspace(1, 0.01, rank, dtype=torch.float64)
    if symmetric:
        values[1::2] *= -1
    # Columns stay orthonormal when rows are permuted.
    right = None if symmetric else left[torch.randperm(nodes, generator=generator)]
    return Factors(left, values, right, float(values.square().sum()))
