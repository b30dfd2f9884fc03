"""JSON files that the workflow wrote, checked key by key."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flode.files import MADE_AGAIN

#: What to do about a damaged file that no job makes.
RESTORE = "restore it, from version control for example, or leave it out"


def read_json(path: str | Path, remedy: str | None = None) -> dict[str, Any]:
    """The JSON object of a file.

    Args:
        path: the file.
        remedy: what to do about a damaged file, see `naming_remedy`.

    Raises:
        ValueError: the file cannot be read or holds something else; names it.
    """
    try:
        found = Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from error
    with naming_remedy(path, remedy):
        try:
            content = json.loads(found.decode("utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: is damaged: it is not JSON ({error})") from error
        if not isinstance(content, dict):
            raise ValueError(f"{path}: holds a {type(content).__name__}; allowed: a JSON object")
    return content


@contextmanager
def naming_remedy(path: str | Path, remedy: str | None = None) -> Iterator[None]:
    """Add what to do about a file to the ``ValueError`` that its content raises.

    Args:
        path: the file.
        remedy: None where the path tells: what lies where the workflow writes is made again, what
            was collected from elsewhere is not.
    """
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{error}; {remedy or _remedy(Path(path).absolute())}") from error


def _remedy(path: Path) -> str:
    """Of ``runs/<variant>/<configuration>/splits-<first>-<last>.json`` and
    ``statistics/<variant>.json``, which the workflow writes, and of others."""
    is_own = path.parts[-4:-3] == ("runs",) or path.parts[-2:-1] == ("statistics",)
    return MADE_AGAIN if is_own else RESTORE


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
