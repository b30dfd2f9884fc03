"""Dirichlet energy along the fractional heat equation (paper, Section 5, its figure)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from flode.experiments.studies.graphs import StudyGraph
from flode.spectral import Dynamics, Factors, dominant_energy

#: Samples of an energy in a decade of time.
SAMPLES_PER_DECADE = 12

#: A step that must be halved more often makes the scheme too slow to run.
MAX_HALVINGS = 20

#: Eigenvalues of a directed graph that differ by less are one.
TOLERANCE = 1e-6

#: The sign of W's spectrum, by panel.
PANELS = {"negative": -1.0, "positive": 1.0}


def dirichlet_energy_study(settings: Mapping, graphs: Mapping[str, StudyGraph]) -> pd.DataFrame:
    """Normalised Dirichlet energy of ``x' = −L^α x W`` over time, by explicit Euler and exactly.

    W is diagonal, its entries uniform in (0, 1] in modulus and of one sign; x₀ is normal. Both
    come from the study's seed, and all exponents of a graph share them.

    Args:
        settings: ``spec`` holds ``exponents``, ``horizons`` (by graph), ``step``, ``channels`` and
            ``seed``.
        graphs: by label.

    Returns:
        Columns ``graph, panel, alpha, scheme, t, energy, limit, step``: ``panel`` is the sign of W,
        ``scheme`` is ``euler`` or ``exact``, ``limit`` the theorem's (of a directed graph at α = 1
        only, else nan), ``step`` the step size of ``euler``, at most the one in the settings (nan
        of ``exact``).

    Raises:
        ValueError: a graph has no horizon, or one below the step.
    """
    spec = settings["spec"]
    frames = []
    for label, graph in graphs.items():
        rng = np.random.default_rng(spec["seed"])
        moduli = 1 - rng.random(spec["channels"])
        x = rng.normal(size=(graph.factors.num_nodes, spec["channels"]))
        steps = sample_steps(spec["step"], spec["horizons"].get(label, 0), label)
        for exponent in spec["exponents"]:
            halvings = _halvings(graph.factors, moduli.max(), exponent, spec["step"])
            if halvings > MAX_HALVINGS:
                raise ValueError(
                    f"exponents, {label}: {exponent} needs steps below {spec['step']} / 2^"
                    f"{MAX_HALVINGS}; allowed: an exponent nearer to 0, or a smaller step"
                )
            dynamics = Dynamics.of(graph.factors, x, exponent)
            eigenvalues = _eigenvalues(graph.factors, exponent)
            for panel, sign in PANELS.items():
                mixing = sign * moduli
                step = spec["step"] / 2**halvings
                schemes = {
                    "euler": (dynamics.euler(mixing, step, steps * 2**halvings), step),
                    "exact": (dynamics.exact(mixing, spec["step"] * steps), np.nan),
                }
                frames += [
                    pd.DataFrame(
                        {
                            "graph": label,
                            "panel": panel,
                            "alpha": exponent,
                            "scheme": scheme,
                            "t": spec["step"] * steps,
                            "energy": dynamics.energies(states),
                            "limit": _limit(eigenvalues, mixing, exponent),
                            "step": used,
                        }
                    )
                    for scheme, (states, used) in schemes.items()
                ]
    return pd.concat(frames, ignore_index=True)


def sample_steps(step: float, horizon: float, label: str) -> np.ndarray:
    """After how many steps an energy is sampled: evenly in log t, from the first to the horizon."""
    last = round(horizon / step)
    if last < 1:
        raise ValueError(f"horizons, {label}: {horizon}; allowed: at least the step, {step}")
    samples = np.geomspace(1, last, 1 + round(SAMPLES_PER_DECADE * np.log10(last)))
    return np.unique(samples.round().astype(int))


def _halvings(factors: Factors, largest: float, exponent: float, step: float) -> int:
    """How often a step is halved until ``h ‖W‖ ‖L^α‖ < 1``, the theorem's condition on the step.

    The paper asks for ``h ‖W‖ < 1``, enough where ``‖L^α‖ ≤ 1``, that is, where α > 0.
    """
    moduli = np.abs(np.asarray(factors.values))
    with np.errstate(over="ignore"):
        norm = float((moduli**exponent).max(initial=0.0))
    if norm == 0:  # no edges, or every power underflows
        return 0
    if not np.isfinite(norm):
        return MAX_HALVINGS + 1
    return max(0, int(np.floor(np.log2(step * largest * norm))) + 1)


def _eigenvalues(factors: Factors, exponent: float) -> np.ndarray | None:
    """Of an SNA for which a theorem gives the energy a limit: of an undirected graph, and of a
    directed one at α = 1 (Theorem 5.5). Of others None."""
    if factors.truncated or not (factors.symmetric or exponent == 1):
        return None
    if not factors.symmetric:
        return np.linalg.eigvals(factors.fractional_power(1).double().numpy())
    eigenvalues = np.zeros(factors.num_nodes)
    eigenvalues[: factors.rank] = np.asarray(factors.values)
    return eigenvalues


def _limit(eigenvalues: np.ndarray | None, mixing: np.ndarray, exponent: float) -> float:
    """The theorem's limit; nan where none speaks, as of a directed graph whose dominant frequency
    is no single real eigenvalue."""
    if eigenvalues is None:
        return float("nan")
    if np.iscomplexobj(eigenvalues):
        growth = np.max(np.outer(eigenvalues.real, -mixing), axis=1)
        dominant = eigenvalues[growth >= growth.max() - TOLERANCE]
        if len(dominant) > 1 or abs(dominant[0].imag) > TOLERANCE:
            return float("nan")
    return dominant_energy(eigenvalues, mixing, exponent)
