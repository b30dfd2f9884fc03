"""Figures: a module a kind, one look (`style`).

A kind is a function ``(frame, spec, quick) -> (Figure, plotted)``: it draws what one table or study
holds. A new kind is such a function, an entry here, and one in figure.schema.yaml.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from matplotlib.figure import Figure

from flode.reporting.figures.comparison import comparison_figure
from flode.reporting.figures.energy import dirichlet_energy_figure
from flode.reporting.figures.spectrum import spectrum_figure
from flode.reporting.figures.style import save_figure

__all__ = [
    "FIGURES",
    "comparison_figure",
    "dirichlet_energy_figure",
    "save_figure",
    "spectrum_figure",
]

FIGURES: dict[str, Callable[..., tuple[Figure, pd.DataFrame]]] = {
    "comparison": comparison_figure,
    "dirichlet_energy": dirichlet_energy_figure,
    "spectrum": spectrum_figure,
}
