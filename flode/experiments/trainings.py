"""How the model of a run is trained on each of its graphs: FLODE, splits side by side, or another
model, one by one."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import MappingProxyType

import torch
from torch import Tensor

from flode.datasets.graph import Graph
from flode.devices import is_out_of_memory
from flode.experiments.hyperparameters import (
    architecture_keywords,
    rank_obstacle,
    training_keywords,
)
from flode.experiments.othermodels import load_class, own_file, package_versions
from flode.model import Architecture, Operator
from flode.spectral import Factors, sna
from flode.training.evaluation import evaluate, states_and_logits
from flode.training.module import ModuleTrainer, graph_inputs
from flode.training.trainer import StackedTrainer, Trained, TrainingSettings


class FLODETraining:
    """FLODE.

    Args:
        settings: ``Catalogue.run_settings``.
        factor_file: of the variant.
        device: where to train.
    """

    #: Whether splits of one graph are trained side by side.
    together = True
    #: A file that results depend on, and packages, besides this library's.
    own_file = None
    versions: Mapping[str, str] = MappingProxyType({})

    def __init__(self, settings: Mapping, factor_file: str | Path, device: torch.device):
        self.settings, self.factor_file, self.device = settings, factor_file, device

    def trainer(self, graph: Graph, number: int, splits: Sequence[int]) -> StackedTrainer:
        """Of these splits of graph ``number`` of the variant."""
        hyperparameters = self.settings["hyperparameters"]
        if reason := rank_obstacle(self.settings["configuration"], graph.num_nodes):
            raise ValueError(
                f"{self.settings['variant']}/{self.settings['configuration']}: {reason}"
            )
        factors = _factors(self.factor_file, number, graph).leading(hyperparameters["rank"])
        architecture = Architecture(
            in_channels=graph.num_features,
            out_channels=graph.num_classes,
            **architecture_keywords(hyperparameters),
        )
        return StackedTrainer(
            architecture,
            graph,
            Operator(factors, device=self.device),
            TrainingSettings(**training_keywords(hyperparameters)),
            list(splits),
            hyperparameters["path"],
        )

    def records(self, trainer: StackedTrainer, trained: Sequence[Trained]) -> list[dict]:
        """What a run file says of each trained split."""
        graph = trainer.graph
        flow = self.settings["flow"]
        laplacian = sna(graph.edge_index, graph.edge_weight, graph.num_nodes, flow)
        return [evaluate(trainer.path, one, graph, laplacian) for one in trained]

    def naming_model(self) -> AbstractContextManager:
        """Errors as they come."""
        return nullcontext()

    def kept(self, trainer: StackedTrainer, trained: Trained) -> tuple[Mapping, Tensor]:
        """Parameters and logits ``(N, C)`` of a trained split, to be kept."""
        return trained.parameters, states_and_logits(trainer.path, trained)[2][0].T


class ModuleTraining:
    """A model of ``models``.

    Args:
        settings, device: as of `FLODETraining`.
        model_class: where its class is found, see `load_class`.
        factor_file: None where it does not take them.

    Raises:
        ValueError: its code cannot be loaded, or does not do as a model must; names the model.
    """

    together = False

    def __init__(
        self,
        settings: Mapping,
        model_class: str,
        factor_file: str | Path | None,
        device: torch.device,
    ):
        self.settings, self.factor_file, self.device = settings, factor_file, device
        self.name, self.entry = settings["hyperparameters"]["model"], settings["model"]
        self.own_file, self.versions = own_file(model_class), package_versions(model_class)
        with self.naming_model():
            self.model_class = load_class(model_class)

    def trainer(self, graph: Graph, number: int, splits: Sequence[int]) -> ModuleTrainer:
        """Of this one split of graph ``number`` of the variant."""
        (split,) = splits
        flow, names = self.settings["flow"], self.entry["inputs"]
        factors = _factors(self.factor_file, number, graph) if self.factor_file else None
        with self.naming_model():
            return ModuleTrainer(
                lambda: make_module(self.model_class, graph, self.entry),
                graph_inputs(graph, names, flow, self.device, factors),
                graph,
                TrainingSettings(**training_keywords(self.settings["hyperparameters"])),
                split,
                self.device,
            )

    def records(self, trainer: ModuleTrainer, trained: Sequence[Trained]) -> list[dict]:
        """What a run file says of each trained split."""
        return [trainer.record(one) for one in trained]

    def kept(self, trainer: ModuleTrainer, trained: Trained) -> tuple[Mapping, Tensor]:
        """Parameters and logits of the split just recorded."""
        parameters = {f"parameters.{name}": one for name, one in trained.parameters.items()}
        return parameters, trainer.recorded

    @contextmanager
    def naming_model(self) -> Iterator[None]:
        """Turn whatever a model's code raises into an error that names the model."""
        try:
            yield
        except Exception as error:
            if is_out_of_memory(error):
                raise
            told = error if type(error) is ValueError else f"{type(error).__name__}: {error}"
            raise ValueError(f"models.{self.name}, {self.entry['class']}: {told}") from error


def make_module(model_class: type, graph: Graph, entry: Mapping) -> torch.nn.Module:
    """A model of ``models`` for a graph's features and classes.

    Raises:
        TypeError: the class is none of models, or refuses its keywords.
    """
    if not issubclass(model_class, torch.nn.Module):
        raise TypeError(f"{model_class.__name__} is no torch.nn.Module")
    sizes = {"in_channels": graph.num_features, "out_channels": graph.num_classes}
    # A model may change what it is given, and there is one a split.
    return model_class(**(sizes | copy.deepcopy(entry["keywords"])))


def _factors(file: str | Path, number: int, graph: Graph) -> Factors:
    factors = Factors.load(file, number)
    if factors.num_nodes != graph.num_nodes:
        raise ValueError(
            f"the factors have {factors.num_nodes} nodes, the graph {graph.num_nodes}; delete the"
            " factor file to have it made again"
        )
    return factors
