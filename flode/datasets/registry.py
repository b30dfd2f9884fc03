"""Which raw files a dataset is made of, where they come from, and what their bytes must be.

Datasets, their variants and the sources are data (``config/datasets.yaml``); the hashes of the raw
files stand in a manifest (``config/manifest.csv``). This module imports nothing heavy, so that a
workflow can use it while it starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from flode.datasets.manifest import ManifestRow, read_manifest

#: The roles of the raw files of each format, in the order in which they are listed. A format is
#: read by the reader of the same name in :mod:`flode.datasets.readers`.
FORMATS = {
    "planetoid": ("allx", "tx", "ally", "ty", "graph", "test_index", "splits"),
    "heterophilous": ("archive",),
    "geom_gcn": ("edges", "features", "splits"),
}


class DatasetConfigError(ValueError):
    """A configuration of datasets that is not one."""


@dataclass(frozen=True)
class RawFile:
    """One raw file: its role in the dataset's format, its source and its path in that source."""

    role: str
    source: str
    path: str


@dataclass(frozen=True)
class Variant:
    """How a graph is made from a dataset; :mod:`flode.datasets.build` tells the order of steps.

    Attributes:
        dataset: name of the dataset.
        undirected: take ``A + Aᵀ``, weights summed.
        binary: then set every weight to 1.
        largest_component: keep the largest weakly connected component.
        self_loops: weight of a self-loop given to each node that has none; 0 adds none.
        unlabelled: ``exclude`` leaves nodes without a label out of every mask; ``class_0`` counts
            them as class 0, as programs do that take the arg max of an all-zero row of labels.
        normalization: of the features, see :mod:`flode.datasets.features`.
        rank: how many singular values a factorisation keeps: None for all, a number or a fraction.
    """

    dataset: str
    undirected: bool
    binary: bool = False
    largest_component: bool = False
    self_loops: float = 0
    unlabelled: str = "exclude"
    normalization: str = "none"
    rank: int | float | None = None

    @classmethod
    def from_config(cls, entry: Mapping[str, Any]) -> Variant:
        """Read an entry of ``variants``; keys of other stages, such as training, are skipped."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: entry[name] for name in names if name in entry})


@dataclass(frozen=True)
class Dataset:
    """A dataset of the configuration; made by :meth:`from_config`."""

    name: str
    title: str
    format: str
    splits: int
    metric: str
    raw_files: tuple[RawFile, ...]
    citation: str
    licence: str
    published: Mapping[str, int]
    generate: Mapping[str, Any] | None = None

    @classmethod
    def from_config(cls, name: str, entry: Mapping[str, Any]) -> Dataset:
        """Read an entry of ``datasets`` that follows the schema.

        Raises:
            DatasetConfigError: files that are not those of the format, or a pattern without
                ``{split}``.
        """
        where, roles = f"datasets.{name}", FORMATS[entry["format"]]
        for role in [*roles, *entry["files"]]:
            if role not in entry["files"] or role not in roles:
                problem = "is missing" if role in roles else "is not a file of its format"
                raise DatasetConfigError(
                    f"{where}.files.{role} {problem}; format {entry['format']} has"
                    f" {', '.join(roles)}"
                )
        same = ("title", "format", "splits", "metric", "citation", "licence")
        return cls(
            name=name,
            raw_files=tuple(_raw_files(where, entry, roles)),
            published=dict(entry.get("published", {})),
            generate=entry.get("generate"),
            **{key: entry[key] for key in same},
        )

    def local_files(self, root: str | Path) -> dict[str, Path | list[Path]]:
        """Role → ``root/<source>/<path>``; a list, split by split, for the role ``splits``."""
        paths: dict[str, list[Path]] = {}
        for file in self.raw_files:
            paths.setdefault(file.role, []).append(Path(root) / file.source / file.path)
        return {role: found if role == "splits" else found[0] for role, found in paths.items()}


@dataclass(frozen=True)
class Registry:
    """Sources, datasets, variants and manifest of a configuration, checked against each other.

    Attributes:
        sources: name → base address.
        datasets, variants: by name.
        manifest: ``(source, path)`` → row.
    """

    sources: Mapping[str, str]
    datasets: Mapping[str, Dataset]
    variants: Mapping[str, Variant]
    manifest: Mapping[tuple[str, str], ManifestRow]

    @classmethod
    def from_config(cls, config: Mapping[str, Any], manifest: str | Path) -> Registry:
        """Read ``sources``, ``datasets`` and ``variants`` of a configuration; skip other keys.

        Args:
            config: the configuration, which follows its schema. Datasets of other formats, which
                are generated, and their variants are skipped.
            manifest: path of the manifest.

        Raises:
            DatasetConfigError: a source or a dataset that is not defined, files that do not fit the
                format, or a file that the manifest lacks and that is not generated. The message
                names the entry, the value found and what is allowed.
            ManifestError: see :func:`flode.datasets.manifest.read_manifest`.
        """
        datasets = {
            name: Dataset.from_config(name, entry)
            for name, entry in config["datasets"].items()
            if entry["format"] in FORMATS
        }
        for name, entry in config["variants"].items():
            if entry["dataset"] not in config["datasets"]:
                raise DatasetConfigError(
                    f"variants.{name}.dataset is {entry['dataset']!r}; datasets are"
                    f" {', '.join(map(repr, config['datasets']))}"
                )
        registry = cls(
            sources=dict(config["sources"]),
            datasets=datasets,
            variants={
                name: Variant.from_config(entry)
                for name, entry in config["variants"].items()
                if entry["dataset"] in datasets
            },
            manifest=read_manifest(manifest),
        )
        for name, dataset in datasets.items():
            for file in dataset.raw_files:
                where = f"datasets.{name}: {file.role}"
                if file.source not in registry.sources:
                    raise DatasetConfigError(
                        f"{where} comes from {file.source!r}; sources are"
                        f" {', '.join(map(repr, registry.sources))}"
                    )
                listed = (file.source, file.path) in registry.manifest
                if dataset.generate is None and not listed:
                    raise DatasetConfigError(
                        f"{where} is {file.source},{file.path}, which {manifest} does not list;"
                        " add a row with its sha256 or git_blob_sha1"
                    )
        return registry

    def raw_files(self, dataset: str) -> tuple[RawFile, ...]:
        """The raw files of a dataset; the splits in their order."""
        return self.datasets[dataset].raw_files

    def manifest_row(self, file: RawFile) -> ManifestRow:
        """What the bytes of a raw file must be."""
        return self.manifest[file.source, file.path]


def _raw_files(where: str, entry: Mapping, roles: tuple[str, ...]) -> Iterator[RawFile]:
    for role in roles:
        source, path = entry["source"], entry["files"][role]
        if isinstance(path, Mapping):
            source, path = path["source"], path["path"]
        if role != "splits":
            yield RawFile(role, source, path)
            continue
        if "{split}" not in path:
            raise DatasetConfigError(
                f"{where}.files.splits is {path!r}; it must hold {{split}}, the split's number"
            )
        for split in range(entry["splits"]):
            yield RawFile(role, source, path.replace("{split}", str(split)))
