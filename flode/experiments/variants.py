"""Variants of the configuration: their hyperparameters, their runs and the settings of trainings.

Light on purpose: the Snakefile reads it, so nothing here imports torch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from flode import paths, versions
from flode.experiments.graphs import Graphs, in_order
from flode.experiments.hyperparameters import (
    DEFAULT,
    SHORT_NAMES,
    TRAINING,
    format_configuration,
    parse_configuration,
    rank_obstacle,
)
from flode.experiments.othermodels import BUILT_IN, check_models, model_settings, on_variant
from flode.experiments.validation import ConfigurationError, Schema


@dataclass(frozen=True, order=True)
class Run:
    """One configuration on one variant."""

    variant: str
    configuration: str = DEFAULT


class Variants(Graphs):
    """Graphs and what is trained on them: run files, and the settings of each training.

    Args:
        config: the merged configuration, which follows its schema.
        hyperparameters: schema of the hyperparameters.

    Raises:
        ConfigurationError: a value or a reference that is not allowed.
    """

    def __init__(self, config: Mapping, hyperparameters: Schema):
        super().__init__(config)
        self._hyperparameters = hyperparameters
        self._known: dict[Run, dict] = {}
        self._fitting: set[str] = set()
        check_models(self.config["models"], self.variants)
        for variant in self.variants:
            self.hyperparameters(Run(variant))
        kept = self._kept_models()
        self.config["training"] = {**config["training"], "save_models": kept}

    # Hyperparameters

    def hyperparameters(self, run: Run) -> dict:
        """All hyperparameters of a run: protocol, dataset, variant and configuration, the later
        overriding the earlier.

        Raises:
            ConfigurationError: unknown variant or key, a value out of bounds, or a configuration
                name that is not the shortest for what it says; the message gives the right one.
        """
        # Many tables and studies name the same run, and each start reads all.
        if run not in self._known:
            values = self._values(run)
            name = self.run(run.variant, values).configuration
            if name != run.configuration:
                raise ConfigurationError(f"{_in_words(run)}: this configuration is called {name!r}")
            self._known[run] = values
        return dict(self._known[run])

    def _values(self, run: Run) -> dict:
        """The hyperparameters that a name says, checked; it need not be the shortest."""
        try:
            overrides = parse_configuration(run.configuration)
        except ValueError as error:
            raise ConfigurationError(str(error)) from error
        where, model = _in_words(run), overrides.get("model", BUILT_IN)
        self._check_values(overrides, where)
        values = self._default(run.variant, model) | overrides
        self._check_values(values, where)
        if model != BUILT_IN:
            self._check_own(overrides, where)
            return {**values, "model": model}
        del values["model"]
        missing = [name for name in SHORT_NAMES if name not in values and name != "model"]
        if missing:
            raise ConfigurationError(f"{where}: hyperparameter {missing[0]!r} is not set")
        if values["equation"] == "schroedinger" and not values["complex_valued"]:
            raise ConfigurationError(
                f"{where}: complex_valued is False; equation schroedinger needs complex numbers"
            )
        return values

    def _check_values(self, values: Mapping, where: str) -> None:
        """That they fit the schema; the same ones once, as many runs have them."""
        if (text := repr(values)) not in self._fitting:
            self._hyperparameters.check(values, where)
            self._fitting.add(text)

    def _check_own(self, overrides: Mapping, where: str) -> None:
        """Of a model that is not FLODE a name says how it is trained; the rest says its entry."""
        if foreign := [name for name in overrides if name not in ("model", *TRAINING)]:
            raise ConfigurationError(
                f"{where}: {foreign[0]} is a hyperparameter of FLODE; of model"
                f" {overrides['model']!r} allowed are {', '.join(TRAINING)}, and"
                f" models.{overrides['model']}.keywords says the rest"
            )

    def named(self, variant: str, configuration: str) -> Run:
        """The run that a configuration file names. The name may say what the variant says too, as
        other files or the command line may have set it for all."""
        return self.run(variant, self._values(Run(variant, configuration)))

    def run(self, variant: str, overrides: Mapping) -> Run:
        """The run that differs from a variant's default by these hyperparameters."""
        model = overrides.get("model", BUILT_IN)
        if model != BUILT_IN:
            self._check_own(overrides, f"variant {variant}")
        default = self._default(variant, model)
        return Run(variant, format_configuration(overrides, default))

    def _default(self, variant: str, model: str = BUILT_IN) -> dict:
        """What a name of a run of this model need not say."""
        self._lookup("variants", variant, "variant")
        spec = self.config["variants"][variant]
        dataset = self.config["datasets"][spec["dataset"]]
        values = {
            **self.config["hyperparameters"],
            **dataset.get("hyperparameters", {}),
            **spec.get("hyperparameters", {}),
            "model": BUILT_IN,
        }
        if model == BUILT_IN:
            return values
        self._lookup("models", model, "hyperparameter model")
        own = {name: values[name] for name in ("model", *TRAINING) if name in values}
        return own | on_variant(self.config["models"][model], variant)["hyperparameters"]

    def other_model(self, run: Run) -> dict | None:
        """The entry of the model of a run that is not FLODE's; None of FLODE, and where the name of
        the run is none that there could be."""
        try:
            model = parse_configuration(run.configuration).get("model", BUILT_IN)
        except ValueError:
            return None
        entry = self.config["models"].get(model)
        return on_variant(entry, run.variant) if entry else None

    def training_inputs(self, run: Run) -> dict[str, str]:
        """Files that a training reads: ``graphs``, and ``factors`` where its model needs them."""
        files = {"graphs": f"{self.results}/graphs/{run.variant}.npz"}
        other = self.other_model(run)
        if other is None or "factors" in other.get("inputs", ()):
            files["factors"] = f"{self.results}/factors/{run.variant}.safetensors"
        return files

    # Files

    def run_files(self, run: Run) -> list[str]:
        """Run files of a configuration, ``training.splits_per_job`` splits each."""
        self.hyperparameters(run)
        total = self.num_splits(run.variant)
        size = self.config["training"]["splits_per_job"]
        size = total if size == "all" else size
        return [
            f"{self.results}/runs/{run.variant}/{run.configuration}"
            f"/splits-{first}-{min(first + size, total) - 1}.json"
            for first in range(0, total, size)
        ]

    def keeps_models(self, run: Run) -> bool:
        """Whether ``training.save_models`` names a run, by its variant or in full."""
        named = self.config["training"]["save_models"]
        return named == "all" or (
            named != "none" and not {run.variant, _full_name(run)}.isdisjoint(named)
        )

    @property
    def kept_variants(self) -> str:
        """A regular expression of the variants in paths ``<variant>/<configuration>/...`` of runs
        whose models are kept."""
        named = self.config["training"]["save_models"]
        if named in ("all", "none"):
            return "|".join(map(re.escape, self.variants)) if named == "all" else r"(?!)"
        split = (name.partition("/") for name in named)
        return "|".join(
            f"{re.escape(variant)}(?=/{re.escape(configuration)}{'/' if configuration else ''})"
            for variant, _, configuration in split
        )

    def model_files(self, runs: Iterable[Run]) -> list[str]:
        """Files of the models of those of these runs whose models are kept."""
        return [
            f"{self.results}/models/{Path(file).relative_to(f'{self.results}/runs').with_suffix('')}"
            ".safetensors"
            for run in runs
            if self.keeps_models(run)
            for file in self.run_files(run)
        ]

    def checkpoint_file(self, run: Run, first: str, last: str) -> str:
        """Side file of a training: no output, so that it outlives a killed job."""
        return f"{self.results}/.partial/{run.variant}/{run.configuration}/splits-{first}-{last}.pt"

    def splits(self, variant: str, first: str | int, last: str | int) -> list[int]:
        """The splits of a run file's name.

        Raises:
            ConfigurationError: a range that the variant does not have.
        """
        first, last, total = int(first), int(last), self.num_splits(variant)
        if not first <= last < total:
            raise ConfigurationError(
                f"splits-{first}-{last}: variant {variant} has splits 0 to {total - 1}, and the"
                " first must not exceed the last"
            )
        return list(range(first, last + 1))

    # Settings

    def run_settings(self, run: Run, splits: Iterable[int] | None = None) -> dict:
        """Settings of a training of some splits, or of all, by which its run file is known."""
        splits = range(self.num_splits(run.variant)) if splits is None else splits
        origin, other = self.origin(run.variant, splits), self.other_model(run)
        if "factors" not in self.training_inputs(run):
            del origin["factors"]
        return in_order(
            {
                "version": versions.TRAINING,
                "variant": run.variant,
                "configuration": run.configuration,
                "dataset": self._dataset_name(run.variant),
                "graphs": self.num_graphs(run.variant),
                "hyperparameters": self.hyperparameters(run),
                "flow": self.factor_settings(run.variant)["flow"],
                "tf32": self.config["training"]["tf32"],
                "quick": self.config["quick"],
                "origin": origin,
            }
            # No key for FLODE: the settings of its runs stay what they were.
            | ({"model": model_settings(other)} if other else {})
        )

    def model_class(self, run: Run) -> str | None:
        """Where the class of a model that is not FLODE is found, ``file.py:Class`` or
        ``module:Class``."""
        other = self.other_model(run)
        return other["class"] if other else None

    def train_settings(self, run: Run, splits: Iterable[int] | None = None) -> dict:
        """The same, of a training that is asked for.

        Raises:
            ConfigurationError: it would fail, as its path or rank is not of its graph. Here, as a
                default of all runs must not forbid the targets that do without such a run.
        """
        settings = self.run_settings(run, splits)
        if "model" not in settings:
            self._check_path(run, settings["hyperparameters"])
            self._check_rank(run, settings["hyperparameters"]["rank"])
        return settings

    def _check_path(self, run: Run, hyperparameters: Mapping) -> None:
        symmetric = self.config["variants"][run.variant].get("undirected", False)
        path = hyperparameters["path"]
        if reason := paths.obstacle(path, hyperparameters, symmetric):
            raise ConfigurationError(
                f"{_in_words(run)}: path {path!r} cannot serve this model: {reason}"
            )

    def _check_rank(self, run: Run, rank: int | float | None) -> None:
        """N is known where the graph is generated or published; else the training tells, so counts
        and fractions of a variant's rank compare with their like only."""
        if reason := rank_obstacle(run.configuration, self.most_nodes(run.variant)):
            raise ConfigurationError(f"{_in_words(run)}: {reason}")
        held = self.config["variants"][run.variant].get("rank")
        if type(rank) is type(held) and rank is not None and rank > held:
            raise ConfigurationError(
                f"{_in_words(run)}: rank is {rank}; at most the variant's rank, {held}, is allowed,"
                f" as its factors hold no more; variants.{run.variant}.rank sets it"
            )

    def _kept_models(self) -> str | list[str]:
        """``training.save_models``, its runs under the names of their files."""
        named = self.config["training"]["save_models"]
        if named in ("all", "none"):
            return named
        found = []
        for name in named:
            variant, slash, configuration = name.partition("/")
            self._lookup("variants", variant, f"training.save_models: {name!r}")
            try:
                run = self.named(variant, configuration if slash else DEFAULT)
            except ConfigurationError as error:
                raise ConfigurationError(f"training.save_models: {name!r}: {error}") from error
            found.append(_full_name(run) if slash else variant)
        return found


def _full_name(run: Run) -> str:
    return f"{run.variant}/{run.configuration}"


def _in_words(run: Run) -> str:
    return f"variant {run.variant}, configuration {run.configuration}"
