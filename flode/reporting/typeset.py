"""LaTeX pieces that all tables share: text, numbers, marks and the frame around the blocks."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence, Set
from decimal import Decimal

#: Command of each rank that is marked.
MARKS = ("first", "second", "third")

#: Weight, underline and slant tell the marks apart without colour; documents may define their own.
PREAMBLE = r"""\providecommand{\first}[1]{\textcolor{green!40!black}{\textbf{#1}}}
\providecommand{\second}[1]{\textcolor{blue!75!black}{\underline{#1}}}
\providecommand{\third}[1]{\textcolor{orange!65!black}{\textit{#1}}}
\providecommand{\flodequick}[1]{\textcolor{red}{\textbf{#1}}}
\providecommand{\flodepublished}[1]{\textcolor{black!60}{#1}}"""

#: Lines of notes may be set loosely, as long formulas are not broken.
_NOTES = r"\scriptsize\emergencystretch=3em"

#: Between tabulars that stand side by side.
_GAP = r"\hspace{14pt minus 8pt}"

QUICK_STAMP = "Quick run: not the paper's graphs and protocol"

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": "$<$", ">": "$>$", "|": "$|$", '"': "''",
    "±": r"$\pm$", "√": r"$\surd$", "·": r"$\cdot$", "×": r"$\times$", "−": "$-$", "–": "--",
    "α": r"$\alpha$", "β": r"$\beta$", "λ": r"$\lambda$", "≥": r"$\geq$", "≤": r"$\leq$",
    "ᵀ": r"$^{\top}$",
    "\n": " ",
}  # fmt: skip

#: Greek letters without a command of their name.
_NO_COMMAND = ("omicron", "lamda")


def escape(text: str) -> str:
    """``text`` as LaTeX that prints it; letters pdfLaTeX cannot print become "?"."""
    return "".join(map(_escaped, text))


def _escaped(char: str) -> str:
    if char in _SPECIAL:
        return _SPECIAL[char]
    if ord(char) < 0x180:
        return char
    # ⁻⁶ and ₁ are a − and digits, raised or lowered.
    kind, _, code = unicodedata.decomposition(char).partition(" ")
    if kind in ("<super>", "<sub>"):
        plain = chr(int(code, 16)).replace("−", "-")
        return f"${'^' if kind == '<super>' else '_'}{{{plain}}}$"
    name = unicodedata.name(char, "").partition("GREEK SMALL LETTER ")[2].lower()
    return rf"$\{name}$" if name.isalpha() and name not in _NO_COMMAND else "?"


def spread_places(std: float, places: int) -> int:
    """As many digits after the point, or one or two more, where a ± that is not 0 needs them not to
    look like it."""
    first = -math.floor(math.log10(std)) if std > 0 else 0
    return first if places < first <= places + 2 else places


def fixed(mean: float, std: float | None, decimals: int, std_decimals: int) -> str:
    """``99.3±0.1`` with given digits, in text mode so that a mark's weight or slant shows; without
    ± where ``std`` is None or nan, as tidy tables have it."""
    text = _signed(f"{mean:.{decimals}f}")
    if std is None or math.isnan(std):
        return text
    return rf"{text}$\pm${std:.{spread_places(std, std_decimals)}f}"


def scientific(value: float) -> str:
    r"""An integer as it is, another number as the paper prints it: ``$5\cdot10^{-3}$``."""
    number = Decimal(repr(float(value))).normalize()
    if number == number.to_integral_value():
        return f"${int(number)}$"
    exponent = number.adjusted()
    if exponent >= 0:
        return f"${number:f}$"
    mantissa = f"{number.scaleb(-exponent):f}"
    factor = "" if mantissa == "1" else rf"{mantissa}\cdot"
    return rf"${factor}10^{{{exponent}}}$"


def unlike(splits: Iterable[Set[int]]) -> bool:
    """Whether means are over different splits; one over none was not measured."""
    return len({frozenset(own) for own in splits if own}) > 1


def ranks(
    values: Sequence[Decimal | None], marked: int, splits: Iterable[Set[int]] = ()
) -> list[int | None]:
    """Rank of each value, the largest first (0, 1, ...), None beyond ``marked`` or without value.

    Ties share a rank and use up the following ones: two first, then a third.

    Args:
        values: to rank.
        marked: how many places there are.
        splits: those that a measured one is over, else none. Where these differ nothing has a
            rank: some splits are easier than others.
    """
    if unlike(splits):
        return [None] * len(values)
    present = [value for value in values if value is not None]
    found = [None if v is None else sum(other > v for other in present) for v in values]
    return [rank if rank is not None and rank < marked else None for rank in found]


def mark(text: str, rank: int | None) -> str:
    """``text`` inside the command of its rank, if it has one."""
    return text if rank is None else rf"\{MARKS[rank]}{{{text}}}"


def stacked(*lines: str) -> str:
    """Lines of one cell; those that are empty are left out."""
    kept = [line for line in lines if line]
    if len(kept) == 1:
        return kept[0]
    # The braces keep a line that begins with a bracket from being an option of the line break.
    text = r"\\{}".join(kept)
    return rf"\begin{{tabular}}{{@{{}}c@{{}}}}{text}\end{{tabular}}"


def tabular(
    header: str | Sequence[tuple[str, int]],
    labels: Sequence[str],
    groups: Sequence[Sequence[Sequence[str]]],
    columns: str = "",
) -> str:
    """One tabular: the header spans the columns, and a rule stands between groups of rows.

    Args:
        header: LaTeX over all columns, may be empty; or pieces and how many columns each spans.
        labels: one a column.
        groups: groups of rows of cells, each row one cell longer than ``labels`` (its name first).
        columns: of LaTeX, by default names flush left and all others centred.
    """
    count = len(labels)
    columns = columns or f"l *{{{count}}}{{c}}"
    lines = [rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"\toprule"]
    spans = [(header, count)] if isinstance(header, str) else header
    if header:
        lines.append(
            "".join(rf"& \multicolumn{{{n}}}{{c}}{{{text}}} " for text, n in spans) + r"\\"
        )
        ends = [1 + sum(n for _, n in spans[: k + 1]) for k in range(len(spans))]
        trim = "(lr)" if len(spans) > 1 else ""
        rules = zip(ends, spans, strict=True)
        lines.append(" ".join(rf"\cmidrule{trim}{{{end - n + 1}-{end}}}" for end, (_, n) in rules))
    lines.append("".join(f" & {label}" for label in labels).lstrip() + r" \\")
    for rows in groups:
        lines.append(r"\midrule")
        for number, row in enumerate(rows):
            lines.append(" & ".join(row) + r" \\")
            # Rows of stacked cells are kept apart.
            if number < len(rows) - 1 and any(r"\begin{tabular}" in cell for cell in row):
                lines.append(r"\addlinespace[2pt]")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def ragged(text: str) -> str:
    """A cell of a column of text, but for the last column: words keep their distance."""
    return rf"\raggedright {text}"


def blocks_beside(parts: Sequence[tuple[str, str]]) -> str:
    """Tabulars side by side where the line has room for them, else one below the other, each under
    its caption (LaTeX, may be empty). LaTeX warns of one that is wider than the line."""
    if len(parts) == 1:
        caption, text = parts[0]
        return (rf"{caption}\par\vspace{{2pt}}" + "\n" if caption else "") + text
    boxes = (
        "\\begin{tabular}[t]{@{}c@{}}\n" + rf"{caption} \\[2pt]" + f"\n{part}\n\\end{{tabular}}"
        for caption, part in parts
    )
    text = f"{_GAP}%\n".join(boxes)
    # TeX breaks the line in a gap; the penalty makes it narrow the gaps before it does.
    return r"{\nointerlineskip\linepenalty=1000 \lineskip=8pt%" + f"\n{text}\\par}}"


def table(
    comment: str,
    caption: str,
    label: str,
    blocks: Sequence[str],
    notes: Sequence[str],
    quick: bool,
) -> str:
    """The whole fragment: a float with its blocks one under the other and notes below.

    Args:
        comment: text of the comment at the top.
        caption: LaTeX; may be empty, as ``label`` may.
        blocks: from `blocks_beside`; captions are numbered (a), (b), ... by the caller.
        notes: LaTeX sentences under the blocks.
        quick: stamp the table as a quick run.
    """
    lines = [*(f"% {line}" for line in comment.splitlines()), PREAMBLE, r"\begin{table}[!htbp]"]
    lines.append(r"\centering")
    if caption:
        lines.append(rf"\caption{{{caption}}}")
    if label:
        lines.append(rf"\label{{{label}}}")
    lines += [r"\scriptsize", r"\setlength{\tabcolsep}{2pt}", r"\vspace{4pt}"]
    if quick:
        lines.append(rf"\flodequick{{\small {QUICK_STAMP}}}\par\vspace{{4pt}}")
    lines.append("\n\\par\\vspace{8pt}\n".join(blocks))
    if notes:
        text = "\n".join(notes)
        lines.append(f"\\par\\vspace{{4pt}}\n\\parbox{{\\linewidth}}{{{_NOTES}\n{text}}}")
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _signed(text: str) -> str:
    return f"$-${text[1:]}" if text.startswith("-") else text
