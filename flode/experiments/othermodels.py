"""Models that are not FLODE: entries of ``models``, which name a class that trains on the same
graphs and splits.

Light on purpose: the Snakefile reads it, so torch is imported by the classes that are loaded.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from flode.experiments.validation import ConfigurationError, did_you_mean

#: The name of the model that needs no entry.
BUILT_IN = "flode"

#: What a model gets where its entry does not say.
INPUTS = ("x", "edge_index")


def check_models(models: Mapping[str, Mapping], variants: Iterable[str]) -> None:
    """Refuse names that a configuration's name cannot hold, files that are not there, and graphs
    that are none of ``variants``.

    Raises:
        ConfigurationError: names the entry.
    """
    for name, entry in models.items():
        if name == BUILT_IN or yaml.safe_load(name) != name:
            raise ConfigurationError(
                f"models.{name}: this name is taken, or YAML reads it as something else than text;"
                " another one is allowed"
            )
        for variant in entry.get("variants", {}):
            if variant not in variants:
                raise ConfigurationError(
                    f"models.{name}.variants: there is no {variant!r} among"
                    f" variants{did_you_mean(variant, variants)}"
                )
        code, _ = _parts(entry["class"])
        if isinstance(code, Path) and not code.is_file():
            raise ConfigurationError(
                f"models.{name}.class is {entry['class']!r}, but {code} is no file; allowed are"
                " the path of a Python file or a module, a colon, and the name of a class"
            )


def on_variant(entry: Mapping, variant: str) -> dict[str, Any]:
    """An entry with what it says of this variant over what it says of all."""
    own = entry.get("variants", {}).get(variant, {})
    merged = {
        key: {**entry.get(key, {}), **own.get(key, {})} for key in ("keywords", "hyperparameters")
    }
    return {**entry, **merged}


def model_settings(entry: Mapping) -> dict[str, Any]:
    """What a training depends on, of an entry `on_variant`, wherever the file of its class lies:
    names of file (or module) and class, the hash of the file, what class and ``forward`` are
    given."""
    code, name = _parts(entry["class"])
    in_file = isinstance(code, Path)
    return {
        "class": f"{code.name if in_file else code}:{name}",
        "sha256": hashlib.sha256(code.read_bytes()).hexdigest() if in_file else None,
        "keywords": dict(entry["keywords"]),
        "inputs": list(entry.get("inputs", INPUTS)),
    }


def load_class(where: str) -> type:
    """The class that ``class`` of an entry names.

    Args:
        where: ``package.module:Class`` or ``folder/file.py:Class``. A file's neighbours can be
            imported by it.

    Raises:
        ImportError: there is no such module, file or class; says which. What the code itself raises
            is left alone.
    """
    code, name = _parts(where)
    if isinstance(code, Path):
        sys.path.insert(0, str(code.parent.resolve()))
        spec = importlib.util.spec_from_file_location(code.stem, code)
        module = importlib.util.module_from_spec(spec)
        sys.modules[code.stem] = module  # as an import would, for what asks for its module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(code)
    found = getattr(module, name, None)
    if not isinstance(found, type):
        raise ImportError(f"{where}: there is no class {name!r} in it")
    return found


def _parts(where: str) -> tuple[str | Path, str]:
    code, _, name = where.rpartition(":")
    return (Path(code) if code.endswith(".py") else code), name
