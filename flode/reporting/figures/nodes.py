"""Small graphs drawn as nodes on a ring and edges between them."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

#: Colour of positive and of negative values: distinct for the colour-blind, and signs are told
#: apart in grey by dashes or texts.
POSITIVE, NEGATIVE = "#0072B2", "#D55E00"

#: Area of a node's marker in points².
NODE_AREA = 90


def ring(nodes: int, start: float = np.pi / 2) -> np.ndarray:
    """Places ``(nodes, 2)`` on the unit circle, clockwise from an angle."""
    angles = start - 2 * np.pi * np.arange(nodes) / nodes
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def bare(ax: Axes, places: np.ndarray, margin: float = 0.25) -> None:
    """No axes: the nodes and a margin around them."""
    ax.set_axis_off()
    (left, bottom), (right, top) = places.min(axis=0) - margin, places.max(axis=0) + margin
    ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")


def draw_nodes(ax: Axes, places: np.ndarray, fill="white", texts=(), text_colours=None) -> None:
    """Round nodes with a fill and a text each."""
    ax.scatter(*places.T, s=NODE_AREA, c=fill, edgecolors="black", linewidths=0.7, zorder=3)
    colours = text_colours or ["black"] * len(texts)
    for place, text, colour in zip(places, texts, colours, strict=bool(len(texts))):
        ax.text(*place, text, ha="center", va="center_baseline", fontsize=7, color=colour, zorder=4)


def draw_arrow(ax: Axes, start: np.ndarray, end: np.ndarray, bend: float) -> None:
    """An arrow between two nodes' rims, bent to its left by a share of its length."""
    ax.annotate(
        "", end, start,
        arrowprops={
            "arrowstyle": "-|>,head_width=0.18,head_length=0.4",
            "connectionstyle": f"arc3,rad={bend}",
            "shrinkA": 5.5, "shrinkB": 5.5,
            "linewidth": 0.8, "color": "black",
        },
    )  # fmt: skip
