"""What the report says of each of its tables, searches and figures, from the configuration alone.

Light on purpose: the Snakefile's rules call it, so nothing here imports torch or pandas.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flode.experiments.catalogue import Catalogue

#: Kinds of table, and names of tables, that judge the paper; in the report they stand together.
VERDICT_TABLES = ("reproduction", "claims", "discrepancies")

#: What the report calls its groups of items.
VERDICTS, TABLES, FIGURES, SEARCHES = "Verdicts", "Tables", "Figures", "Searches"

_LETTERS = {
    r"\alpha": "α", r"\beta": "β", r"\lambda": "λ", r"\sigma": "σ", r"\ast": "*", r"\pm": "±",
    r"\cdot": "·", r"\times": "×", r"\leq": "≤", r"\geq": "≥", r"\enspace": " ", r"\quad": " ",
    r"\,": " ", r"\%": "%", r"\&": "&", r"\_": "_", r"\#": "#", "~": " ", "--": "–",
}  # fmt: skip


def plain_text(latex: str) -> str:
    r"""A caption or label (LaTeX) as plain text: ``$\alpha^{\ast}$`` is α*.

    Letters and marks of the configuration's captions are known; of another command the name is
    dropped and what is in its braces kept.
    """
    text = latex
    for command, letter in _LETTERS.items():
        ends = r"(?![A-Za-z])" if command[-1].isalpha() else ""
        text = re.sub(re.escape(command) + ends, letter, text)
    text = re.sub(r"\\[A-Za-z]+\s*", "", text)
    text = re.sub(r"\^\{?\*\}?", "*", text)
    return re.sub(r"[ \t\n]+", " ", re.sub(r"[\\${}]", "", text)).strip()


def rst_escape(text: str) -> str:
    """``text`` as reStructuredText that prints it, in a file that Jinja reads before docutils."""
    # Jinja's marks of two characters are parted.
    return re.sub(r"[\\`*_|{}<>]|(?<={)[%#]", r"\\\g<0>", " ".join(text.split()))


def readable(name: str) -> str:
    """A key of the configuration as a title."""
    return name.replace("_", " ")


def table_title(layouts: Mapping[str, Any], table: str) -> str:
    """What a reader calls a table (``Catalogue.layouts``), as plain text."""
    return plain_text(layouts.get(table, {}).get("title") or "") or readable(table)


def category(catalogue: Catalogue, table: str) -> str:
    """Where the report shows a table."""
    kind = catalogue.config["tables"][table]["kind"]
    return VERDICTS if {kind, table} & set(VERDICT_TABLES) else TABLES


def table_caption(catalogue: Catalogue, table: str) -> dict:
    """What a table shows, where the paper has it and what it rests on, as plain text.

    Returns:
        ``title``, ``place`` (may be empty), ``rests_on`` and ``quick``; see `rst_caption`.
    """
    spec = catalogue.config["tables"][table]
    files = catalogue.table_files(table)
    rests = _rests_on(files)
    if any("runs" in PurePosixPath(file).parts for file in files):
        rests += " The column runs of its CSV file names the files number by number."
    return _caption(catalogue, plain_text(spec["caption"]), spec.get("place", ""), rests)


def figure_caption(catalogue: Catalogue, figure: str) -> dict:
    """What a figure shows, likewise."""
    spec = catalogue.config["figures"][figure]
    if "table" in spec:
        rests = f"Drawn from the table {spec['table']}, which rests on its runs."
    else:
        inputs = catalogue.study_inputs(spec["study"])
        files = [*inputs["runs"], *inputs["graphs"]]
        rests = _rests_on(files) if files else "Computed without a run, on graphs given by hand."
    title = plain_text(spec.get("caption", "")) or f"Figure {readable(figure)}."
    return _caption(catalogue, title, spec.get("place", ""), rests)


def search_caption(catalogue: Catalogue, search: str) -> dict:
    """What a search chose from, likewise."""
    files = catalogue.files_of(catalogue.searched_runs(search))
    variants = ", ".join(catalogue.search_runs(search))
    title = (
        f"Search {readable(search)}: the candidates for {variants}. The best mean "
        "validation metric is chosen; test metrics stand beside and have no part in it."
    )
    return _caption(catalogue, title, "", _rests_on(files))


def rst_caption(caption: dict) -> dict:
    """A caption as reStructuredText."""
    return {
        key: rst_escape(value) if isinstance(value, str) else value
        for key, value in caption.items()
    }


def _caption(catalogue: Catalogue, title: str, place: str, rests_on: str) -> dict:
    quick = bool(catalogue.config["quick"])
    return {"title": title, "place": place, "rests_on": rests_on, "quick": quick}


def _rests_on(files: Iterable[str]) -> str:
    """``Rests on what there is of 12 runs of 3 variants (cora, ...) and the tables dsbm.``"""
    by_folder: dict[str, dict[str, None]] = {}
    runs = 0
    for file in map(PurePosixPath, files):
        if "runs" in file.parts:
            runs += 1
            by_folder.setdefault("runs", {})[file.parts[file.parts.index("runs") + 1]] = None
        else:
            by_folder.setdefault(file.parent.name, {})[file.stem] = None
    words = []
    for folder, names in by_folder.items():
        listed = ", ".join(names)
        if folder == "runs":
            asked, variants = _count(runs, "run"), _count(len(names), "variant")
            words.append(f"what there is of {asked} of {variants} ({listed})")
        elif folder == "tables":
            words.append(f"the tables {listed}")
        else:
            words.append(f"the {folder} {listed}")
    return f"Rests on {' and '.join(words)}." if words else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
