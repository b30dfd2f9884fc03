"""Variants of the configuration: hyperparameters, files and the settings of each stage.

Light on purpose: the Snakefile reads it, so nothing here imports torch.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from flode import paths, versions
from flode.datasets.manifest import ManifestRow
from flode.datasets.registry import FORMATS, Dataset, Registry, Variant
from flode.experiments.hyperparameters import (
    DEFAULT,
    SHORT_NAMES,
    format_configuration,
    parse_configuration,
)
from flode.experiments.inheritance import completed_variants
from flode.experiments.validation import ConfigurationError, Schema, did_you_mean

#: Keys of a variant that say how its graph is built from raw files.
_BUILD_KEYS = tuple(
    field.name for field in dataclasses.fields(Variant) if field.name not in ("dataset", "rank")
)


@dataclass(frozen=True, order=True)
class Run:
    """One configuration on one variant."""

    variant: str
    configuration: str = DEFAULT


class Variants:
    """Graphs to train on: their files, and the settings of each stage that works on them.

    Args:
        config: the merged configuration, which follows its schema.
        hyperparameters: schema of the hyperparameters.

    Raises:
        ConfigurationError: a value or a reference that is not allowed.
    """

    def __init__(self, config: Mapping, hyperparameters: Schema):
        self.config = {**config, "variants": completed_variants(config["variants"])}
        self._hyperparameters = hyperparameters
        self._known: dict[Run, dict] = {}
        for variant in self.variants:
            self._check_variant(variant)
            self.hyperparameters(Run(variant))
        kept = self._kept_models()
        self.config["training"] = {**config["training"], "save_models": kept}
        try:
            self._registry = Registry.from_config(self.config, config["data"]["manifest"])
        except OSError as error:
            raise ConfigurationError(f"data.manifest cannot be read: {error}") from error
        except ValueError as error:
            raise ConfigurationError(str(error)) from error

    @property
    def results(self) -> str:
        """Prefix of everything the workflow writes."""
        return self.config["results"]

    @property
    def manifest(self) -> Mapping[tuple[str, str], ManifestRow]:
        """What the bytes of each raw file, ``(source, path)``, must be."""
        return self._registry.manifest

    @property
    def variants(self) -> list[str]:
        return list(self.config["variants"])

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
        where = _in_words(run)
        values = self._default(run.variant) | overrides
        self._hyperparameters.check(values, where)
        missing = [name for name in SHORT_NAMES if name not in values]
        if missing:
            raise ConfigurationError(f"{where}: hyperparameter {missing[0]!r} is not set")
        if values["equation"] == "schroedinger" and not values["complex_valued"]:
            raise ConfigurationError(
                f"{where}: complex_valued is False; equation schroedinger needs complex numbers"
            )
        return values

    def named(self, variant: str, configuration: str) -> Run:
        """The run that a configuration file names. The name may say what the variant says too, as
        other files or the command line may have set it for all."""
        return self.run(variant, self._values(Run(variant, configuration)))

    def run(self, variant: str, overrides: Mapping) -> Run:
        """The run that differs from a variant's default by these hyperparameters."""
        return Run(variant, format_configuration(overrides, self._default(variant)))

    def _default(self, variant: str) -> dict:
        self._lookup("variants", variant, "variant")
        spec = self.config["variants"][variant]
        dataset = self.config["datasets"][spec["dataset"]]
        return {
            **self.config["hyperparameters"],
            **dataset.get("hyperparameters", {}),
            **spec.get("hyperparameters", {}),
        }

    # Files

    def num_graphs(self, variant: str) -> int:
        """How many graphs a variant has; with several, split k is graph k's own split."""
        return self._generator(variant)["graphs"] if self.is_generated(variant) else 1

    def num_splits(self, variant: str) -> int:
        if self.is_generated(variant):
            return self.num_graphs(variant)
        return self._registry.datasets[self._dataset_name(variant)].splits

    def is_generated(self, variant: str) -> bool:
        """Whether a variant's graphs are drawn from a model, not read from raw files."""
        return self.config["datasets"][self._dataset_name(variant)]["format"] not in FORMATS

    def threads(self, variant: str) -> int:
        """CPU threads of a job on a variant."""
        return self.config["threads" if self.is_generated(variant) else "threads_large"]

    def memory(self, variant: str) -> int:
        """MiB that a job on a variant may take: what was seen of the largest, rounded up."""
        return 2000 if self.is_generated(variant) else 20000

    def raw_files(self, variant: str) -> list[str]:
        """Raw files that a variant is built from; none where it is generated."""
        files = self._raw_files_by_role(variant).values()
        return [path for found in files for path in ([found] if isinstance(found, str) else found)]

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

    # What each stage depends on

    def graph_settings(self, variant: str) -> dict:
        """Settings of the graph stage: a change of any reruns it."""
        dataset = self.config["datasets"][self._dataset_name(variant)]
        common = {"version": versions.GRAPH, "format": dataset["format"]}
        if self.is_generated(variant):
            drawn = {"seed": self.config["seed"], "generator": self._generator(variant)}
            return _in_order(common | drawn)
        build = dataclasses.asdict(self._registry.variants[variant])
        del build["rank"]  # the factorisation's
        files = self._raw_files_by_role(variant)
        return _in_order(common | {"metric": dataset["metric"], "files": files, "build": build})

    def _raw_files_by_role(self, variant: str) -> dict:
        if self.is_generated(variant):
            return {}
        return self._local_files(self._registry.datasets[self._dataset_name(variant)])

    def _local_files(self, dataset: Dataset) -> dict:
        """Where a dataset's raw files are: those that are generated never among fetched ones."""
        root = (
            self.config["data"]["folder"] if dataset.generate is None else self.generated_raw_folder
        )
        return {
            role: [str(path) for path in found] if isinstance(found, list) else str(found)
            for role, found in dataset.local_files(root).items()
        }

    @property
    def generated_raw_folder(self) -> str:
        """Where generated raw files are kept."""
        return f"{self.results}/generated"

    def generated_raw_settings(self) -> dict:
        """Settings of the raw files that are generated, by dataset."""
        return {
            name: {
                "version": versions.RAW_FILES,
                "format": dataset.format,
                "files": self._local_files(dataset),
                "generate": dict(dataset.generate),
                "splits": dataset.splits,
                "seed": self.config["seed"],
            }
            for name, dataset in sorted(self._registry.datasets.items())
            if dataset.generate is not None
        }

    def generated_raw_files(self) -> list[str]:
        """The raw files that are generated, each once."""
        return list(
            dict.fromkeys(
                f"{self.generated_raw_folder}/{file.source}/{file.path}"
                for name in self.generated_raw_settings()
                for file in self._registry.raw_files(name)
            )
        )

    def download_settings(self, source: str, path: str) -> dict:
        """Where a raw file comes from and what its bytes must be.

        Raises:
            ConfigurationError: a source or a file that the configuration does not know.
        """
        self._lookup("sources", source, "raw file")
        row = self._registry.manifest.get((source, path))
        if row is None:
            raise ConfigurationError(
                f"{source}/{path} is not in {self.config['data']['manifest']}, which lists every"
                " raw file"
            )
        return {"base": self.config["sources"][source], "row": dataclasses.asdict(row)}

    def factor_settings(self, variant: str) -> dict:
        """Settings of the factorisation stage."""
        spec = self.config["variants"][variant]
        factors = {**self.config["factors"], **spec.get("factors", {})}
        return _in_order(
            {
                "version": versions.FACTORS,
                "tolerance": factors["tolerance"],
                "rank": spec.get("rank"),
                "flow": spec.get("flow", "target_to_source"),
                "seed": self.config["seed"],
            }
            # No key where it is double: the settings of factors that are there stay what they were.
            | ({"precision": "single"} if factors["precision"] == "single" else {})
        )

    def origin(self, variant: str, splits: Iterable[int] = ()) -> dict:
        """What the graphs and factors of a variant are made of, wherever they lie: the settings of
        their stages and, where there are, the hashes of raw files; of files that hold one split
        each those of these splits, as a training of some is not of the others."""
        graph = self.graph_settings(variant)
        found = {"graph": graph, "factors": self.factor_settings(variant)}
        if not graph.pop("files", None):
            return found
        dataset = self._registry.datasets[self._dataset_name(variant)]
        if dataset.generate is not None:
            graph["raw"] = {"generate": dict(dataset.generate), "seed": self.config["seed"]}
            return found
        rows = [(file.role, self._registry.manifest_row(file).hash) for file in dataset.raw_files]
        graph["raw"] = {role: digest for role, digest in rows if role != "splits"}
        by_split = [digest for role, digest in rows if role == "splits"]
        if by_split and splits:
            found["splits"] = {str(split): by_split[split] for split in splits}
        return found

    def statistics_settings(self, variant: str) -> dict:
        """Settings of the statistics of a variant's (first) graph."""
        name = self._dataset_name(variant)
        dataset = self.config["datasets"][name]
        generated = "generate" in dataset
        return _in_order(
            {
                "version": versions.STATISTICS,
                "variant": variant,
                "dataset": name,
                "title": dataset["title"],
                "format": dataset["format"],
                "files": self._raw_files_by_role(variant),
                "flow": self.factor_settings(variant)["flow"],
                "published": {} if generated else dataset.get("published", {}),
                "origin": self.origin(variant),
            }
            # No key where nothing is generated: the settings of real graphs stay what they were.
            | ({"generated": True} if generated else {})
        )

    def run_settings(self, run: Run, splits: Iterable[int] | None = None) -> dict:
        """Settings of a training of some splits, or of all, by which its run file is known."""
        splits = range(self.num_splits(run.variant)) if splits is None else splits
        return _in_order(
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
                "origin": self.origin(run.variant, splits),
            }
        )

    def train_settings(self, run: Run, splits: Iterable[int] | None = None) -> dict:
        """The same, of a training that is asked for.

        Raises:
            ConfigurationError: it would fail, as its path or rank is not of its graph. Here, as a
                default of all runs must not forbid the targets that do without such a run.
        """
        settings = self.run_settings(run, splits)
        self._check_path(run, settings["hyperparameters"])
        self._check_rank(run, settings["hyperparameters"]["rank"])
        return settings

    def _generator(self, variant: str) -> dict:
        spec = self.config["variants"][variant]
        dataset = self.config["datasets"][spec["dataset"]]
        return {**dataset["generator"], **spec.get("generator", {})}

    def _dataset_name(self, variant: str) -> str:
        self._lookup("variants", variant, "variant")
        return self.config["variants"][variant]["dataset"]

    def _check_variant(self, variant: str) -> None:
        spec = self.config["variants"][variant]
        self._lookup("datasets", spec["dataset"], f"variants.{variant}")
        common = {"dataset", "factors", "flow", "rank", "hyperparameters"}
        generated = self.is_generated(variant)
        allowed = common | ({"generator"} if generated else set(_BUILD_KEYS))
        unfit = [key for key in spec if key not in allowed]
        if unfit:
            kind = "generated" if generated else "read from raw files"
            raise ConfigurationError(
                f"variants.{variant}.{unfit[0]} is {spec[unfit[0]]!r}, but dataset"
                f" {spec['dataset']} is {kind}; allowed are {', '.join(sorted(allowed))}"
            )
        if generated:
            self._check_generator(variant)
        if not generated and "undirected" not in spec:
            raise ConfigurationError(f"variants.{variant}: the key 'undirected' is missing")

    def _check_generator(self, variant: str) -> None:
        where, generator = f"variants.{variant}.generator", self._generator(variant)
        size, train = generator["cluster_size"], generator["train_per_cluster"]
        if train > size:
            raise ConfigurationError(
                f"{where}: train_per_cluster is {train}; at most cluster_size, {size}, is allowed"
            )
        left = generator["clusters"] * (size - train)
        if generator["validation"] >= left:
            raise ConfigurationError(
                f"{where}: validation is {generator['validation']}; less than {left} is allowed,"
                f" the nodes that {generator['clusters']} clusters of {size} have besides"
                f" {train} training nodes each"
            )

    def _check_path(self, run: Run, hyperparameters: Mapping) -> None:
        symmetric = self.config["variants"][run.variant].get("undirected", False)
        path = hyperparameters["path"]
        if reason := paths.obstacle(path, hyperparameters, symmetric):
            raise ConfigurationError(
                f"{_in_words(run)}: path {path!r} cannot serve this model: {reason}"
            )

    def _check_rank(self, run: Run, rank: int | float | None) -> None:
        """Counts and fractions compare with their like only: the number of nodes is not known."""
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

    def _entry(self, group: str, name: str) -> dict:
        self._lookup(group, name, group)
        return self.config[group][name]

    def _lookup(self, group: str, name: str, where: str) -> None:
        known = self.config[group]
        if name not in known:
            raise ConfigurationError(
                f"{where}: there is no {name!r} among {group}{did_you_mean(name, known)}; there are"
                f" {', '.join(known)}"
            )


def _full_name(run: Run) -> str:
    return f"{run.variant}/{run.configuration}"


def _in_words(run: Run) -> str:
    return f"variant {run.variant}, configuration {run.configuration}"


def _in_order(value):
    """Nested mappings with their keys sorted: Snakemake compares parameters as text, and the order
    of keys in a configuration file must not make anything run again."""
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return value
