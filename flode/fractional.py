"""The fractional power of eigenvalues, which all closed forms and tables share; free of torch."""

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
