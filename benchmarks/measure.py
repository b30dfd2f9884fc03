"""One case: its contestants built, checked against each other, timed, set beside their floor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch
from scipy import sparse

from benchmarks.cases import Case
from benchmarks.contestants import Literal, check_agreement, trainer
from benchmarks.graphs import drawn_factors, graph_of
from benchmarks.operations import OPERATIONS, Sizes
from benchmarks.timing import Products, seconds_per_epoch
from flode.model import Features, Operator


def measure(
    case: Case,
    device: torch.device,
    *,
    data: Path | None = None,
    rounds: int = 3,
    target: float = 0.2,
    products: int | None = None,
) -> pd.DataFrame:
    """One row a contestant of a case.

    Args:
        data: folder of raw files.
        rounds, target: see `benchmarks.timing.seconds_per_epoch`.
        products: size of the matrix products that measure the rate.

    Returns:
        Columns ``case, data, device, path, chosen, N, rank, F, K, T, splits, dropout,
        seconds_per_epoch, seconds_per_epoch_and_split, literal_seconds, ratio, operations, rate,
        floor_seconds, torch, threads``. Operations are an epoch's of all its splits, the rate a
        second's; the literal algorithm trains one split.
    """
    graph, factors, real = graph_of(case, data)
    model = case.architecture(graph.num_features, graph.num_classes)
    literal_rank = factors.rank if case.cut else graph.num_nodes
    literal = Literal(model, graph, factors, literal_rank, device)
    operators = {factors.symmetric: Operator(factors, torch.float32, device)}
    contestants, facts = [Products(device, products), literal], []
    facts.append((literal.name, False, 1, 0.0, literal_rank, factors.symmetric, model))
    for entry in case.entries:
        symmetric = factors.symmetric or entry.path == "spectral"
        expected = literal
        if symmetric not in operators:
            other = drawn_factors(graph.num_nodes, factors.rank, symmetric)
            operators[symmetric] = Operator(other, torch.float32, device)
            expected = Literal(model, graph, other, literal_rank, device)
        own = replace(model, input_dropout=entry.dropout, decoder_dropout=entry.dropout)
        one = trainer(own, graph, operators[symmetric], entry.path, entry.splits)
        check_agreement(expected, one)
        contestants.append(one)
        chosen = entry.path == "auto"
        facts.append(
            (one.path.name, chosen, entry.splits, entry.dropout, factors.rank, symmetric, own)
        )
    product_seconds, *seconds = seconds_per_epoch(contestants, device, rounds, target)
    rate = contestants[0].operations / product_seconds
    sparse_features = sparse.issparse(graph.features)
    entries = graph.features.nnz if sparse_features else graph.features.size
    distinct = Features(graph.features).distinct[0].num_nodes
    rows = []
    for fact, epoch in zip(facts, seconds, strict=True):
        path, chosen, splits, dropout, rank, symmetric, own = fact
        train, validation = (
            int(mask[:splits].sum(axis=1).max()) for mask in (graph.train, graph.validation)
        )
        sizes = Sizes(graph.num_nodes, rank, entries, distinct, train, validation, splits, own,
                      symmetric)  # fmt: skip
        operations = OPERATIONS[path](sizes)
        rows.append(
            {
                "case": case.name,
                "data": "real" if real else "generated",
                "device": device_name(device),
                "path": path,
                "chosen": chosen,
                "N": graph.num_nodes,
                "rank": rank,
                "F": graph.num_features,
                "K": case.channels,
                "T": case.layers,
                "splits": splits,
                "dropout": dropout,
                "seconds_per_epoch": epoch,
                "seconds_per_epoch_and_split": epoch / splits,
                "literal_seconds": seconds[0],
                "ratio": seconds[0] / (epoch / splits),
                "operations": operations,
                "rate": rate,
                "floor_seconds": operations / rate,
                "torch": torch.__version__,
                "threads": torch.get_num_threads(),
            }
        )
    return pd.DataFrame(rows)


def device_name(device: torch.device) -> str:
    """``cpu``, or the GPU's name."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
