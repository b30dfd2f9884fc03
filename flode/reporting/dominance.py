"""Frequency dominance: what a trained model's exponent, step size and W say of it (paper, Section 5
and the table of learned spectra)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flode import fractional
from flode.reporting.records import Runs, Summary, summarise

#: Largest eigenvalue of the SNA of an undirected graph with an edge.
LAMBDA_N = 1.0


def spectrum_of_w(run: Runs, record: Mapping[str, Any]) -> np.ndarray:
    """``(K,)`` numbers whose extremes the theorems compare: eigenvalues of W for the heat equation,
    their imaginary parts for Schrödinger's."""
    values = _channel_mixing(run, record)
    return values[:, 1] if run.hyperparameters["equation"] == "schroedinger" else values[:, 0]


def _channel_mixing(run: Runs, record: Mapping[str, Any]) -> np.ndarray:
    """The one W of a model, ``(K, 1 or 2)``.

    Raises:
        ValueError: layers do not share W, or the run files hold none; names the file.
    """
    found = record.get("channel_mixing") or []
    if len(found) != 1:
        raise ValueError(
            f"{run.files[0]}: split {record['split']}: channel_mixing holds {len(found)} weight "
            "sets; allowed: one, as of a model with shared weights"
        )
    return np.asarray(found[0], dtype=float)


def printed_spectrum(run: Runs, record: Mapping[str, Any]) -> np.ndarray:
    """``(K,)`` real parts of W's eigenvalues, whatever the equation: the numbers that the paper
    prints for Schrödinger's, as trainings from its program's start tell, though it speaks of
    imaginary parts."""
    return _channel_mixing(run, record)[:, 0]


def frequency_dominance(run: Runs, lambda_1: float, quantity: str = "FD") -> Summary:
    """``FD = λ_K(W) f_α(λ₁(L)) − λ₁(W)`` over the splits (paper, Theorem 5.5 for ``x' = −L^α x W``
    and, with imaginary parts of W, ``x' = i L^α x W``): negative where the largest frequency
    dominates. That is said of the ODE, and of α > 0: see `predicted_high` for others.

    Args:
        run: of a model with shared weights.
        lambda_1: smallest eigenvalue of the SNA.
        quantity: ``FD``, as the printed numbers are: of W's real parts. ``FD_text``, as the theorem
            has it. ``FD_trained``, of the equation as it was trained: ``x' = −i L^α x W`` is the
            theorem's with −W.
    """
    spectrum = printed_spectrum if quantity == "FD" else spectrum_of_w
    turned = quantity == "FD_trained" and _trained_sign(run) < 0
    found = []
    for record in run.records:
        w = -spectrum(run, record) if turned else spectrum(run, record)
        found.append(fractional.frequency_dominance(w, record["exponent"][0], lambda_1))
    return summarise(found)


def _trained_sign(run: Runs) -> int:
    """The sign of W that makes the theorem's equation the trained one."""
    sign = run.hyperparameters["sign"]
    return sign if run.hyperparameters["equation"] == "schroedinger" else -sign


def extreme(run: Runs, quantity: str) -> Summary:
    """Smallest or largest eigenvalue of W over the splits.

    Args:
        run: of a model with shared weights.
        quantity: ``lambda_1_W`` or ``lambda_K_W``, of real parts, as the printed numbers are;
            with ``_text`` at its end of what the theorems compare, for Schrödinger's equation
            imaginary parts.
    """
    pick = np.min if quantity.startswith("lambda_1") else np.max
    spectrum = spectrum_of_w if quantity.endswith("_text") else printed_spectrum
    return summarise(float(pick(spectrum(run, record))) for record in run.records)


def predicted_high(run: Runs, lambda_1: float) -> Summary | None:
    """Percentage of splits whose Euler scheme the largest frequency dominates: the largest of
    ``|1 + c_r f_α(λ_l)|`` over r and l, with ``c = s·h·w`` as trained, is at λ₁ and not at 1.

    The modulus is convex in ``f_α(λ)``, so one of the two extreme eigenvalues has it. Without the
    ODE it is ``|c_r f_α(λ_l)|``, which λ = 1 has for α > 0. None where an α is negative: there the
    eigenvalues of least modulus have the largest powers.
    """
    if any(record["exponent"][0] < 0 for record in run.records):
        return None
    found = []
    for record in run.records:
        c = _coefficients(run, record)
        gains = [
            c * fractional.fractional(value, record["exponent"][0])
            for value in (lambda_1, LAMBDA_N)
        ]
        if run.hyperparameters["ode"]:
            gains = [1 + gain for gain in gains]
        low, high = (np.abs(gain).max() for gain in gains)
        found.append(100.0 * (low > high))
    return summarise(found)


def observed_high(run: Runs) -> Summary | None:
    """Percentage of splits whose layers raised the (normalised) Dirichlet energy; None where run
    files hold no energy before the first layer."""
    if any(record.get("initial_dirichlet_energy") is None for record in run.records):
        return None
    return summarise(
        100.0 * (record["dirichlet_energy"] > record["initial_dirichlet_energy"])
        for record in run.records
    )


def _coefficients(run: Runs, record: Mapping[str, Any]) -> np.ndarray:
    """``s·h·w_r``, ``(K,)``, times i for Schrödinger's equation."""
    hyperparameters = run.hyperparameters
    parts = _channel_mixing(run, record)
    w = parts[:, 0] + 1j * parts[:, 1] if parts.shape[1] == 2 else parts[:, 0]
    c = hyperparameters["sign"] * w * (1j if hyperparameters["equation"] == "schroedinger" else 1)
    if hyperparameters["ode"]:
        step = record["step_size"][0]
        c = c * (step[0] + 1j * step[1] if len(step) == 2 else step[0])
    return c
