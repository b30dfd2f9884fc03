"""What is reported of a trained split."""

from __future__ import annotations

import numpy as np
import torch

from flode.datasets.graph import Graph
from flode.model.network import Product, decode, encode
from flode.model.path import Path, Request
from flode.model.planes import from_planes
from flode.spectral import normalized_dirichlet_energy
from flode.training.metrics import METRICS
from flode.training.trainer import Trained

#: What training gives, in the order of a record.
RESULTS = (
    "train", "validation", "test", "best_epoch", "exponent", "step_size", "channel_mixing",
    "initial_dirichlet_energy", "dirichlet_energy",
)  # fmt: skip


@torch.no_grad()
def states_and_logits(path: Path, trained: Trained) -> tuple[np.ndarray, np.ndarray, torch.Tensor]:
    """Initial and final states ``(N, K)``, complex or real, and logits ``(1, C, N)`` of all
    nodes."""
    like = path.operator.left
    parameters = {
        name: value[None].to(like.device, like.dtype) for name, value in trained.parameters.items()
    }
    initial = encode(path.architecture, parameters, path.features, None)
    final = path.states(parameters, [Request(path.operator.all_nodes)])[0]
    final = final.dense() if isinstance(final, Product) else final
    logits = decode(path.architecture, parameters, final, None)

    def complex_states(states: torch.Tensor) -> np.ndarray:
        planes = states[0].unflatten(0, (path.architecture.planes, -1)).double().cpu()
        return from_planes(planes).numpy().T

    return complex_states(initial), complex_states(final), logits


def train_and_test(logits: torch.Tensor, split: int, graph: Graph) -> tuple[float, float] | None:
    """The metric of a split's training and test nodes, in [0, 1]; None where a node of the split
    has logits, ``(1, C, N)``, that are not finite."""
    masks = (graph.train, graph.validation, graph.test)
    counted = np.any([mask[split] for mask in masks], axis=0)
    if not logits.cpu()[..., counted].isfinite().all():
        return None
    labels = torch.from_numpy(graph.labels)[None].to(logits.device)
    train, test = (
        float(
            METRICS[graph.metric](
                logits, labels, torch.from_numpy(mask[split][None]).to(logits.device)
            )
        )
        for mask in (graph.train, graph.test)
    )
    return train, test


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
        (lists of [real, imaginary] or [real]), ``initial_dirichlet_energy`` and
        ``dirichlet_energy`` of the (normalised) states before the first and after the last layer,
        ``diverged_at``, ``path``. Of a split that diverged before any evaluation, or of which a
        node has logits that are not finite at the best epoch, all that training gives is None.
    """
    about = {"epochs": trained.epochs, "diverged_at": trained.diverged_at, "path": path.name}
    if not trained.best_epoch:
        return dict.fromkeys(RESULTS) | about
    initial, final, logits = states_and_logits(path, trained)
    scores = train_and_test(logits, trained.split, graph)
    if scores is None:
        diverged = trained.diverged_at or trained.best_epoch
        return dict.fromkeys(RESULTS) | about | {"diverged_at": diverged}
    train, test = scores
    results = (
        train,
        trained.validation,
        test,
        trained.best_epoch,
        trained.parameters["exponent"].tolist(),
        trained.parameters["step_size"].tolist(),
        trained.parameters["channel_mixing"].transpose(1, 2).tolist(),
        normalized_dirichlet_energy(laplacian, initial),
        normalized_dirichlet_energy(laplacian, final),
    )
    return dict(zip(RESULTS, results, strict=True)) | about
