"""Models that are not FLODE: entries of ``models``, which name a class that trains on the same
graphs and splits.

Light on purpose: the Snakefile reads it, so torch is imported by the classes that are loaded.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

import yaml

from flode.experiments.validation import ConfigurationError, did_you_mean

#: The name of the model that needs no entry.
BUILT_IN = "flode"

#: Where installed packages are, and Python's own.
_INSTALLED = ("purelib", "platlib", "stdlib")

#: What a model gets where its entry does not say.
INPUTS = ("x", "edge_index")


def check_models(models: Mapping[str, Mapping], variants: Iterable[str]) -> None:
    """Refuse names that a configuration's name cannot hold, files that are not there, and graphs
    that are none of ``variants``.

    Raises:
        ConfigurationError: names the entry.
    """
    for name, entry in models.items():
        if name.lower() == BUILT_IN or yaml.safe_load(name) != name:
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
        code, _ = class_parts(entry["class"])
        if isinstance(code, Path) and not code.is_file():
            raise ConfigurationError(
                f"models.{name}.class is {entry['class']!r}, but {code} is no file in"
                f" {Path().resolve()}, nor in the workflow's folder; allowed are the path of a"
                " Python file or a module, a colon, and the name of a class"
            )
        if file := own_file(entry["class"]):
            _check_code(file, entry["class"], f"models.{name}.class")


def _check_code(file: Path, where: str, key: str) -> None:
    """Refuse a file that does not have the class of its entry, without importing it: else that is
    told only once graphs are built."""
    _, wanted = class_parts(where)
    try:
        known = _names(ast.parse(file.read_bytes()).body)
    except (SyntaxError, ValueError) as error:
        raise ConfigurationError(f"{key} is {where!r}, but {file} is no Python: {error}") from error
    if known.isdisjoint({wanted, "*", "__getattr__"}):
        raise ConfigurationError(
            f"{key} is {where!r}, but {file} has no {wanted!r}{did_you_mean(wanted, known)};"
            " allowed is a class that it defines or imports"
        )


def _names(body: Iterable[ast.stmt]) -> set[str]:
    """Names that statements of a module give to it; ``*`` where they import all of another."""
    found: set[str] = set()
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found.add(node.name)
            continue
        for inside in ast.walk(node):
            if isinstance(inside, (ast.ClassDef, ast.FunctionDef)):
                found.add(inside.name)
            elif isinstance(inside, ast.alias):
                found.add(inside.asname or inside.name.partition(".")[0])
            elif isinstance(inside, ast.Name) and isinstance(inside.ctx, ast.Store):
                found.add(inside.id)
    return found


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
    code, name = class_parts(entry["class"])
    file = own_file(entry["class"])
    return {
        "class": f"{code.name if isinstance(code, Path) else code}:{name}",
        "sha256": None if file is None else hashlib.sha256(file.read_bytes()).hexdigest(),
        "keywords": dict(entry["keywords"]),
        "inputs": list(entry.get("inputs", INPUTS)),
    }


def own_file(where: str) -> Path | None:
    """The file that a class is in, where it is no installed package's: of those a version tells.

    Args:
        where: see `load_class`. Nothing is imported.
    """
    code, _ = class_parts(where)
    if isinstance(code, Path):
        return code
    top, *below = code.split(".")
    folders = [Path(), *(Path(entry) for entry in sys.path if "site-packages" not in entry)]
    stem = next((Path(folder, top, *below) for folder in folders if _is_module(folder, top)), None)
    if stem is None or _installed(stem):
        return None
    return next(filter(Path.is_file, (stem.with_suffix(".py"), stem / "__init__.py")), None)


def _is_module(folder: Path, name: str) -> bool:
    return (folder / name / "__init__.py").is_file() or (folder / f"{name}.py").is_file()


def _installed(path: Path) -> bool:
    return any(path.resolve().is_relative_to(base) for base in map(sysconfig.get_path, _INSTALLED))


def load_class(where: str) -> type:
    """The class that ``class`` of an entry names.

    Args:
        where: ``package.module:Class``, also of a package in the working directory, or
            ``folder/file.py:Class``. A file can import its neighbours, whose names must not be
            those of installed packages.

    Raises:
        ImportError: there is no such module, file or class; says which. What the code itself raises
            is left alone.
    """
    code, name = class_parts(where)
    if isinstance(code, Path):
        sys.path.append(str(code.parent.resolve()))  # last: it hides no installed package
        spec = importlib.util.spec_from_file_location(f"flode_model_{code.stem}", code)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # as an import would, for what asks for its module
        spec.loader.exec_module(module)
    else:
        sys.path.append(str(Path().resolve()))
        module = importlib.import_module(code)
    found = getattr(module, name, None)
    if not isinstance(found, type):
        raise ImportError(f"{where}: there is no class {name!r} in it")
    return found


def package_versions(where: str) -> dict[str, str]:
    """Versions of PyTorch Geometric and of the package that a class is of, where it is another."""
    code, _ = class_parts(where)
    names = ["torch-geometric"]
    if not isinstance(code, Path):
        names += packages_distributions().get(code.split(".")[0], [])
    return {name: version(name) for name in dict.fromkeys(names)}


def class_parts(where: str) -> tuple[str | Path, str]:
    """Of ``class`` of an entry, the file or the name of the module, and the name of the class."""
    code, _, name = where.rpartition(":")
    return (Path(code) if code.endswith(".py") else code), name
