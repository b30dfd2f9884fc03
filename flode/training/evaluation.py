"""What is reported of a trained split."""

from __future__ import annotations

import numpy as np
import torch

from flode.datasets.graph import Graph
from flode.model.network import Product, decode
from flode.model.planes import from_planes
from flode.model.propagation import Path, Request
from flode.spectral import normalized_dirichlet_energy
from flode.training.metrics import METRICS
from flode.training.trainer import Trained


@torch.no_grad()
def final_states_and_logits(path: Path, trained: Trained) -> tuple[np.ndarray, torch.Tensor]:
    """Final states ``(N, K)``, complex or real, and logits ``(1, C, N)`` of all nodes."""
    like = path.operator.left
    parameters = {
        name: value[None].to(like.device, like.dtype) for name, value in trained.parameters.items()
    }
    request = Request(path.operator.all_nodes)
    states = path.states(parameters, [request])[0]
    states = states.dense() if isinstance(states, Product) else states
    logits = decode(path.architecture, parameters, states, None)
    planes = states[0].unflatten(0, (path.architecture.planes, -1)).double().cpu()
    return from_planes(planes).numpy().T, logits


def evaluate(path: Path, trained: Trained, graph: Graph, laplacian) -> dict:
    """Metrics, learned parameters and energy of a split at its best epoch.

    Args:
        path: the propagation it was trained with.
        trained: the split.
        graph: its graph.
        laplacian: ``(N, N)`` sparse SNA.

    Returns:
        Plain numbers: ``train``, ``validation`` and ``test`` metrics in [0, 1], ``best_epoch``,
        ``epochs``, ``exponent`` (a list, one a weight set), ``step_size`` and ``channel_mixing``
        (lists of [real, imaginary] or [real]), ``dirichlet_energy`` of the final states.
    """
    states, logits = final_states_and_logits(path, trained)
    labels = torch.from_numpy(graph.labels)[None].to(logits.device)
    metric = METRICS[graph.metric]

    def measured(mask: np.ndarray) -> float:
        counted = torch.from_numpy(mask[trained.split][None]).to(logits.device)
        return float(metric(logits, labels, counted))

    return {
        "train": measured(graph.train),
        "validation": trained.validation,
        "test": measured(graph.test),
        "best_epoch": trained.best_epoch,
        "epochs": trained.epochs,
        "exponent": trained.parameters["exponent"].tolist(),
        "step_size": trained.parameters["step_size"].tolist(),
        "channel_mixing": trained.parameters["channel_mixing"].transpose(1, 2).tolist(),
        "dirichlet_energy": normalized_dirichlet_energy(laplacian, states),
        "path": path.name,
    }
