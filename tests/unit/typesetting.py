"""Tables as LaTeX sets them: on a page as wide and high as that of the paper (NeurIPS)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

_DOCUMENT = r"""\documentclass{article}
\setlength{\textwidth}{5.5in}\setlength{\textheight}{9in}
\usepackage{booktabs,xcolor}\IfFileExists{multirow.sty}{\usepackage{multirow}}{}
\begin{document}{\sloppy\listoftables}
%s
\end{document}
"""


def latex_log(folder: Path, names: Iterable[str]) -> str:
    """What LaTeX says of fragments ``<name>.tex``, each on a page of its own."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    pages = "".join(rf"\clearpage\input{{{name}}}" for name in names)
    (folder / "document.tex").write_text(_DOCUMENT % pages, encoding="utf-8")
    for _ in range(2):  # the second run reads the list of tables
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "document.tex"],
            cwd=folder, capture_output=True, check=False,
        )  # fmt: skip
        log = done.stdout.decode(errors="replace")
        assert done.returncode == 0, log[-2000:]
    return log


def fits(folder: Path, *names: str) -> None:
    """Check that fragments are no wider than the text and no higher than a page."""
    log = latex_log(folder, names)
    assert [line for line in log.splitlines() if "Overfull" in line or "too large" in line] == []
