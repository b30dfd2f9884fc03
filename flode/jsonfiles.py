"""JSON files that the workflow wrote, checked key by key."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def read_json(path: str | Path) -> dict[str, Any]:
    """The JSON object of a file.

    Raises:
        ValueError: the file cannot be read or holds something else; names it.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{path}: is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path}: holds a {type(content).__name__}; allowed: a JSON object")
    return content


def require(
    content: Mapping[str, Any],
    key: str,
    kind: type | tuple[type, ...],
    where: str,
    accept: Callable[[Any], bool] = lambda value: True,
    allowed: str | None = None,
) -> None:
    """Refuse a JSON object without this key, or with a value of another type or out of bounds.

    Raises:
        ValueError: names ``where``, the key, its value and what is allowed.
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    allowed = allowed or f"a value of type {' or '.join(k.__name__ for k in kinds)}"
    if key not in content:
        raise ValueError(f"{where}: key {key!r} is missing; allowed: {allowed}")
    value = content[key]
    # JSON's true is a Python int, but no number here.
    misplaced_bool = isinstance(value, bool) and bool not in kinds
    if not isinstance(value, kinds) or misplaced_bool or not accept(value):
        raise ValueError(f"{where}: {key} is {value!r}; allowed: {allowed}")
