"""Checks of what the paper's text says, one for each value of what they are asked of.

Light on purpose: the Snakefile reads it, so nothing here imports torch.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Mapping
from typing import Any

from flode.experiments.validation import ConfigurationError, did_you_mean

#: Of a check, names and the values that each has in turn.
FOR_EACH = "for_each"


def repeated(check: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    """A check once for each combination of the values under ``for_each``.

    ``{name}`` in a text stands for the value of this name; a text that is nothing else becomes the
    value itself, a number as it may be.

    Args:
        check: ``{operator: [left, right]}``, and what it is repeated for, if it is.
        where: names the check in an error.

    Raises:
        ConfigurationError: a name in a text that is not under ``for_each``, or one there that no
            text has.
    """
    each = check.get(FOR_EACH, {})
    plain = {key: value for key, value in check.items() if key != FOR_EACH}
    if unused := set(each) - set(_names(plain, where)):
        raise ConfigurationError(
            f"{where}: {FOR_EACH} has {min(unused)!r}, which no text of the check has in braces"
        )
    points = itertools.product(*each.values())
    return [_filled(plain, dict(zip(each, point, strict=True)), where) for point in points]


def _names(value, where: str) -> list[str]:
    """Names in braces in the texts of a value."""
    if isinstance(value, str):
        try:
            return [name for _, name, _, _ in string.Formatter().parse(value) if name is not None]
        except ValueError as error:
            raise ConfigurationError(
                f"{where}: {value!r} has braces that do not pair ({error})"
            ) from error
    inside = value.values() if isinstance(value, Mapping) else value
    parts = inside if isinstance(value, (Mapping, list)) else ()
    return [name for part in parts for name in _names(part, where)]


def _filled(value, point: Mapping[str, Any], where: str):
    if isinstance(value, Mapping):
        return {key: _filled(part, point, where) for key, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, point, where) for part in value]
    names = _names(value, where)
    if unknown := [name for name in names if name not in point]:
        raise ConfigurationError(
            f"{where}: {value!r} has {{{unknown[0]}}}, which is not under {FOR_EACH}"
            f"{did_you_mean(unknown[0], point)}"
        )
    if names and value == f"{{{names[0]}}}":
        return point[names[0]]
    return value.format(**point) if names else value
