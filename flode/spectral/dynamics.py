"""Fractional heat and Schrödinger equations on a graph: exact solution, explicit Euler, limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse

from flode.fractional import fractional
from flode.spectral.factors import Factors
from flode.spectral.measures import normalized_dirichlet_energy

#: s of ``x' = s · L^α x W`` (paper, Section 5): the fractional heat and Schrödinger equations.
#: Models are trained with -i, as the paper's are: ``flode.FLODE`` has ``sign=-1``.
EQUATIONS = {"heat": -1.0, "schroedinger": 1j}

#: What of a column of x₀ lies outside the range of L is at least this much of it, or rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Dynamics:
    """``x' = s · L^α x W``, x(0) = x₀ with diagonal W, in coordinates ``x = B y``.

    The columns of B span the range of L and x₀. x(t) never leaves that span, so the coordinates
    lose nothing, and n is at most the rank of L plus the real columns of x₀.

    Attributes:
        basis: ``(N, n)`` float64, B, orthonormal columns.
        laplacian: ``(n, n)``, ``Bᵀ L B``, dense, or sparse and diagonal when L is symmetric.
        power: ``Bᵀ L^α B``: ``(n, n)``, or its diagonal, ``(n,)``, when L is symmetric.
        start: ``(n, K)``, y(0), scaled to norm 1.
    """

    basis: np.ndarray
    laplacian: np.ndarray | sparse.dia_array
    power: np.ndarray
    start: np.ndarray

    @classmethod
    def of(cls, factors: Factors, x: np.ndarray, exponent: float) -> Dynamics:
        """The dynamics on the graph of an SNA's factors.

        Args:
            factors: of the SNA; used in float64.
            x: ``(N, K)`` initial state, real or complex.
            exponent: α, of any sign; singular values of zero stay zero.

        Raises:
            ValueError: ``x`` is zero, not finite, or has not N rows; such a state has no
                normalised energy.
        """
        x = np.asarray(x)
        if x.ndim != 2 or x.shape[0] != factors.num_nodes:
            raise ValueError(f"x has shape {x.shape}; allowed: ({factors.num_nodes}, channels)")
        norm = np.linalg.norm(x)
        if not 0 < norm < np.inf:
            raise ValueError(f"the norm of x is {norm}; allowed: positive and finite")
        x = x / norm
        left = factors.left.to(torch.float64).numpy()
        basis = np.hstack([left, _rest(left, x)])
        values, padding = factors.values.numpy(), np.zeros(basis.shape[1] - factors.rank)
        powers = fractional(values, exponent)
        if factors.right is None:
            laplacian = sparse.diags_array(np.append(values, padding))
            power = np.append(powers, padding)
        else:
            # Bᵀ U is the first columns of the identity: rows beyond the rank are zero.
            gather = factors.right.to(torch.float64).numpy().T @ basis
            zeros = np.zeros((len(padding), basis.shape[1]))
            laplacian = np.vstack([values[:, None] * gather, zeros])
            power = np.vstack([powers[:, None] * gather, zeros])
        return cls(basis, laplacian, power, basis.T @ x)

    def exact(
        self, mixing: np.ndarray, times: Sequence[float], equation: str = "heat"
    ) -> np.ndarray:
        """Exact solution ``vec x(t) = exp(s t W ⊗ L^α) vec x₀`` (paper, Section 5).

        Args:
            mixing: ``(K,)`` diagonal of W, real or complex.
            times: increasing, none negative.
            equation: a key of `EQUATIONS`.

        Returns:
            ``(len(times), n, K)`` coordinates of ``x(t) / ‖x(t)‖_F``, so that no growth overflows;
            float64, or complex128 where W, x₀ or s is complex.

        Raises:
            ValueError: times that are not so, another shape of W or an unknown equation.
        """
        rates = self._rates(mixing, equation)
        _check_increasing(times, "times")
        if self.power.ndim == 1:
            present = self.start != 0
            growth = self.power[:, None] * rates
            # Less what grows fastest: the rest underflows to zero, and nothing overflows.
            growth = growth - growth.real.max(where=present, initial=-np.inf)
            growth = np.where(present, growth, 0)
            return _normalized(np.exp(np.multiply.outer(times, growth)) * self.start)
        bound = np.linalg.norm(self.power, 2) * np.abs(rates).max()
        states, state, now = [], self.start, 0.0
        for time in times:
            pieces = max(1, math.ceil((time - now) * bound))
            for _ in range(pieces):
                state = _normalized(_flow(self.power, state, rates * ((time - now) / pieces)))
            states.append(state)
            now = time
        return np.stack(states)

    def euler(
        self, mixing: np.ndarray, step: float, counts: Sequence[int], equation: str = "heat"
    ) -> np.ndarray:
        """Explicit Euler, ``x ← x + s h L^α x W`` (paper, Appendix, "Frequency Dominance for
        Numerical Approximations").

        Args:
            mixing: ``(K,)`` diagonal of W, real or complex.
            step: h.
            counts: after how many steps; increasing, none negative.
            equation: a key of `EQUATIONS`.

        Returns:
            As :meth:`exact`; nan where a step has brought the state to 0.

        Raises:
            ValueError: counts that are not so, and as :meth:`exact`.
        """
        rates = step * self._rates(mixing, equation)
        _check_increasing(counts, "counts")
        if self.power.ndim == 1:
            factor = np.where(self.start != 0, 1 + self.power[:, None] * rates, 0)
            factor = factor / np.abs(factor).max()
            powers = [factor**count for count in counts]
            return _normalized(np.stack(powers) * self.start)
        states, state, done = [], self.start, 0
        for count in counts:
            for _ in range(count - done):
                state = _normalized(state + (self.power @ state) * rates)
            states.append(state)
            done = count
        return np.stack(states)

    def energies(self, states: np.ndarray) -> np.ndarray:
        """Normalised Dirichlet energies, ``(T,)``, of states ``(T, n, K)`` in coordinates."""
        return np.array([normalized_dirichlet_energy(self.laplacian, state) for state in states])

    def _rates(self, mixing: np.ndarray, equation: str) -> np.ndarray:
        factor = _factor(equation)
        mixing = np.asarray(mixing)
        if mixing.shape != self.start.shape[1:]:
            raise ValueError(
                f"mixing has shape {mixing.shape}; allowed: {self.start.shape[1:]}, a number for"
                " each channel"
            )
        return factor * mixing


def _factor(equation: str) -> complex:
    """s of an equation.

    Raises:
        ValueError: an unknown one.
    """
    if equation not in EQUATIONS:
        raise ValueError(f"equation is {equation!r}; allowed are {', '.join(EQUATIONS)}")
    return EQUATIONS[equation]


def dominant_energy(
    eigenvalues: np.ndarray, mixing: np.ndarray, exponent: float, equation: str = "heat"
) -> float:
    """Limit of the normalised Dirichlet energy as t → ∞, for almost all x₀, where the SNA is normal
    (paper, Theorem 5.3 and its generalisation in the appendix).

    The frequency of which ``Re(s w_r f_α(λ_l))`` is largest outgrows all others, with
    ``f_α(λ) = λ |λ|^(α−1)``. The energy of its eigenvector is ``(1 − Re λ_l) / 2``.

    Args:
        eigenvalues: ``(N,)`` of the SNA, with its zeros; real or complex.
        mixing: ``(K,)`` diagonal of W.
        exponent: α.
        equation: a key of `EQUATIONS`.

    Returns:
        The limit; nan where frequencies of different energies grow alike, so that it depends on x₀.

    Raises:
        ValueError: an unknown equation.
    """
    eigenvalues, mixing = np.asarray(eigenvalues), np.asarray(mixing)
    powers = np.multiply.outer(fractional(eigenvalues, exponent), mixing)
    growth = (_factor(equation) * powers).real.max(axis=1)
    largest = growth.max()
    alike = growth >= largest - 1e-12 * np.abs(growth).max()
    energies = (1 - eigenvalues[alike].real) / 2
    return float(energies.mean()) if np.ptp(energies) < 1e-9 else float("nan")


def _rest(left: np.ndarray, x: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what of x lies outside the span of ``left``, however small it is
    beside the rest of x: it may outgrow that. Only rounding is left out, column by column."""
    parts = np.hstack([x.real, x.imag]) if np.iscomplexobj(x) else x
    rest = _outside(left, _outside(left, parts))  # twice, against rounding
    sizes = np.linalg.norm(rest, axis=0)
    seen = sizes > _ROUNDING * np.linalg.norm(parts, axis=0)
    rest = _outside(left, rest[:, seen] / sizes[seen])
    vectors, values, _ = np.linalg.svd(rest, full_matrices=False)
    kept = vectors[:, values > _ROUNDING]
    return np.linalg.qr(_outside(left, kept))[0]


def _outside(left: np.ndarray, x: np.ndarray) -> np.ndarray:
    return x - left @ (left.T @ x)


def _flow(power: np.ndarray, state: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """``exp(rates ⊗ power) state`` by its Taylor series; the exponent's norm is at most about 1."""
    total = term = state
    order = 0
    while np.linalg.norm(term) > 1e-17 * np.linalg.norm(total):
        order += 1
        term = (power @ term) * (rates / order)
        total = total + term
    return total


def _normalized(states: np.ndarray) -> np.ndarray:
    return states / np.linalg.norm(states, axis=(-2, -1), keepdims=True)


def _check_increasing(values: Sequence[float], name: str) -> None:
    given = np.asarray(values)
    if np.any(np.diff(given, prepend=0) < 0):
        raise ValueError(f"{name} are {given.tolist()}; allowed are increasing ones from 0 on")
