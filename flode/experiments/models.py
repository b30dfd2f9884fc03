"""Trained models of a run, kept beside its run file: parameters and logits of each split."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from flode.experiments.hyperparameters import architecture_keywords
from flode.files import atomic_write, naming_damage
from flode.model import FLODE

#: Layout of a file of models.
SCHEMA = 1

_LOGITS = "logits"


class TrainedModels:
    """Models of a run's splits at their best epochs.

    Attributes:
        tensors: on the CPU, ``<split>.<parameter>`` as in ``Architecture.initial_parameters``, or
            of another model ``<split>.parameters.<name>`` as in its ``state_dict``, and
            ``<split>.logits`` ``(N, C)`` of all nodes. A split that diverged before its first
            evaluation has none.
    """

    def __init__(self):
        self.tensors: dict[str, Tensor] = {}

    def add(self, split: int, parameters: Mapping[str, Tensor], logits: Tensor) -> None:
        """Take a trained split, of this number in the run: parameters, and logits ``(N, C)``."""
        for name, value in {**parameters, _LOGITS: logits}.items():
            if value.layout != torch.strided:
                raise ValueError(
                    f"{name} is a sparse tensor, which a file of models cannot hold; a buffer with"
                    " persistent=False is not kept"
                )
            # Copied, as parameters of a model may share their memory.
            copied = value.detach().cpu().clone(memory_format=torch.contiguous_format)
            self.tensors[f"{split}.{name}"] = copied

    def save(self, path: str | Path, document: Mapping) -> None:
        """Write a safetensors file, whole or not at all.

        Args:
            path: the file.
            document: what ``run_configuration`` returned of the same training. All of it but the
                seconds goes into the metadata.
        """
        records = [
            {key: value for key, value in record.items() if key != "seconds"}
            for record in document["records"]
        ]
        metadata = {**document, "schema": SCHEMA, "records": records}
        with atomic_write(path) as temporary:
            # One key: safetensors writes several in an order that changes from run to run.
            save_file(self.tensors, temporary, {"run": json.dumps(metadata)})
            temporary.chmod(0o644)  # safetensors makes a file for its owner alone


def load_model(path: str | Path, split: int = 0) -> FLODE:
    """A trained model, in evaluation mode, from a file of ``results/models``.

    On the graph and the factors it was trained with, ``model(graph.features, factors)`` gives the
    logits behind the metrics of its run file, to rounding.

    Args:
        path: the file.
        split: of which split, numbered as in the run file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, holds no model of this split, or another model than FLODE;
            it is named.
    """
    run, tensors = _read(path, split)
    hyperparameters = run["hyperparameters"]
    if "model" in run:
        raise ValueError(
            f"{path}: its model is {hyperparameters['model']}, {run['model']['class']}; make one,"
            " and give its load_state_dict what flode.load_parameters returns"
        )
    parameters = {name: value for name, value in tensors.items() if name != _LOGITS}
    model = FLODE(
        in_channels=parameters["encoder.0.weight"].shape[2],
        out_channels=tensors[_LOGITS].shape[1],
        rank=hyperparameters["rank"],
        path=hyperparameters["path"],
        **architecture_keywords(hyperparameters),
    )
    with naming_damage(path, "of another architecture than its hyperparameters say"):
        model.load_parameters(parameters)
    return model.eval()


def load_parameters(path: str | Path, split: int = 0) -> dict[str, Tensor]:
    """Parameters of a trained model on the CPU by their names, for the ``load_state_dict`` of a
    model beside FLODE. Arguments are those of :func:`load_model`, and errors but for the last."""
    tensors = _read(path, split)[1].items()
    return {name.removeprefix("parameters."): value for name, value in tensors if name != _LOGITS}


def load_predictions(path: str | Path, split: int = 0) -> Tensor:
    """Logits ``(N, C)`` float32 of all nodes by a trained model, without computing them again.

    The predicted class of a node is its arg max; for AUROC its score is ``logits[:, 1] −
    logits[:, 0]``. Arguments and errors are those of :func:`load_model`.
    """
    return _read(path, split)[1][_LOGITS]


def _read(path: str | Path, split: int) -> tuple[dict, dict[str, Tensor]]:
    """The run's description, and the tensors of a split by their names."""
    with (
        naming_damage(path, "no file of trained models"),
        safe_open(str(path), framework="pt") as file,
    ):
        run = json.loads(file.metadata()["run"])
        if run["schema"] != SCHEMA:
            raise ValueError(f"its schema is {run['schema']}; {SCHEMA} is allowed")
        names = list(file.keys())
        prefix = f"{split}."
        tensors = {
            name.removeprefix(prefix): file.get_tensor(name)
            for name in names
            if name.startswith(prefix)
        }
    if tensors:
        return run, tensors
    known = [record["split"] for record in run["records"]]
    if split in known:
        raise ValueError(f"{path}: split {split} diverged before any evaluation: it has no model")
    raise ValueError(f"{path}: no split {split!r}; there are {', '.join(map(str, known))}")
