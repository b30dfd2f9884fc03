"""What closed forms and tables share, free of torch: the fractional power of eigenvalues, and the
frequencies that dominate by it."""

from __future__ import annotations

import numpy as np


def fractional(eigenvalues: np.ndarray | float, exponent: float) -> np.ndarray:
    """``f_α(λ) = λ|λ|^(α−1)``, for real λ ``sign(λ)|λ|^α`` (paper, Section 4).

    Args:
        eigenvalues: of any shape, real or complex.
        exponent: α, of any sign.

    Returns:
        float64 or complex128 of the same shape; a zero stays zero for every α, a negative one too.
    """
    eigenvalues = np.asarray(eigenvalues)
    powers = np.zeros(eigenvalues.shape, np.result_type(eigenvalues, np.float64))
    kept = eigenvalues != 0
    moduli = np.abs(eigenvalues[kept]).astype(float)  # powers of integers fail or wrap around
    powers[kept] = eigenvalues[kept] / moduli * moduli**exponent
    return powers


def frequency_dominance(mixing: np.ndarray, exponent: float, lambda_1: float) -> float:
    """``FD = λ_K(W) f_α(λ₁(L)) − λ₁(W)``, negative where the largest frequency dominates (paper,
    Theorem 5.5, of the ODE and α > 0).

    Args:
        mixing: ``(K,)``, what the theorem compares: for ``x' = −L^α x W`` eigenvalues of W, for
            ``x' = i L^α x W`` their imaginary parts. Of an equation with the other sign give
            ``-mixing``.
        exponent: α.
        lambda_1: smallest eigenvalue of the SNA (`flode.spectral.smallest_eigenvalue`).

    A trained model has its own: `flode.FLODE.frequency_dominance`.
    """
    mixing = np.asarray(mixing)  # a tensor's max is called otherwise
    return float(mixing.max() * fractional(lambda_1, float(exponent)) - mixing.min())
