"""Training of a model that is not FLODE: any ``torch.nn.Module``, one split at a time."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from flode.datasets.graph import Graph
from flode.spectral.factors import Factors
from flode.training.evaluation import train_and_test
from flode.training.metrics import METRICS
from flode.training.trainer import Trained, TrainingSettings

logger = logging.getLogger("flode.training")


def graph_inputs(
    graph: Graph, names: Sequence[str], flow: str, device: torch.device, factors=None
) -> list:
    """What a model's ``forward`` gets.

    Args:
        graph: the graph.
        names: what it gets, in this order, of those below.
        flow: as of the SNA. PyTorch Geometric's layers pass messages from the first row of
            ``edge_index`` to the second: of ``target_to_source`` the rows are exchanged.
        device: where the model is.
        factors: of the SNA, where they are among the names.

    Returns:
        ``x`` ``(N, F)`` float32, ``edge_index`` ``(2, E)`` int64, ``edge_weight`` ``(E,)`` float32,
        ``factors`` `flode.Factors` in float32.
    """
    data = graph.to_data()
    if flow == "target_to_source":
        data.edge_index = data.edge_index.flip(0)
    found = []
    for name in names:
        if name == "factors":
            found.append(factors.to(device, torch.float32))
        else:
            found.append(data[name].to(device))
    return found


def seed_everything(seed: int) -> None:
    """Start the global generators of PyTorch, NumPy and Python, as models use any of them."""
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (the global one is meant)
    random.seed(seed)


def _other_generators() -> list:
    """Where those of NumPy and Python are, in plain numbers."""
    name, keys, *rest = np.random.get_state()  # noqa: NPY002
    version, numbers, gauss = random.getstate()
    return [[name, keys.tolist(), *rest], [version, list(numbers), gauss]]


class ModuleTrainer:
    """Trains a split of a graph as `StackedTrainer` trains FLODE: cross-entropy, Adam with L2
    weight decay, the epoch of the best validation metric, early stopping.

    Args:
        make: makes the model, from the global generators of PyTorch, NumPy and Python, which the
            seed starts.
        inputs: of the model's ``forward``, which returns logits ``(N, C)``.
        graph: the graph with its splits.
        settings: how to train; ``second_moment`` has no part in it.
        split: which split.
        device: where to train.

    Raises:
        ValueError: the model gives something else than logits, or has nothing to train.
    """

    def __init__(
        self,
        make: Callable[[], nn.Module],
        inputs: Sequence,
        graph: Graph,
        settings: TrainingSettings,
        split: int,
        device: torch.device,
    ):
        self.graph, self.settings, self.device = graph, settings, device
        self.inputs = list(inputs)
        self.splits = [split]
        self.finished: list[Trained] = []
        self.recorded: Tensor | None = None
        self.epoch = 0
        self.best = torch.full((1,), -torch.inf, dtype=torch.float64, device="cpu")
        self.best_epoch = torch.zeros(1, dtype=torch.int64, device="cpu")
        self.labels = torch.from_numpy(graph.labels).to(device)
        self.metric = METRICS[graph.metric]
        self.train, self.validation = (
            torch.from_numpy(mask[split]).to(device) for mask in (graph.train, graph.validation)
        )
        seed_everything(settings.seed)
        self.model = make().to(device)
        self._untouched = self._versions()
        first = self._check(self.logits())  # layers that take their sizes from it have them now
        if not torch.allclose(first, self.logits(), equal_nan=True):
            logger.warning(
                "the model's logits differ between two evaluations of the same parameters: its"
                " metrics are those of one of them"
            )
        self._check_inputs()
        parameters = [one for one in self.model.parameters() if one.requires_grad]
        if not parameters:
            raise ValueError("it has no parameter to train")
        self.optimizer = torch.optim.Adam(
            parameters, settings.learning_rate, weight_decay=settings.weight_decay
        )
        self.best_parameters = self._parameters()

    @property
    def done(self) -> bool:
        return not self.splits

    def logits(self) -> Tensor:
        """``(N, C)`` of all nodes, in evaluation mode."""
        self.model.eval()
        with torch.no_grad():
            return self.model(*self.inputs)

    def step(self) -> None:
        """One epoch: a step, and the evaluation of the parameters after it.

        Raises:
            RuntimeError: the split has stopped.
        """
        if self.done:
            raise RuntimeError("the split has stopped; there is nothing left to train")
        self.model.train()
        self.optimizer.zero_grad()
        logits = self._check(self.model(*self.inputs))[self.train]
        loss = nn.functional.cross_entropy(logits, self.labels[self.train])
        loss.backward()
        self._check_inputs()
        self.optimizer.step()
        self.epoch += 1
        if not loss.isfinite():
            self._finish(self.epoch)
            return
        self._evaluate()
        waited = self.epoch - int(self.best_epoch)
        if waited >= self.settings.patience or self.epoch >= self.settings.epochs:
            self._finish(None)

    def _evaluate(self) -> None:
        logits = self.logits()
        metric = float(self.metric(logits.T[None], self.labels[None], self.validation[None]))
        if logits[self.validation].isfinite().all() and metric > self.best.item():
            self.best.fill_(metric)
            self.best_epoch.fill_(self.epoch)
            self.best_parameters = self._parameters()

    def _finish(self, diverged_at: int | None) -> None:
        trained = (self.splits[0], int(self.best_epoch), self.epoch, self.best.item())
        parameters = {name: value.cpu() for name, value in self.best_parameters.items()}
        self.finished.append(Trained(*trained, parameters, diverged_at))
        self.splits = []

    def _parameters(self) -> dict[str, Tensor]:
        """Parameters and buffers, which do not change with the model's."""
        return {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def _versions(self) -> list[int]:
        """How often each tensor of the inputs was changed in place."""
        parts = (
            (one.left, one.right, one.values) if isinstance(one, Factors) else (one,)
            for one in self.inputs
        )
        return [tensor._version for own in parts for tensor in own if tensor is not None]

    def _check_inputs(self) -> None:
        if self._versions() != self._untouched:
            raise ValueError("its forward changes what it is given in place")

    def _check(self, logits) -> Tensor:
        shape = (self.graph.num_nodes, self.graph.num_classes)
        if not (
            isinstance(logits, Tensor) and logits.shape == shape and logits.is_floating_point()
        ):
            found = (
                f"{logits.dtype} of shape {tuple(logits.shape)}"
                if isinstance(logits, Tensor)
                else f"a {type(logits).__name__}"
            )
            raise ValueError(f"it returns {found}; allowed are logits, real numbers {shape}")
        return logits

    def record(self, trained: Trained) -> dict:
        """What a run file says of a trained split: ``train``, ``validation`` and ``test`` metrics
        in [0, 1], ``best_epoch``, ``epochs`` and ``diverged_at``; None all of the first four where
        there is no result, as `flode.training.evaluation.evaluate` has it. ``recorded`` are then
        the logits ``(N, C)`` behind it."""
        about = {"epochs": trained.epochs, "diverged_at": trained.diverged_at}
        results = ("train", "validation", "test", "best_epoch")
        if not trained.best_epoch:
            return dict.fromkeys(results) | about
        self.model.load_state_dict(trained.parameters)
        logits = self.recorded = self.logits()
        scores = train_and_test(logits.T[None], trained.split, self.graph)
        if scores is None:
            diverged = trained.diverged_at or trained.best_epoch
            return dict.fromkeys(results) | about | {"diverged_at": diverged}
        train, test = scores
        found = (train, trained.validation, test, trained.best_epoch)
        return dict(zip(results, found, strict=True)) | about

    def state_dict(self) -> dict:
        """All that is needed to go on from here, bit for bit: tensors and plain numbers."""
        cuda = torch.cuda.get_rng_state(self.device) if self.device.type == "cuda" else None
        return {
            "epoch": self.epoch,
            "splits": list(self.splits),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "best": self.best,
            "best_epoch": self.best_epoch,
            "best_parameters": self.best_parameters,
            "finished": [vars(trained) for trained in self.finished],
            "generators": [torch.get_rng_state(), cuda, *_other_generators()],
        }

    def load_state_dict(self, state: Mapping) -> None:
        """Go on from what :meth:`state_dict` returned."""
        self.epoch, self.splits = state["epoch"], list(state["splits"])
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.best, self.best_epoch = state["best"].clone(), state["best_epoch"].clone()
        self.best_parameters = {
            name: value.to(self.device, copy=True)
            for name, value in state["best_parameters"].items()
        }
        self.finished = [Trained(**trained) for trained in state["finished"]]
        own, cuda, of_numpy, of_python = state["generators"]
        torch.set_rng_state(own)
        if cuda is not None:
            torch.cuda.set_rng_state(cuda, self.device)
        keys = np.array(of_numpy[1], np.uint32)
        np.random.set_state((of_numpy[0], keys, *of_numpy[2:]))  # noqa: NPY002
        random.setstate((of_python[0], tuple(of_python[1]), of_python[2]))

    def train_all(
        self, after_epoch: Callable[[ModuleTrainer], None] | None = None
    ) -> list[Trained]:
        """Train until the split has stopped.

        Args:
            after_epoch: called after each epoch, for progress and checkpoints.
        """
        while not self.done:
            self.step()
            if after_epoch is not None:
                after_epoch(self)
        return self.finished
