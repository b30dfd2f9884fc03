"""Virtual edges against distance (paper, Figure 3, bottom)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from flode.reporting.figures.style import STYLE, stamp

#: (colour, marker) of the exponents in their order, darker as α grows, so that grey keeps order.
_SERIES = (
    ("#DDAA33", "o"),
    ("#CC6677", "s"),
    ("#228833", "^"),
    ("#332288", "D"),
    ("#000000", "v"),
)


def fractional_edges_distance_figure(
    frame: pd.DataFrame, spec: Mapping[str, Any], quick: bool = False
) -> tuple[Figure, pd.DataFrame]:
    """A column for each graph: entries above the size, and the largest entry, by distance.

    Pairs without a directed path stand apart, at ∞. Theorem 4.1's bound is dashed where it is
    proved, dotted where it is only printed.

    Args:
        frame: from `flode.experiments.studies.fractional_edges.fractional_edges_distance`.
        spec: the figure's entry in the configuration.
        quick: stamp the figure.

    Returns:
        The figure and the rows of the frame with ``d ≥ 1``.
    """
    plotted = frame[frame["distance"] >= 1].reset_index(drop=True)
    graphs = list(plotted["graph"].unique())
    exponents = sorted(plotted["exponent"].unique())
    with matplotlib.rc_context(fname=STYLE):
        fig = Figure(figsize=(5.5, 4.3))
        axes = fig.subplots(2, len(graphs), squeeze=False, sharex="col", sharey="row")
        for column, graph in zip(axes.T, graphs, strict=True):
            own = plotted[plotted["graph"] == graph]
            for exponent, series in zip(exponents, _looks(len(exponents)), strict=True):
                _draw(column, own[own["exponent"] == exponent], *series)
            _dress(column, graph, own)
        axes[0, 0].set_ylabel(_count_label(plotted["size"].iloc[0]))
        axes[1, 0].set_ylabel(r"Largest $|(\mathbf{L}^\alpha)_{ij}|$")
        axes[1, 0].set_ylim(1e-6, 10)
        handles = [
            Line2D([], [], color=colour, marker=marker) for colour, marker in _looks(len(exponents))
        ]
        names = [rf"$\alpha = {exponent:g}$" for exponent in exponents]
        for guaranteed, dashes in _BOUNDS.items():
            bounded = plotted["bound"].notna() & (plotted["guaranteed"] == guaranteed)
            if bounded.any():
                handles.append(Line2D([], [], color="#555555", linestyle=dashes, linewidth=0.9))
                names.append("Theorem 4.1" if guaranteed else "Theorem 4.1, unproved")
        fig.legend(handles, names, loc="outside lower center", ncols=3, columnspacing=1.2)
        stamp(fig, quick)
    return fig, plotted


#: Dashes of the bound, by whether it is proved.
_BOUNDS = {True: (0, (4, 2)), False: (0, (1, 1.2))}


def _looks(count: int) -> list[tuple[str, str]]:
    return [_SERIES[index % len(_SERIES)] for index in range(count)]


def _draw(axes, own: pd.DataFrame, colour: str, marker: str) -> None:
    """The series of an exponent: in reach joined by a line, out of reach a point of its own."""
    reached = own[np.isfinite(own["distance"])]
    beyond = own[~np.isfinite(own["distance"])]
    apart = _place_of_infinity(reached["distance"])
    for ax, column in zip(axes, ("edges", "max"), strict=True):
        values = reached[column].where(reached[column] > 0)
        ax.plot(reached["distance"], values, color=colour, marker=marker, markersize=3)
        ax.plot(
            [apart] * len(beyond), beyond[column].where(beyond[column] > 0), color=colour,
            marker=marker, markersize=3, linestyle="",
        )  # fmt: skip
    dashes = _BOUNDS[bool(reached["guaranteed"].any())]
    axes[1].plot(
        reached["distance"], reached["bound"], color=colour, linestyle=dashes, linewidth=0.8
    )


def _dress(axes, graph: str, own: pd.DataFrame) -> None:
    top, bottom = axes
    top.set_title(graph)
    bottom.set_xlabel(r"Distance $d(i, j)$")
    finite = own["distance"][np.isfinite(own["distance"])]
    ticks = [1, *range(5, int(finite.max()) + 1, 5)]
    labels = [str(tick) for tick in ticks]
    if len(finite) < len(own):
        apart = _place_of_infinity(finite)
        ticks, labels = [*ticks, apart], [*labels, r"$\infty$"]
        for ax in axes:
            ax.axvline((finite.max() + apart) / 2, color="#999999", linewidth=0.6)
    bottom.set_xticks(ticks, labels)
    for ax in axes:
        ax.set_yscale("log")
        ax.minorticks_off()


def _place_of_infinity(finite: pd.Series) -> float:
    return float(finite.max()) + 3


def _count_label(size: float) -> str:
    return rf"Pairs with $|(\mathbf{{L}}^\alpha)_{{ij}}| > {_power_of_ten(size)}$"


def _power_of_ten(size: float) -> str:
    exponent = round(float(np.log10(size)))
    return f"10^{{{exponent}}}" if np.isclose(size, 10.0**exponent) else f"{size:g}"
