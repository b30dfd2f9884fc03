"""Texts of tables that are LaTeX: what keeps them from being set is told before any job.

Light on purpose, as the catalogue that calls it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from flode.experiments.validation import ConfigurationError

#: Keys of a table or a subtable, and of one of its columns or rows, whose values are LaTeX.
_OF_BLOCKS, _OF_LINES = ("caption", "title", "header", "says"), ("label",)

#: What may hold what the text around it may not: escaped characters, tables and matrices, formulas,
#: and names of labels and addresses.
_ESCAPED = re.compile(r"\\[^A-Za-z()\[\]]")
_ENVIRONMENT = re.compile(r"\\begin\{(\w+\*?)\}.*?\\end\{\1\}", re.DOTALL)
_FORMULA = re.compile(r"\$\$.*?\$\$|\$.*?\$|\\\(.*?\\\)|\\\[.*?\\\]", re.DOTALL)
_BRACES = re.compile(r"\{[^{}]*\}")
#: Commands whose argument is text as that around them; of others it is not known.
_OF_TEXT = re.compile(r"\\(emph|text(bf|it|md|rm|sc|sf|sl|tt|up))\s*\{")

_REASONS = {"%": "begins a comment", "&": "parts cells", "_": "is for formulas"}


def check_latex(spec: Mapping, where: str) -> None:
    """Refuse texts of a table in which a character needs a backslash.

    Raises:
        ConfigurationError: names the key, the text and the character.
    """
    for key, text in _texts(spec, where):
        if mark := bare_mark(text):
            raise ConfigurationError(
                f"{key} is {text!r}, which is LaTeX, where a bare {mark} {_REASONS[mark]}; allowed"
                f" is \\{mark}"
            )


def bare_mark(latex: str) -> str | None:
    """The character that stands in a text where LaTeX cannot set it, if there surely is one."""
    text = _ESCAPED.sub("", latex)
    if "%" in text:
        return "%"
    text = _ENVIRONMENT.sub("", text)
    if "&" in text:
        return "&"
    text = _OF_TEXT.sub("", _FORMULA.sub("", text))
    while (shorter := _BRACES.sub("", text)) != text:
        text = shorter
    return "_" if "_" in text and "$" not in text else None


def _texts(spec: Mapping, where: str) -> Iterator[tuple[str, str]]:
    """Texts of a table, each after its key."""
    blocks = {where: spec}
    blocks |= {f"{where}.subtables.{key}": part for key, part in spec.get("subtables", {}).items()}
    for at, block in blocks.items():
        yield from _those(block, _OF_BLOCKS, at)
    for at, block in list(blocks.items())[1:]:
        for group in ("columns", "rows"):
            for name, line in block.get(group, {}).items():
                yield from _those(line, _OF_LINES, f"{at}.{group}.{name}")


def _those(entry: Mapping, keys: tuple[str, ...], at: str) -> Iterator[tuple[str, str]]:
    yield from ((f"{at}.{key}", entry[key]) for key in keys if key in entry)
