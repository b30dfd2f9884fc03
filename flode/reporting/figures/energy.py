"""Dirichlet energy along the fractional heat equation (paper, Section 5, its figure)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from flode.reporting.figures.style import MEASURED, STYLE, stamp

#: Markers of the exponents, in rising order: they tell lines apart in grey.
MARKERS = "vos^DPX*"

#: Titles of the columns, by the sign of W.
PANELS = {
    "negative": r"$\mathbf{W}$ with negative entries",
    "positive": r"$\mathbf{W}$ with positive entries",
}

#: How the exact solution and the theorem's limit are drawn.
EXACT = {"color": "black", "linestyle": (0, (4, 2)), "linewidth": 0.6}
LIMIT = {"color": "black", "linestyle": "-", "linewidth": 1.0}


def dirichlet_energy_figure(
    frame: pd.DataFrame, spec: Mapping[str, Any], quick: bool = False
) -> tuple[Figure, pd.DataFrame]:
    """A row for each graph, a column for each sign of W: energy against time, a line for each α.

    Args:
        frame: from `flode.experiments.studies.energy.dirichlet_energy_study`.
        spec: the figure's entry in the configuration.
        quick: stamp the figure.

    Returns:
        The figure and ``frame``. Where a graph has no limit at some α, a line says at which it has
        one.
    """
    graphs, panels = list(frame["graph"].unique()), list(frame["panel"].unique())
    looks = _looks(sorted(frame["alpha"].unique()))
    with matplotlib.rc_context(fname=STYLE):
        fig = Figure(figsize=(5.5, 0.45 + 2.0 * len(graphs)))
        axes = fig.subplots(len(graphs), len(panels), squeeze=False, sharey=True)
        for row, graph in zip(axes, graphs, strict=True):
            for ax, panel in zip(row, panels, strict=True):
                own = frame[(frame["graph"] == graph) & (frame["panel"] == panel)]
                _draw(ax, own, looks)
                ax.set_title(f"{graph}, {PANELS[panel]}")
            row[0].set_ylabel("Normalised energy")
        for ax in axes[-1]:
            ax.set_xlabel("$t$")
        fig.legend(handles=_handles(looks), loc="outside lower center", ncols=4)
        stamp(fig, quick)
    return fig, frame


def _looks(exponents: list[float]) -> dict[float, dict[str, Any]]:
    """Colour and marker of each exponent: from dark to light as α rises, apart where α < 0.

    None is so dark that the exact solution's black dashes drown.
    """
    rising = [exponent for exponent in exponents if exponent >= 0]
    shades = iter(colormaps["viridis"](np.linspace(0.25, 0.95, len(rising))))
    return {
        exponent: {
            "color": MEASURED if exponent < 0 else next(shades),
            "marker": MARKERS[index % len(MARKERS)],
        }
        for index, exponent in enumerate(exponents)
    }


def _draw(ax: Axes, frame: pd.DataFrame, looks: Mapping[float, Mapping[str, Any]]) -> None:
    for limit in frame["limit"].dropna().unique():
        ax.axhline(limit, **LIMIT, zorder=1.5)
    for index, (exponent, look) in enumerate(looks.items()):
        own = frame[frame["alpha"] == exponent]
        euler, exact = (own[own["scheme"] == scheme] for scheme in ("euler", "exact"))
        # Markers of different exponents stand at different times, so that none hides another.
        every = (2 + 2 * index, 12)
        ax.plot(euler["t"], euler["energy"], **look, linewidth=1.6, markevery=every)
        ax.plot(exact["t"], exact["energy"], **EXACT, zorder=3)
    ax.set(xscale="log", ylim=(-0.04, 1.0), xlim=(frame["t"].min(), frame["t"].max()))
    covered = frame.groupby("alpha")["limit"].agg(lambda limits: limits.notna().all())
    if not covered.all():
        exponents = ", ".join(f"{exponent:g}" for exponent in covered[covered].index)
        text = rf"a limit at $\alpha = {exponents}$ only" if exponents else "no theorem applies"
        ax.text(0.03, 0.78, text, transform=ax.transAxes, fontsize=6.5, style="italic")


def _handles(looks: Mapping[float, Mapping[str, Any]]) -> list[Line2D]:
    lines = [
        Line2D([], [], **look, linewidth=1.6, label=rf"Euler, $\alpha = {exponent:g}$")
        for exponent, look in looks.items()
    ]
    return [
        *lines,
        Line2D([], [], **EXACT, label="exact solution"),
        Line2D([], [], **LIMIT, label="theorem's limit"),
    ]
