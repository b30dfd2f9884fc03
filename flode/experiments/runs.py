"""A run: training the splits of one configuration on one variant, resumable, to one JSON file."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from flode.datasets.graph import Graph
from flode.devices import memory_advice, resolve_device, set_tf32
from flode.experiments.models import TrainedModels
from flode.experiments.progress import Progress
from flode.experiments.provenance import commit, versions
from flode.experiments.runfiles import SCHEMA, save_run
from flode.experiments.trainings import FLODETraining, ModuleTraining
from flode.files import atomic_write
from flode.locks import claim
from flode.training.module import ModuleTrainer
from flode.training.trainer import StackedTrainer

logger = logging.getLogger("flode.runs")

#: A killed training resumes from at most this long ago.
CHECKPOINT_SECONDS = float(os.environ.get("FLODE_CHECKPOINT_SECONDS", "30"))


def run_configuration(
    settings: Mapping,
    graph_file: str | Path,
    factor_file: str | Path | None,
    splits: Sequence[int],
    *,
    device: str = "auto",
    checkpoint: str | Path | None = None,
    models: TrainedModels | None = None,
    model_class: str | None = None,
) -> dict:
    """Train splits of a configuration and report them.

    Splits of FLODE on one graph are trained side by side, those of another model one by one.

    Args:
        settings: ``Catalogue.run_settings``.
        graph_file, factor_file: of the variant; None for a model that takes no factors.
        splits: which splits. Where a variant has several graphs, split k is graph k's own.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        checkpoint: side file to resume from and to save to; deleted by :func:`write_run`.
        models: takes the parameters and logits of each split, where they are to be kept.
        model_class: ``Catalogue.model_class``, of a model that is not FLODE.

    Returns:
        The content of a run file: what was run, with which versions, and a record a split.

    Raises:
        ValueError: damaged inputs, named, a device that is not there, or a model that does not do
            as it must.
        MemoryError: too little memory; the message says which settings to change.
    """
    where = resolve_device(device)
    title = f"{settings['variant']}/{settings['configuration']}"
    with memory_advice(f"{title} on {where}", _advice(settings, splits, where)):
        set_tf32(settings["tf32"])
        if model_class is None:
            training = FLODETraining(settings, factor_file, where)
        else:
            training = ModuleTraining(settings, model_class, factor_file, where)
        inputs = [_identity(file) for file in (graph_file, factor_file) if file is not None]
        facts = [dict(settings), list(splits), where.type, inputs]
        if training.versions:
            facts.append(dict(training.versions))
        resume = Checkpoint(checkpoint, facts, models=models)
        return _run(training, graph_file, splits, resume)


def _run(
    training: FLODETraining | ModuleTraining,
    graph_file: str | Path,
    splits: Sequence[int],
    resume: Checkpoint,
) -> dict:
    settings, where = training.settings, training.device
    hyperparameters = settings["hyperparameters"]
    title = f"{settings['variant']}/{settings['configuration']}"
    records, models = resume.records, resume.models
    progress = Progress(title, len(splits), len(records))
    metric = None
    for number, offset, own in _groups(settings["graphs"], splits, training.together):
        graph = Graph.load(graph_file, number)
        metric = graph.metric
        _check_splits(graph, max(own) - offset, settings["dataset"], graph_file)
        if all(any(record["split"] == split for record in records) for split in own):
            continue
        started = time.monotonic()
        trainer = training.trainer(graph, number, [split - offset for split in own])
        resume.started = started - resume.restore(trainer)
        progress.start_group(offset)

        def after_epoch(trainer, progress=progress, resume=resume):
            progress(trainer)
            resume.save_sometimes(trainer)

        with training.naming_model(), _naming_epoch(title, trainer, resume):
            trained = trainer.train_all(after_epoch)
            seconds = time.monotonic() - resume.started
            found = training.records(trainer, trained)
        for one, record in zip(trained, found, strict=True):
            record = {"split": one.split + offset, **record, "seconds": seconds / len(trained)}
            records.append(record)
            if models is not None and one.best_epoch:
                models.add(record["split"], *training.kept(trainer, one))
            _log_record(title, record)
        logger.info("%s: trained %d of %d splits", title, len(records), len(splits))
        progress.done = len(records)
        resume.save(None)
    return {
        "schema": SCHEMA,
        **{name: settings[name] for name in ("variant", "configuration", "dataset")},
        "metric": metric,
        "hyperparameters": dict(hyperparameters),
        "training": {"tf32": settings["tf32"], "flow": settings["flow"]},
        "origin": settings["origin"],
        **({"model": settings["model"]} if "model" in settings else {}),
        "seed": hyperparameters["seed"],
        "quick": settings["quick"],
        "versions": {**versions(), **training.versions, "training_stage": settings["version"]},
        "device": torch.cuda.get_device_name(where) if where.type == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
        "commit": commit(own=training.own_file),
        "records": sorted(records, key=lambda record: record["split"]),
    }


@contextmanager
def _naming_epoch(
    title: str, trainer: StackedTrainer | ModuleTrainer, resume: Checkpoint
) -> Iterator[None]:
    """Ctrl-C says where it met a training, and what of it is kept."""
    try:
        yield
    except KeyboardInterrupt as error:
        then = "goes on from the last checkpoint" if resume.kept else "starts it anew"
        raise KeyboardInterrupt(
            f"{title}: interrupted at epoch {trainer.epoch}; the next call {then}"
        ) from error


def _advice(settings: Mapping, splits: Sequence[int], device: torch.device) -> str:
    """What takes less memory, from what costs least."""
    values = settings["hyperparameters"]
    if "model" in settings:
        ways = [f"make models.{values['model']} smaller by its keywords"]
    else:
        ways = [
            f"lower rank ({values['rank'] or 'all that the factors hold'})",
            f"lower hidden_channels ({values['hidden_channels']})",
        ]
        if settings["graphs"] == 1 and len(splits) > 1:
            ways.insert(0, f"lower training.splits_per_job ({len(splits)} splits side by side)")
    if device.type != "cpu":
        ways.append("run fewer jobs at a time (--resources gpu=1)")
        ways.append("set device: cpu")
    text = ", or ".join(ways)
    return text[0].upper() + text[1:] + "."


def _log_record(title: str, record: Mapping) -> None:
    split, diverged = record["split"], record["diverged_at"]
    if diverged:
        logger.warning(
            "%s: the loss or a logit of split %d is not finite at epoch %d. A lower learning_rate"
            " or initial_step_size, or fewer num_layers, may help",
            title, split, diverged,
        )  # fmt: skip
    if record["best_epoch"]:
        logger.info(
            "%s: split %d: validation %.2f %%, test %.2f %% at epoch %d of %d",
            title,
            split,
            100 * record["validation"],
            100 * record["test"],
            record["best_epoch"],
            record["epochs"],
        )


def claim_run(checkpoint: str | Path) -> None:
    """Have this process alone work on a side file, until it ends.

    Raises:
        RuntimeError: another one does; names it.
    """
    lock = _lock(Path(checkpoint))
    if process := claim(lock):
        raise RuntimeError(
            f"{checkpoint}: the same training is at work, {process}. Wait until it has ended; where"
            f" there is no such process any more, delete {lock}"
        )


def write_run(document: dict, path: str | Path, checkpoint: str | Path | None = None) -> None:
    """Write a run file, whole or not at all, then delete the side file."""
    save_run(document, path)
    if checkpoint is not None:
        _remove(Path(checkpoint))


def _remove(checkpoint: Path) -> None:
    """Delete a side file, its lock, what killed jobs left half-written, and empty folders."""
    half_written = checkpoint.parent.glob(f".{checkpoint.stem}.*.tmp.pt")
    for leftover in [checkpoint, *half_written, _lock(checkpoint)]:
        leftover.unlink(missing_ok=True)
    for folder in (checkpoint.parent, checkpoint.parent.parent):
        try:
            folder.rmdir()
        except OSError:  # other runs' checkpoints are in it, or it has never been made
            return


def _lock(checkpoint: Path) -> Path:
    return checkpoint.with_suffix(".lock")


class Checkpoint:
    """Side file of a training: finished records (and models, where they are kept) and the state of
    the trainer at work.

    It is no Snakemake output, so it outlives a failed or killed job. One that was written under
    other settings, inputs or versions is ignored.

    Attributes:
        started: when the training of the trainer at work would have begun, had it never been
            killed, by ``time.monotonic``.
        kept: whether there is one to go on from.
    """

    def __init__(
        self,
        path: str | Path | None,
        facts: list,
        seconds: float = CHECKPOINT_SECONDS,
        models: TrainedModels | None = None,
    ):
        # A side file without models is of no use where they are to be kept.
        facts = facts if models is None else [*facts, "models"]
        self.models = models
        self.path = None if path is None else Path(path)
        self.seconds = seconds
        self.kept = False
        self.last = self.started = time.monotonic()
        text = json.dumps([facts, versions(), torch.get_num_threads()], sort_keys=True)
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()
        self.records: list[dict] = []
        self._trainer: dict | None = None
        self._trained_before = 0.0
        self._load()

    def _load(self) -> None:
        if self.path is None or not self.path.exists():
            return
        try:
            stored = torch.load(self.path, map_location="cpu", weights_only=True)
            known = stored["fingerprint"] == self.fingerprint
        except Exception as error:  # torch.load raises many kinds
            logger.warning("%s cannot be read (%s); starting afresh", self.path, error)
            return
        if not known:
            logger.info("%s is of another configuration; starting afresh", self.path)
            return
        self.kept = True
        self.records, self._trainer = json.loads(stored["records"]), stored["trainer"]
        self._trained_before = stored.get("seconds", 0.0)
        if self.models is not None:
            self.models.tensors = stored["models"]
        logger.info("resuming from %s: %d splits done", self.path, len(self.records))

    def restore(self, trainer: StackedTrainer | ModuleTrainer) -> float:
        """Put the saved trainer's state into this one, if there is one of its splits.

        Returns:
            The seconds that it had trained before.
        """
        state, self._trainer = self._trainer, None
        if state is None:
            return 0.0
        trainer.load_state_dict(state)
        logger.info("going on at epoch %d", trainer.epoch)
        return self._trained_before

    def save_sometimes(self, trainer: StackedTrainer | ModuleTrainer) -> None:
        """Save if the last save is old enough."""
        if time.monotonic() - self.last >= self.seconds:
            self.save(trainer)

    def save(self, trainer: StackedTrainer | ModuleTrainer | None) -> None:
        """Save now; None when no trainer is at work.

        A training goes on without, where its side file cannot be written: the older one stays.
        """
        self.last = time.monotonic()
        if self.path is None:
            return
        state = None if trainer is None else trainer.state_dict()
        stored = {
            "fingerprint": self.fingerprint,
            "records": json.dumps(self.records),
            "trainer": state,
            "seconds": self.last - self.started,
        }
        if self.models is not None:
            stored["models"] = self.models.tensors
        try:
            with atomic_write(self.path) as temporary:
                torch.save(stored, temporary)
            self.kept = True
        except OSError as error:
            logger.warning("no checkpoint: %s", error)


def _groups(graphs: int, splits: Sequence[int], together: bool):
    """``(graph, number of its first split, splits)`` of each graph needed, with all splits of a
    graph together or one by one."""
    if graphs == 1 and together:
        yield 0, 0, list(splits)
        return
    for split in splits:
        first = 0 if graphs == 1 else split
        yield first, first, [split]


def _identity(path: str | Path) -> list:
    status = Path(path).stat()
    return [str(path), status.st_size, status.st_mtime_ns]


def _check_splits(graph: Graph, last: int, dataset: str, graph_file: str | Path) -> None:
    """A graph is not built anew where its dataset is given more splits."""
    if last >= graph.num_splits:
        raise ValueError(
            f"split {last} is not in {graph_file}, which has {graph.num_splits} splits, 0 to"
            f" {graph.num_splits - 1}; datasets.{dataset}.splits must not exceed them"
        )
