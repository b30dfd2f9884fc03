"""The manifest: what the bytes of each raw file must be."""

from __future__ import annotations

import csv
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

#: Column → what a field of it may be; an unknown size or hash is left empty.
COLUMNS = {
    "source": ".+",
    "path": ".+",
    "bytes": "[0-9]*",
    "sha256": "([0-9a-f]{64})?",
    "git_blob_sha1": "([0-9a-f]{40})?",
}


class ManifestError(ValueError):
    """A manifest that is not one."""


@dataclass(frozen=True)
class ManifestRow:
    """What the bytes of a raw file must be; at least one of the two hashes is known.

    Attributes:
        source, path: where the file comes from.
        bytes: its size, or None.
        sha256: hexadecimal, or None.
        git_blob_sha1: SHA-1 of ``blob <bytes>\\0`` and the content, hexadecimal, or None.
    """

    source: str
    path: str
    bytes: int | None = None
    sha256: str | None = None
    git_blob_sha1: str | None = None

    def __post_init__(self):
        if not (self.sha256 or self.git_blob_sha1):
            raise ManifestError(
                f"{self.source},{self.path}: neither sha256 nor git_blob_sha1 is given"
            )

    @property
    def hash(self) -> str:
        """``sha256:`` or ``git_blob_sha1:`` and the hexadecimal digits."""
        name = "sha256" if self.sha256 else "git_blob_sha1"
        return f"{name}:{getattr(self, name)}"


def read_manifest(path: str | Path) -> dict[tuple[str, str], ManifestRow]:
    """Read a manifest: CSV with the columns of :data:`COLUMNS`.

    Returns:
        ``(source, path)`` → row.

    Raises:
        ManifestError: other columns, a row without a hash, a size or hash that is none, or a file
            listed twice. The message names the line.
    """
    rows: dict[tuple[str, str], ManifestRow] = {}
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != list(COLUMNS):
            raise ManifestError(
                f"{path}: columns are {reader.fieldnames}; allowed are {list(COLUMNS)}"
            )
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            if None in row or None in row.values():
                raise ManifestError(f"{where}: a row has {len(COLUMNS)} fields")
            for column, pattern in COLUMNS.items():
                if not re.fullmatch(pattern, row[column]):
                    raise ManifestError(
                        f"{where}: {column} is {row[column]!r}; allowed is {pattern}"
                    )
            key = row["source"], row["path"]
            if key in rows:
                raise ManifestError(f"{where}: {','.join(key)} is listed twice")
            size = int(row["bytes"]) if row["bytes"] else None
            try:
                rows[key] = ManifestRow(
                    *key, size, row["sha256"] or None, row["git_blob_sha1"] or None
                )
            except ManifestError as error:
                raise ManifestError(f"{where}: {error}") from None
    return rows


def mismatch(path: str | Path, row: ManifestRow) -> str | None:
    """What is wrong with a file's bytes, or None if they are those of the manifest.

    The SHA-256 decides; where it is not known, the git blob id does.
    """
    path = Path(path)
    size = path.stat().st_size
    name, expected = ("sha256", row.sha256) if row.sha256 else ("git blob id", row.git_blob_sha1)
    hasher = hashlib.sha256() if row.sha256 else hashlib.sha1(f"blob {size}\0".encode())
    with path.open("rb") as file:
        start = file.read(40)
        hasher.update(start)
        while chunk := file.read(1 << 20):
            hasher.update(chunk)
    if hasher.hexdigest() == expected:
        return None
    sized = "" if row.bytes is None else f"{row.bytes:,} bytes, "
    return (
        f"expected {sized}{name} {expected}; found {size:,} bytes, {name} {hasher.hexdigest()},"
        f" beginning with {start!r}"
    )
