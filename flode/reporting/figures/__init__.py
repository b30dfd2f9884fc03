"""Figures: a module a kind, one look (`style`).

A kind is a function ``(frame, spec, quick) -> (Figure, plotted)``: it draws what one table or study
holds. A new kind is such a function, an entry here, and one in figure.schema.yaml.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from matplotlib.figure import Figure

from flode.reporting.figures.comparison import comparison_figure
from flode.reporting.figures.cycle import cycle_eigenvectors_figure, fractional_edges_cycle_figure
from flode.reporting.figures.fractional_edges import fractional_edges_distance_figure
from flode.reporting.figures.spectrum import spectrum_figure
from flode.reporting.figures.style import save_figure
from flode.reporting.figures.weakly_balanced import weakly_balanced_figure

__all__ = ["FIGURES", "comparison_figure", "save_figure", "spectrum_figure"]

FIGURES: dict[str, Callable[..., tuple[Figure, pd.DataFrame]]] = {
    "comparison": comparison_figure,
    "cycle_eigenvectors": cycle_eigenvectors_figure,
    "fractional_edges_cycle": fractional_edges_cycle_figure,
    "fractional_edges_distance": fractional_edges_distance_figure,
    "spectrum": spectrum_figure,
    "weakly_balanced": weakly_balanced_figure,
}
