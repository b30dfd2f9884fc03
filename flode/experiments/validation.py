"""Validation of the configuration, with messages a person can act on."""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.jsonschema import DRAFT202012

#: The fast one, where PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ConfigurationError(ValueError):
    """The configuration is not as it must be; the message names key, value and what is allowed."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`` (did you mean '…'?)``, of the name that is nearest, or of those that begin as a name which
    stops too early; nothing where none is near."""
    close = difflib.get_close_matches(name, list(known), n=3)
    meant = [one for one in close if one.startswith(name)] or close[:1]
    return f" (did you mean {' or '.join(map(repr, meant))}?)" if meant else ""


def as_yaml(value):
    """A value of the command line as YAML reads it from a file: Snakemake leaves the values inside
    ``--config key='{...}'`` as text, ``1`` as ``"1"``."""
    if isinstance(value, Mapping):
        return {key: as_yaml(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [as_yaml(entry) for entry in value]
    if not isinstance(value, str):
        return value
    loader = yaml.SafeLoader("")
    tag = loader.resolve(yaml.ScalarNode, value, (True, False))
    return loader.construct_object(yaml.ScalarNode(tag, value))


def check_keys(files: Iterable[str | Path]) -> None:
    """Refuse a key that a mapping of a configuration file has twice: YAML takes the last of them,
    in silence.

    Raises:
        ConfigurationError: the file, the key and both lines.
    """
    for file in files:
        with open(file, encoding="utf-8") as stream:
            for first, second in _given_twice(yaml.compose(stream, Loader=_LOADER)):
                raise ConfigurationError(
                    f"{file}: the key {second.value!r} is given in line {first.start_mark.line + 1}"
                    f" and in line {second.start_mark.line + 1}; once is allowed"
                )


def _given_twice(node: yaml.Node | None) -> Iterable[tuple[yaml.Node, yaml.Node]]:
    inside: list = []
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, yaml.Node] = {}
        for key, value in node.value:
            inside.append(value)
            if isinstance(key, yaml.ScalarNode) and seen.setdefault(key.value, key) is not key:
                yield seen[key.value], key
    elif isinstance(node, yaml.SequenceNode):
        inside = node.value
    for value in inside:
        yield from _given_twice(value)


#: JSON Schema's integers include 4.0, which nothing after it takes for one.
_Validator = validators.extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: type(value) is int
    ),
)


@functools.cache
def _schemas_in(folder: Path) -> Registry:
    """The schemas of a folder, by their files' names."""
    resources = []
    for file in sorted(folder.glob("*.schema.yaml")):
        schema = yaml.load(file.read_text(encoding="utf-8"), Loader=_LOADER)
        schema.pop("$schema")  # whose own validator would take the place of this one
        resources.append((file.name, DRAFT202012.create_resource(schema)))
    return Registry().with_resources(resources)


class Schema:
    """A JSON schema in YAML, with references to its neighbours by file name.

    Args:
        path: the schema file.
    """

    def __init__(self, path: str | Path):
        path = Path(path)
        self._validator = _Validator({"$ref": path.name}, registry=_schemas_in(path.parent))

    def check(self, value, where: str = "configuration") -> None:
        """Refuse a value that does not fit.

        Raises:
            ConfigurationError: listing every fault, one a line.
        """
        faults = sorted(
            {
                *_messages(self._validator.iter_errors(value), where),
                *_not_for_json(value, where),
            }
        )
        if faults:
            raise ConfigurationError("\n".join(faults))


#: Keys whose values are named entries, which an overlay removes by setting them to null.
_ENTRIES = (
    *("datasets", "sources", "variants", "searches", "studies", "tables", "figures"),
    *("candidates", "claims", "columns", "graphs", "models", "panels", "rows", "series"),
    "subtables",
)


@contextmanager
def naming_removed(config: Mapping) -> Iterator[None]:
    """Where a name is not there since an overlay removes it, say so.

    Args:
        config: the merged configuration, where removed entries are null.
    """
    try:
        yield
    except ConfigurationError as error:
        complaint = str(error).partition(";")[0]  # what is allowed comes after it
        for path in _removed(config):
            if repr(path[-1]) in complaint:
                raise ConfigurationError(
                    f"{'.'.join(map(str, path))} is null, which removes it, but something names it"
                    f" still: {error}"
                ) from error
        raise


#: A key whose value is a model's, not the configuration's.
_OPAQUE = "keywords"


def without_removed(value, named: bool = False):
    """A configuration without the named entries that are null; other nulls are values."""
    if isinstance(value, Mapping):
        return {
            key: entry if key == _OPAQUE else without_removed(entry, key in _ENTRIES)
            for key, entry in value.items()
            if not (named and entry is None)
        }
    return value


def check_removed(config: Mapping, files: Iterable[str | Path]) -> None:
    """Refuse the removal of a named entry that no configuration file has: its name is misspelt.

    Args:
        config: the merged configuration, where removed entries are null.
        files: configuration files.

    Raises:
        ConfigurationError: naming the entry.
    """
    removed = list(_removed(config))
    if not removed:  # then no file need be read
        return
    given = [
        yaml.load(Path(file).read_text(encoding="utf-8"), Loader=_LOADER) or {} for file in files
    ]
    for *above, name in removed:
        known = {
            key for one in given for key, entry in _entry(one, above).items() if entry is not None
        }
        if name not in known:
            raise ConfigurationError(
                f"configuration: {'.'.join(above)}.{name} is null, which removes an entry, but"
                f" there is none of this name{did_you_mean(str(name), map(str, known))}"
            )


def _removed(value, named: bool = False) -> Iterable[list]:
    """Paths of the entries that `without_removed` leaves out."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            if named and entry is None:
                yield [key]
            for path in _removed(entry, key in _ENTRIES) if key != _OPAQUE else ():
                yield [key, *path]


def _entry(config, path: Iterable) -> Mapping:
    """A configuration's mapping at this place, empty where it has none."""
    for key in path:
        config = config.get(key) if isinstance(config, Mapping) else None
    return config if isinstance(config, Mapping) else {}


def _not_for_json(value, where: str, key: str = "") -> Iterable[str]:
    """What YAML has and JSON Schema lets pass: keys that are no text, as an unquoted 0.10 is the
    number 0.1; NaN and infinities."""
    inside: Iterable = ()
    if isinstance(value, dict):
        inside = value.items()
        for name in value:
            if not isinstance(name, str):
                yield f"{where}: {key or 'a key'} has the key {name!r}; allowed is text, in quotes"
    elif isinstance(value, list):
        inside = enumerate(value)
    elif not isinstance(value, (str, bool, int, float, type(None))):
        yield f"{where}: {key} is {value}, a {type(value).__name__}; allowed is text, in quotes"
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{where}: {key} is {value!r}; a finite number is allowed"
    for name, entry in inside:
        yield from _not_for_json(entry, where, f"{key}.{name}" if key else str(name))


def _messages(errors: Iterable[ValidationError], where: str) -> Iterable[str]:
    return (_message(error, where) for error in errors)


def _message(error: ValidationError, where: str) -> str:
    key = ".".join(str(part) for part in error.absolute_path)
    place = f"{where}: {key}" if key else where
    schema, value = error.schema, error.instance
    if error.validator == "additionalProperties" and isinstance(schema, dict):
        known = list(schema.get("properties", {}))
        unknown = [name for name in value if name not in known]
        return (
            f"{place}: unknown key {unknown[0]!r}{did_you_mean(str(unknown[0]), known)}, value"
            f" {value[unknown[0]]!r}; allowed are {', '.join(known)}"
        )
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in value]
        return f"{place}: the key {missing[0]!r} is missing"
    if "propertyNames" in error.absolute_schema_path and error.validator == "enum":
        return f"{place}: the key {value!r} is not allowed here; {_allowed(error)}"
    return f"{place} is {value!r}; {_allowed(error)}"


def _allowed(error: ValidationError) -> str:
    """What would have been accepted, from the validator that refused."""
    bound = error.validator_value
    match error.validator:
        case "minimum":
            return f"at least {bound} is allowed"
        case "maximum":
            return f"at most {bound} is allowed"
        case "exclusiveMinimum":
            return f"more than {bound} is allowed"
        case "exclusiveMaximum":
            return f"less than {bound} is allowed"
        case "minProperties":
            return f"at least {bound} {'entry is' if bound == 1 else 'entries are'} needed"
        case "minItems":
            return f"at least {bound} items are needed"
        case "pattern" if "$comment" in error.schema:
            return f"allowed is {error.schema['$comment']}"
        case "pattern":
            return f"it must match the pattern {bound}"
        case "type" if "number" in bound and _is_number(error.instance):
            return "allowed is a number: YAML reads this as text, write it with a point, as 1.0e-3"
        case "type":
            kinds = [bound] if isinstance(bound, str) else bound
            return f"allowed is a value of type {' or '.join(kinds)}"
        case "enum":
            return f"allowed are {', '.join(map(str, bound))}"
        case "not":
            return "the key is not allowed here"
        case "anyOf" | "oneOf":
            return "allowed is " + ", or ".join(_describe(option) for option in bound)
        case _:
            return error.message


def _is_number(value) -> bool:
    try:
        return isinstance(value, str) and math.isfinite(float(value))
    except ValueError:
        return False


def _describe(option: dict) -> str:
    if "const" in option:
        return repr(option["const"])
    if "enum" in option:
        return f"one of {', '.join(map(str, option['enum']))}"
    if "required" in option:
        return f"an entry with the key {' and '.join(map(repr, option['required']))}"
    text = f"a value of type {option.get('type', 'any')}"
    bounds = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    limits = [f"{word} {option[key]}" for key, word in bounds.items() if key in option]
    return f"{text} ({' and '.join(limits)})" if limits else text
