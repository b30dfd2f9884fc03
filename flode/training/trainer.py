"""Training of all splits of one configuration on one graph, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from flode.datasets.graph import Graph
from flode.model.architecture import Architecture, check_count
from flode.model.network import Masks, Parameters
from flode.model.operator import Features, Nodes, Operator
from flode.model.path import Request
from flode.model.propagation import make_path
from flode.training.capture import CapturedStep
from flode.training.dropout import Dropout
from flode.training.metrics import METRICS
from flode.training.optimizer import SECOND_MOMENTS, Adam

#: Epochs between looks at a GPU's results; the results do not depend on it.
GPU_SYNC_EPOCHS = 20

#: What a trainer keeps for each split besides parameters: tensors ``(S,)``.
_PER_SPLIT = ("best", "best_epoch", "stopped_at", "failed_at")


@dataclass(frozen=True)
class TrainingSettings:
    """How to train: Adam with L2 weight decay on all parameters and early stopping.

    Attributes:
        learning_rate, weight_decay: of Adam.
        epochs: at most.
        patience: stop after this many epochs without a better validation metric.
        seed: every split starts from it.
        second_moment: of complex parameters, ``modulus`` or ``parts`` (`flode.training.optimizer`).
    """

    learning_rate: float
    weight_decay: float
    epochs: int
    patience: int
    seed: int = 0
    second_moment: str = "modulus"

    def __post_init__(self):
        """Raises ValueError naming the setting, its value and what is allowed."""
        for name in ("epochs", "patience"):
            check_count(name, getattr(self, name))
        for name in ("learning_rate", "weight_decay"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value}; allowed is a finite number, at least 0")
        if self.second_moment not in SECOND_MOMENTS:
            raise ValueError(
                f"second_moment is {self.second_moment!r}; allowed are {', '.join(SECOND_MOMENTS)}"
            )


@dataclass(frozen=True)
class Trained:
    """One trained split.

    Attributes:
        split: its index among the graph's splits.
        best_epoch: epoch (from 1) of the best validation metric.
        epochs: epochs trained.
        validation: the best validation metric, in [0, 1].
        parameters: at the best epoch, named as ``Architecture.initial_parameters``, on the CPU.
        diverged_at: the epoch whose loss was not finite, where training then ended; else None. The
            best epoch before it stands, as it would if training had gone on with what is no number;
            without one, ``best_epoch`` is 0 and there is no result.
    """

    split: int
    best_epoch: int
    epochs: int
    validation: float
    parameters: Parameters
    diverged_at: int | None = None


def _put(into: Tensor, where: Tensor, values: Tensor) -> None:
    """Set the splits ``where`` ``(S,)`` of a tensor ``(S, …)`` in place, without a look at them."""
    where = where.view(-1, *[1] * (into.dim() - 1))
    into.copy_(torch.where(where, values, into))


def _checked(splits: Sequence[int], count: int) -> list[int]:
    splits = list(splits)
    if not splits or len(set(splits)) < len(splits) or not set(splits) <= set(range(count)):
        raise ValueError(f"splits are {splits}; allowed are some of 0 to {count - 1}, each once")
    return splits


class Subset:
    """Nodes of a mask, split by split, padded to the largest with one of their own: it has a label,
    and is no less finite."""

    def __init__(self, mask: np.ndarray, labels: Tensor, operator: Operator):
        chosen = [np.flatnonzero(row) for row in mask]
        self.sizes = [len(nodes) for nodes in chosen]
        index = np.empty((len(mask), max(self.sizes)), dtype=np.int64)
        counted = np.zeros(index.shape, dtype=bool)
        for row, nodes in enumerate(chosen):
            index[row] = nodes[0]
            index[row, : len(nodes)] = nodes
            counted[row, : len(nodes)] = True
        self.counted = torch.from_numpy(counted).to(labels.device)
        self.nodes: Nodes = operator.nodes(torch.from_numpy(index))
        self.labels = labels[self.nodes.index]
        counted = self.counted.to(operator.left.dtype)
        self.weights = counted / counted.sum(dim=1, keepdim=True)


class StackedTrainer:
    """Trains splits side by side; each as if alone, to rounding.

    A split whose early stopping has struck leaves the stack and stops costing.

    Args:
        architecture: the model.
        graph: the graph with its splits.
        operator: its factors, on the device to train on.
        settings: how to train.
        splits: which splits of the graph, each once; None for all.
        path: ``auto``, or a propagation path to force.

    Raises:
        ValueError: no split, one named twice, or one that the graph does not have.
    """

    def __init__(
        self,
        architecture: Architecture,
        graph: Graph,
        operator: Operator,
        settings: TrainingSettings,
        splits: list[int] | None = None,
        path: str = "auto",
    ):
        self.architecture = architecture
        self.graph = graph
        self.settings = settings
        self.device = operator.left.device
        features = Features(graph.features, operator.left.dtype, self.device)
        self.path = make_path(architecture, operator, features, path)
        self.labels = torch.from_numpy(graph.labels).to(self.device)
        self.metric = METRICS[graph.metric]
        self.epoch = 0
        #: The same, 0-dimensional, where the parameters are.
        self.count = torch.zeros((), dtype=torch.int64, device=self.device)
        self.finished: list[Trained] = []
        splits = _checked(range(graph.num_splits) if splits is None else splits, graph.num_splits)
        start = architecture.initial_parameters(settings.seed)
        dtype = operator.left.dtype
        self._stack(
            splits,
            {
                name: torch.stack([value] * len(splits)).to(self.device, dtype)
                for name, value in start.items()
            },
        )
        count = len(splits)
        self.best = torch.full((count,), -torch.inf, dtype=torch.float64, device=self.device)
        self.best_epoch = torch.zeros(count, dtype=torch.int64, device=self.device)
        self.stopped_at = torch.zeros(count, dtype=torch.int64, device=self.device)
        self.failed_at = torch.zeros(count, dtype=torch.int64, device=self.device)
        self.best_parameters = {n: value.detach().clone() for n, value in self.values.items()}

    def _stack(self, splits: list[int], values: Parameters, moments: dict | None = None) -> None:
        """Put these splits side by side."""
        self.splits = splits
        self.train, self.validation = (
            Subset(mask[splits], self.labels, self.path.operator)
            for mask in (self.graph.train, self.graph.validation)
        )
        self.dropout = Dropout(self.architecture, self.path, self.settings.seed, self.train.sizes)
        fixed, planes = self.architecture.fixed_parameters, self.architecture.complex_parameters
        self.values = {
            name: value.detach().clone().requires_grad_(name not in fixed)
            for name, value in values.items()
        }
        self.optimizer = Adam(
            {name: value for name, value in self.values.items() if name not in fixed},
            self.settings.learning_rate,
            self.settings.weight_decay,
            planes if self.settings.second_moment == "modulus" else {},
            moments,
        )
        self._run = CapturedStep(self._advance, self.device) if self.on_gpu else self._advance

    @property
    def on_gpu(self) -> bool:
        return self.device.type == "cuda"

    @property
    def done(self) -> bool:
        return not self.splits

    def step(self) -> None:
        """One epoch: the evaluation of the last step's parameters and the next step, which share
        what they can of one forward pass.

        Raises:
            RuntimeError: all splits have stopped.
        """
        if self.done:
            raise RuntimeError("all splits have stopped; there is nothing left to train")
        training = self.epoch < self.settings.epochs
        if training:
            self._run(self.dropout.masks(self.epoch))
            self.epoch += 1
        else:
            self._evaluate(self.path.logits(self.values, [Request(self.validation.nodes)])[0])
        if not training or self._sync():
            self._collect()

    def _advance(self, masks: Masks | None) -> None:
        """The epoch's work where the parameters are, in place: what a CUDA graph can hold."""
        requests = [Request(self.train.nodes, masks, gradient=True)]
        if self.epoch:
            requests.append(Request(self.validation.nodes))
        outputs = self.path.logits(self.values, requests)
        if self.epoch:
            self._evaluate(outputs[-1])
        losses = self._losses(outputs[0])
        self.optimizer.zero_grad()
        losses.sum().backward()
        self.optimizer.step()
        self.count += 1
        failed = ~losses.detach().isfinite() & (self.stopped_at == 0)
        _put(self.failed_at, failed, self.count)
        _put(self.stopped_at, failed, self.count)

    def _sync(self) -> bool:
        return not self.on_gpu or self.epoch % GPU_SYNC_EPOCHS == 0

    def _losses(self, logits: Tensor) -> Tensor:
        entropy = torch.nn.functional.cross_entropy(logits, self.train.labels, reduction="none")
        return (entropy * self.train.weights).sum(dim=1)

    @torch.no_grad()
    def _evaluate(self, logits: Tensor) -> None:
        metric = self.metric(logits, self.validation.labels, self.validation.counted)
        # What is no number has no class, though an argmax would name one.
        finite = logits.isfinite().flatten(1).all(dim=1)
        improved = (metric > self.best) & (self.stopped_at == 0) & finite
        if self.on_gpu or bool(improved.any()):
            _put(self.best, improved, metric)
            _put(self.best_epoch, improved, self.count)
            for name, value in self.values.items():
                _put(self.best_parameters[name], improved, value.detach())
        stop = self.count - self.best_epoch >= self.settings.patience
        stop = stop | (self.count >= self.settings.epochs)
        _put(self.stopped_at, stop & (self.stopped_at == 0), self.count)

    @torch.no_grad()
    def _collect(self) -> None:
        """Take finished splits off the stack."""
        stopped, failed = self.stopped_at.tolist(), self.failed_at.tolist()
        if not any(stopped):
            return
        best, best_epoch = self.best.tolist(), self.best_epoch.tolist()
        for row, epochs in enumerate(stopped):
            if epochs:
                parameters = {
                    name: value[row].detach().to("cpu", copy=True)
                    for name, value in self.best_parameters.items()
                }
                trained = (self.splits[row], best_epoch[row], epochs, best[row], parameters)
                self.finished.append(Trained(*trained, diverged_at=failed[row] or None))
        self._keep([row for row, epochs in enumerate(stopped) if not epochs])

    def _keep(self, rows: list[int]) -> None:
        if not rows:
            self.splits, self._run = [], None
            return
        index = torch.tensor(rows, device=self.device)
        moments = {
            name: {key: entry[index] if entry.dim() else entry for key, entry in moment.items()}
            for name, moment in self.optimizer.moments.items()
        }
        values = {name: value.detach()[index] for name, value in self.values.items()}
        self._stack([self.splits[row] for row in rows], values, moments)
        for name in _PER_SPLIT:
            setattr(self, name, getattr(self, name)[index])
        self.best_parameters = {name: value[index] for name, value in self.best_parameters.items()}

    def state_dict(self) -> dict:
        """All that is needed to go on from here, bit for bit: tensors and plain numbers."""
        return {
            "epoch": self.epoch,
            "splits": list(self.splits),
            "values": {name: value.detach() for name, value in self.values.items()},
            "moments": self.optimizer.moments,
            **{name: getattr(self, name) for name in _PER_SPLIT},
            "best_parameters": self.best_parameters,
            "finished": [vars(trained) for trained in self.finished],
        }

    def load_state_dict(self, state: dict) -> None:
        """Go on from what :meth:`state_dict` returned."""

        def here(value):
            return value.to(self.device, copy=True)  # what is written to in place is not shared

        self.epoch = state["epoch"]
        self.count.fill_(self.epoch)
        self.finished = [Trained(**trained) for trained in state["finished"]]
        if not state["splits"]:
            self.splits, self._run = [], None
            return
        self._stack(
            state["splits"],
            {name: here(value) for name, value in state["values"].items()},
            state["moments"],
        )
        for name in _PER_SPLIT:
            setattr(self, name, here(state[name]))
        self.best_parameters = {
            name: here(value) for name, value in state["best_parameters"].items()
        }

    def train_all(
        self, after_epoch: Callable[[StackedTrainer], None] | None = None
    ) -> list[Trained]:
        """Train until every split has stopped.

        Args:
            after_epoch: called after each epoch, for progress and checkpoints.

        Returns:
            The splits in the order of their indices.
        """
        while not self.done:
            self.step()
            if after_epoch is not None:
                after_epoch(self)
        return sorted(self.finished, key=lambda trained: trained.split)
