"""Complex numbers as stacked real planes.

Everywhere in ``flode.model`` a tensor of numbers carries a *plane* axis P at position 1: P = 2 for
complex numbers (real part, imaginary part), P = 1 for real ones. Products with real matrices (the
singular vectors, the features) then are one real product over both planes, and the same code
serves real and complex models. Axis 0 holds the splits that are trained side by side.
"""

from __future__ import annotations

import torch
from torch import Tensor


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """Elementwise (complex) product of planes at axis 1; other axes broadcast."""
    if a.shape[1] == 1:
        return a * b
    (a_re, a_im), (b_re, b_im) = a.unbind(1), b.unbind(1)
    return torch.stack([a_re * b_re - a_im * b_im, a_re * b_im + a_im * b_re], dim=1)


def one_plus(a: Tensor) -> Tensor:
    """``1 + a``."""
    return torch.cat([a[:, :1] + 1, a[:, 1:]], dim=1)


def integer_power(a: Tensor, n: int) -> Tensor:
    """``a ** n`` for an integer n ≥ 1 by repeated squaring."""
    result = None
    while n:
        if n & 1:
            result = a if result is None else multiply(result, a)
        n >>= 1
        if n:
            a = multiply(a, a)
    return result


def block_matrix(weight: Tensor) -> Tensor:
    """Real matrix that acts on stacked planes as a complex matrix acts on complex vectors.

    Args:
        weight: ``(S, P, out, in)``.

    Returns:
        ``(S, P·out, P·in)``: ``[[A, −B], [B, A]]`` of ``A + iB``; A itself when P = 1.
    """
    if weight.shape[1] == 1:
        return weight[:, 0]
    re, im = weight.unbind(1)
    return torch.cat([torch.cat([re, -im], dim=2), torch.cat([im, re], dim=2)], dim=1)


def logits(a: Tensor) -> Tensor:
    """Real logits of the decoder's output: the modulus of complex numbers (with gradient 0 at 0),
    real numbers as they are. The plane axis goes."""
    return a[:, 0] if a.shape[1] == 1 else torch.complex(a[:, 0], a[:, 1]).abs()


def from_planes(planes: Tensor) -> Tensor:
    """Planes at axis 0 as a real or complex tensor."""
    return planes[0] if planes.shape[0] == 1 else torch.complex(planes[0], planes[1])
