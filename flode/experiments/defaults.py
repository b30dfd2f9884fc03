"""Configurations that say some of it: the rest from the workflow's own files.

Light on purpose: the Snakefile reads it, so nothing here imports torch.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from flode.experiments.othermodels import class_parts
from flode.experiments.validation import ConfigurationError

#: The workflow's own files in ``config/``, later ones over earlier ones.
FILES = tuple(
    f"{name}.yaml"
    for name in (
        "config", "dsbm", "datasets", "node_classification", "models", "ablation", "depth",
        "studies", "discrepancies", "reproduction", "report",
    )
)  # fmt: skip


def merged(base: Mapping, overlay: Mapping) -> dict:
    """A configuration overlaid by another, as Snakemake merges configuration files: mappings key by
    key, all else replaced. Neither is changed."""
    result = copy.deepcopy(dict(base))
    for key, value in overlay.items():
        nested = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = merged(result[key], value) if nested else copy.deepcopy(value)
    return result


def completed(config: Mapping, files: Iterable[str | Path]) -> dict:
    """A configuration over those of some YAML files, of which later ones overlay earlier ones.

    Raises:
        ConfigurationError: a file that is not there.
    """
    base: dict = {}
    for file in files:
        if not Path(file).is_file():
            raise ConfigurationError(
                f"{file} is not there; a module's snakefile must lie in a clone of this workflow"
            )
        base = merged(base, yaml.safe_load(Path(file).read_text(encoding="utf-8")))
    return merged(base, config)


def located(config: Mapping, home: Path) -> Mapping:
    """The configuration with each file or folder that it names as it is found: in the working
    directory or else in the workflow's.

    Args:
        config: the configuration, which follows its schema.
        home: the workflow's folder.

    Returns:
        The same object where all files are in the working directory, or nowhere.
    """

    def find(path: str) -> str:
        return str(home / path) if not Path(path).exists() and (home / path).exists() else path

    changes: dict = {}
    for name, entry in config["models"].items():
        code, of_class = class_parts(entry["class"])
        if isinstance(code, Path) and (found := find(str(code))) != str(code):
            changes.setdefault("models", {})[name] = {"class": f"{found}:{of_class}"}
    if config["measured"] and (measured := find(config["measured"])) != config["measured"]:
        changes["measured"] = measured
    if (manifest := find(config["data"]["manifest"])) != config["data"]["manifest"]:
        changes["data"] = {"manifest": manifest}
    for name, table in config["tables"].items():
        published = table.get("published", [])
        found = (
            [find(path) for path in published] if isinstance(published, list) else find(published)
        )
        if found != published:
            changes.setdefault("tables", {})[name] = {"published": found}
    return merged(config, changes) if changes else config
