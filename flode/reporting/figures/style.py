"""One look for all figures, and how they are written. Needs no display and no pyplot state."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from flode.files import atomic_write
from flode.reporting.typeset import QUICK_STAMP

#: The look of all figures.
STYLE = Path(__file__).with_name("paper.mplstyle")

#: (colour, dashes, marker) of the baselines, in the order of the table. Muted, distinct for the
#: colour-blind (after Paul Tol), and told apart by dashes and markers in grey.
BASELINES = (
    ("#BBBBBB", "-", "o"),
    ("#88CCEE", "-", "s"),
    ("#DDCC77", "--", "^"),
    ("#999933", ":", "v"),
    ("#CC6677", "-.", "D"),
    ("#882255", ":", "x"),
    ("#44AA99", "--", "P"),
    ("#117733", "-.", "<"),
    ("#AA4499", "--", ">"),
    ("#332288", "-", "*"),
)

#: Colour of the measured series: the one saturated line, and the thickest.
MEASURED = "#D55E00"


def stamp(fig: Figure, quick: bool, missing: int = 0) -> None:
    """Mark a figure of a quick run as one, and one in which points are missing."""
    marks = [QUICK_STAMP] if quick else []
    if missing:
        marks.append(f"{missing} point{'s' if missing > 1 else ''} not run")
    if marks:
        # Room of its own: where axes have a fixed aspect, a title would stand in theirs.
        fig.set_figheight(fig.get_figheight() + 0.25)
        fig.suptitle("; ".join(marks), color="red", fontweight="bold")


def save_figure(fig: Figure, plotted: pd.DataFrame, stem: str | Path) -> list[Path]:
    """Write ``stem.pdf``, ``stem.svg`` and ``stem.csv`` (``plotted``), each whole or not at all.

    Fonts are embedded as Type 42, and the same figure gives the same bytes: no dates, fixed ids.

    Returns:
        The paths of the three files.
    """
    stem = Path(stem)
    paths = [stem.with_name(f"{stem.name}.{suffix}") for suffix in ("pdf", "svg", "csv")]
    pdf, svg, csv = paths
    with matplotlib.rc_context(fname=STYLE):
        with atomic_write(pdf) as temporary:
            fig.savefig(temporary, metadata={"CreationDate": None})
        with atomic_write(svg) as temporary:
            fig.savefig(temporary, metadata={"Date": None})
    with atomic_write(csv) as temporary:
        plotted.to_csv(temporary, index=False, lineterminator="\n")
    return paths
