"""The cycle graph: edges of its fractional powers, and its frequencies (paper, Figures 3, 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from flode.reporting.figures.nodes import NEGATIVE, POSITIVE, bare, draw_nodes, ring
from flode.reporting.figures.style import STYLE, stamp

#: Width in points of the heaviest edge.
_HEAVIEST = 3.0

#: Texts of homophilies that are no short decimals.
_FRACTIONS = {0.0: "0", 0.25: "1/4", 0.5: "1/2", 0.75: "3/4", 1.0: "1"}


def fractional_edges_cycle_figure(
    frame: pd.DataFrame, spec: Mapping[str, Any], quick: bool = False
) -> tuple[Figure, pd.DataFrame]:
    """A panel for each α: edges as wide as their weight, negative ones dashed.

    Args:
        frame: from `flode.experiments.studies.cycle.fractional_edges_cycle`.
        spec: the figure's entry in the configuration.
        quick: stamp the figure.
    """
    exponents = list(frame["exponent"].unique())
    heaviest = frame["weight"].abs().max()
    with matplotlib.rc_context(fname=STYLE):
        fig = Figure(figsize=(1.375 * len(exponents), 2.15), layout="compressed")
        axes = fig.subplots(1, len(exponents), squeeze=False)[0]
        for ax, exponent in zip(axes, exponents, strict=True):
            own = frame[(frame["exponent"] == exponent) & (frame["weight"] != 0)]
            places = ring(int(own["nodes"].iloc[0]))
            for edge in own.itertuples():
                negative = edge.weight < 0
                ends = places[[edge.source, edge.target]]
                ax.plot(
                    *ends.T, color=NEGATIVE if negative else POSITIVE, zorder=1 + negative,
                    linestyle=(0, (3, 1.6)) if negative else "-",
                    linewidth=max(0.5, _HEAVIEST * abs(edge.weight) / heaviest),
                )  # fmt: skip
            draw_nodes(ax, places)
            bare(ax, places, margin=0.15)
            ax.set_title(rf"$\alpha = {exponent:g}$")
            sizes = own.groupby("distance")["weight"].first()
            lines = [f"$d = {distance}$: ${weight:+.3f}$" for distance, weight in sizes.items()]
            ax.text(
                0.5, -0.04, "\n".join(lines), transform=ax.transAxes, fontsize=7, ha="center",
                va="top",
            )  # fmt: skip
        handles = [
            Line2D([], [], color=POSITIVE, linewidth=2),
            Line2D([], [], color=NEGATIVE, linewidth=2, linestyle=(0, (2, 1))),
        ]
        names = [r"$(\mathbf{L}^\alpha)_{ij} > 0$", r"$(\mathbf{L}^\alpha)_{ij} < 0$"]
        fig.legend(handles, names, loc="outside lower center", ncols=2)
        stamp(fig, quick)
    return fig, frame


def cycle_eigenvectors_figure(
    frame: pd.DataFrame, spec: Mapping[str, Any], quick: bool = False
) -> tuple[Figure, pd.DataFrame]:
    """A column for each eigenvalue: its one or two eigenvectors, and the labels it favours.

    Args:
        frame: from `flode.experiments.studies.cycle.cycle_eigenvectors_study`.
        spec: the figure's entry in the configuration.
        quick: stamp the figure.
    """
    frequencies = list(frame["frequency"].unique())
    largest = frame[["real", "imaginary"]].abs().max().max()
    norm, colours = Normalize(-largest, largest), colormaps["PuOr_r"]
    with matplotlib.rc_context(fname=STYLE):
        fig = Figure(figsize=(1.1 * len(frequencies), 3.4), layout="compressed")
        axes = fig.subplots(3, len(frequencies), squeeze=False)
        for column, frequency in zip(axes.T, frequencies, strict=True):
            own = frame[frame["frequency"] == frequency]
            places = ring(len(own))
            outline = np.concatenate([places, places[:1]])
            for ax, part in zip(column, ("real", "imaginary", "label"), strict=True):
                bare(ax, places)
                values = own[part].to_numpy()
                if not values.any():  # a simple eigenvalue: one eigenvector only
                    continue
                ax.plot(*outline.T, color="#999999", linewidth=0.7, zorder=1)
                if part == "label":
                    _draw_labels(ax, places, values)
                else:
                    _draw_values(ax, places, norm(values), values, colours)
            column[0].set_title(rf"$\lambda = {own['eigenvalue'].iloc[0]:.3g}$")
            column[2].text(
                0, 0, f"$\\mathcal{{H}} = {_fraction(own['homophily'].iloc[0])}$", ha="center",
                va="center",
            )  # fmt: skip
        for ax, text in zip(axes[:, 0], (r"Re $\mathbf{v}$", r"Im $\mathbf{v}$", "Labels")):  # noqa: B905
            ax.text(-0.08, 0.5, text, transform=ax.transAxes, rotation=90, ha="center", va="center")
        mappable = matplotlib.cm.ScalarMappable(norm, colours)
        bar = fig.colorbar(mappable, ax=axes[:2], shrink=0.7, aspect=28, pad=0.02)
        bar.set_label("Entry of the eigenvector")
        bar.outline.set_linewidth(0.6)
        stamp(fig, quick)
    return fig, frame


def _draw_values(ax, places, shades, values, colours) -> None:
    """Nodes coloured by value; the sign is written too, as dark tones look alike in grey."""
    signs = ["+" if value > 0 else "\N{MINUS SIGN}" if value < 0 else "" for value in values]
    inks = ["white" if abs(shade - 0.5) > 0.3 else "black" for shade in shades]
    draw_nodes(ax, places, colours(shades), signs, inks)


def _draw_labels(ax, places, labels) -> None:
    """Two classes, as discs and squares."""
    for label, marker, fill in ((1, "o", POSITIVE), (-1, "s", "white")):
        ax.scatter(
            *places[labels == label].T, s=60, c=fill, marker=marker, edgecolors="black",
            linewidths=0.7, zorder=3,
        )  # fmt: skip


def _fraction(homophily: float) -> str:
    return _FRACTIONS.get(round(homophily, 9), f"{homophily:.2f}")
