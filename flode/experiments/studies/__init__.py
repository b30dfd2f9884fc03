"""Studies of graphs and their operators, without training: a module a kind.

A kind is a function ``(settings, graphs) -> DataFrame``; ``settings["spec"]`` is the study's entry
in the configuration, ``graphs`` its graphs by label, each with its files. A new kind is such a
function, an entry here, one in `flode.experiments.checks.STUDY_COLUMNS`, and one in
study.schema.yaml. A figure of the kind's name draws it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from flode.experiments.studies.cycle import cycle_eigenvectors_study, fractional_edges_cycle
from flode.experiments.studies.energy import dirichlet_energy_study
from flode.experiments.studies.fractional_edges import fractional_edges_distance
from flode.experiments.studies.graphs import StudyGraph
from flode.experiments.studies.spectrum import spectrum
from flode.experiments.studies.weakly_balanced import weakly_balanced

__all__ = ["STUDIES", "StudyGraph"]

STUDIES: dict[str, Callable[[Mapping, Mapping[str, StudyGraph]], pd.DataFrame]] = {
    "cycle_eigenvectors": cycle_eigenvectors_study,
    "dirichlet_energy": dirichlet_energy_study,
    "fractional_edges_cycle": fractional_edges_cycle,
    "fractional_edges_distance": fractional_edges_distance,
    "spectrum": spectrum,
    "weakly_balanced": weakly_balanced,
}
