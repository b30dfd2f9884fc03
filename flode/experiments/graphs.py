"""Graphs of the variants: their raw files, and the settings of the stages before training.

Light on purpose: the Snakefile reads it, so nothing here imports torch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from flode import versions
from flode.datasets.manifest import ManifestRow
from flode.datasets.registry import FORMATS, Dataset, Registry, Variant
from flode.experiments.inheritance import completed_variants
from flode.experiments.validation import ConfigurationError, did_you_mean

#: Keys of a variant that say how its graph is built from raw files.
_BUILD_KEYS = tuple(
    field.name for field in dataclasses.fields(Variant) if field.name not in ("dataset", "rank")
)


class Graphs:
    """Graphs to train on: their raw files, and the settings of each stage that makes them.

    Args:
        config: the merged configuration, which follows its schema.

    Raises:
        ConfigurationError: a value or a reference that is not allowed.
    """

    def __init__(self, config: Mapping):
        self.config = {**config, "variants": completed_variants(config["variants"])}
        for variant in self.variants:
            self._check_variant(variant)
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
    def variants(self) -> list[str]:
        return list(self.config["variants"])

    @property
    def manifest(self) -> Mapping[tuple[str, str], ManifestRow]:
        """What the bytes of each raw file, ``(source, path)``, must be."""
        return self._registry.manifest

    def num_graphs(self, variant: str) -> int:
        """How many graphs a variant has; with several, split k is graph k's own split."""
        return self._generator(variant)["graphs"] if self.is_generated(variant) else 1

    def num_splits(self, variant: str) -> int:
        if self.is_generated(variant):
            return self.num_graphs(variant)
        return self._registry.datasets[self._dataset_name(variant)].splits

    def most_nodes(self, variant: str) -> int | None:
        """Nodes of a variant's graphs, or of the raw graph of which it may be a component; None
        where the configuration does not say."""
        dataset = self.config["datasets"][self._dataset_name(variant)]
        drawn = dataset.get("generate")
        if self.is_generated(variant):
            drawn = self._generator(variant)
        if drawn is not None:
            return drawn["clusters"] * drawn["cluster_size"]
        return dataset.get("published", {}).get("nodes")

    def is_generated(self, variant: str) -> bool:
        """Whether a variant's graphs are drawn from a model, not read from raw files."""
        return self.config["datasets"][self._dataset_name(variant)]["format"] not in FORMATS

    def threads(self, variant: str) -> int:
        """CPU threads of a job on a variant."""
        return self.config["threads" if self.is_generated(variant) else "threads_large"]

    def memory(self, variant: str) -> int:
        """MiB that a job on a variant asks a cluster for: more than was seen."""
        if self.is_generated(variant):
            return 2000
        return self.config["datasets"][self._dataset_name(variant)].get("memory", 20000)

    # Raw files

    def raw_files(self, variant: str) -> list[str]:
        """Raw files that a variant is built from; none where it is generated."""
        files = self._raw_files_by_role(variant).values()
        return [path for found in files for path in ([found] if isinstance(found, str) else found)]

    @property
    def generated_raw_folder(self) -> str:
        """Where generated raw files are kept."""
        return f"{self.results}/generated"

    def generated_raw_files(self) -> list[str]:
        """The raw files that are generated, each once."""
        return list(
            dict.fromkeys(
                f"{self.generated_raw_folder}/{file.source}/{file.path}"
                for name in self.generated_raw_settings()
                for file in self._registry.raw_files(name)
            )
        )

    # What each stage depends on

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

    def expected_bytes(self, variant: str) -> dict[str, dict]:
        """What the manifest says of each raw file of a variant, by where it lies; of generated ones
        nothing."""
        if self.is_generated(variant):
            return {}
        dataset = self._registry.datasets[self._dataset_name(variant)]
        if dataset.generate is not None:
            return {}
        folder = self.config["data"]["folder"]
        return {
            f"{folder}/{file.source}/{file.path}": self.download_settings(file.source, file.path)[
                "row"
            ]
            for file in dataset.raw_files
        }

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

    def graph_settings(self, variant: str) -> dict:
        """Settings of the graph stage: a change of any reruns it."""
        dataset = self.config["datasets"][self._dataset_name(variant)]
        common = {"version": versions.GRAPH, "format": dataset["format"]}
        if self.is_generated(variant):
            drawn = {"seed": self.config["seed"], "generator": self._generator(variant)}
            return in_order(common | drawn)
        build = dataclasses.asdict(self._registry.variants[variant])
        del build["rank"]  # the factorisation's
        files = self._raw_files_by_role(variant)
        return in_order(common | {"metric": dataset["metric"], "files": files, "build": build})

    def factor_settings(self, variant: str) -> dict:
        """Settings of the factorisation stage."""
        spec = self.config["variants"][variant]
        factors = {**self.config["factors"], **spec.get("factors", {})}
        return in_order(
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

    def statistics_settings(self, variant: str) -> dict:
        """Settings of the statistics of a variant's (first) graph."""
        name = self._dataset_name(variant)
        dataset = self.config["datasets"][name]
        generated = "generate" in dataset
        return in_order(
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

    def _entry(self, group: str, name: str) -> dict:
        self._lookup(group, name, group)
        return self.config[group][name]

    def _lookup(self, group: str, name: str, where: str) -> None:
        known = self.config[group]
        if name not in known:
            raise ConfigurationError(
                f"{where}: there is no {name!r} among {group}{did_you_mean(name, known)}; there are"
                f" {', '.join(map(repr, known))}"
            )


def in_order(value):
    """Nested mappings with their keys sorted: Snakemake compares parameters as text, and the order
    of keys in a configuration file must not make anything run again."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return value
