"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: What to do about a damaged file that a job wrote.
MADE_AGAIN = "delete it to have it made again"


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; what is written there becomes ``path`` on success.

    Missing parent folders are made. The temporary name keeps the suffix of ``path``, since writers
    such as ``numpy.save`` and ``Figure.savefig`` choose the format by it, and is unique, so that
    two processes may write the same file: the last to finish wins, and no mixture is ever seen.

    Raises:
        FileNotFoundError: the block wrote nothing.
        OSError: the file cannot be written, and why: a full disk, a folder that is read-only. It
            names ``path``, and stands in for what writers that know no ``OSError`` raise then.
        BaseException: whatever else the block raised; the temporary file is removed then, and a
            file that already stood at ``path`` is untouched.
    """
    path = Path(path)
    unique = f"{os.getpid()}-{secrets.token_hex(4)}"
    temporary = path.with_name(f".{path.stem}.{unique}.tmp{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, path)
    except Exception as error:
        obstacle = _obstacle(error, temporary)
        if obstacle is None:
            raise
        raise type(obstacle)(obstacle.errno, os.strerror(obstacle.errno), str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def _obstacle(error: Exception, temporary: Path) -> OSError | None:
    """What keeps a file from being written, if that is the cause of an error."""
    if isinstance(error, OSError) and error.errno:
        # One that names another file is about that file.
        about = error.filename is None or Path(error.filename) == temporary
        return error if about else None
    if number := re.search(r"\(os error (\d+)\)", str(error)):  # safetensors, written in Rust
        return OSError(int(number[1]), "")
    try:  # numpy and torch raise errors of their own: ask the disk
        with temporary.open("ab") as file:
            file.write(bytes(1 << 16))
    except OSError as found:
        return found
    return None


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
        raise ValueError(f"{path}: damaged, or {what} ({error}); {MADE_AGAIN}") from error
