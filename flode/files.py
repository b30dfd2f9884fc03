"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; what is written there becomes ``path`` on success.

    Missing parent folders are made. The temporary name keeps the suffix of ``path``, since writers
    such as ``numpy.save`` and ``Figure.savefig`` choose the format by it, and is unique, so that
    two processes may write the same file: the last to finish wins, and no mixture is ever seen.

    Raises:
        FileNotFoundError: the block wrote nothing.
        BaseException: whatever the block raised; the temporary file is removed then, and a file
            that already stood at ``path`` is untouched.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unique = f"{os.getpid()}-{secrets.token_hex(4)}"
    temporary = path.with_name(f".{path.stem}.{unique}.tmp{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text_atomic(path: str | Path, text: str) -> None:
    """Write ``text`` to ``path`` as UTF-8 with ``\\n`` line ends, whole or not at all."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def naming_damage(path: str | Path, what: str) -> Iterator[None]:
    """Turn whatever reading a file raises into one error that names it.

    Args:
        path: the file.
        what: what it is if it is not damaged, as in "no graph file".

    Raises:
        FileNotFoundError: as it came.
        ValueError: for any other exception; its own words are in the message.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as error:  # zlib, zipfile, numpy and safetensors each raise their own
        raise ValueError(
            f"{path}: damaged, or {what} ({error}); delete it to have it made again"
        ) from error
