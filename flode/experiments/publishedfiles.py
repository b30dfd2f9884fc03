"""Files of published numbers as far as the configuration is checked against them: which cells they
have. `flode.reporting.published` reads the numbers.

Light on purpose, as the catalogue's checks are.
"""

from __future__ import annotations

import csv
from pathlib import Path


def published_lines(file: str | Path) -> list[dict[str, str]] | None:
    """The lines of a file by its columns; None where there is no file, which is the workflow's to
    tell of."""
    if not Path(file).is_file():
        return None
    with Path(file).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
