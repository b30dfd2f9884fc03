"""Algorithm 1 of the paper, literally: dense complex matrices, layer by layer, all nodes."""

import torch
from torch.nn.functional import leaky_relu

SIGNS = {"schroedinger": 1j, "heat": 1.0}


def mlp(x, layers):
    """Linear layers ``[(weight, bias), ...]`` with LeakyReLU on real and imaginary part between."""
    for i, (weight, bias) in enumerate(layers):
        if i and x.is_complex():
            x = torch.complex(leaky_relu(x.real), leaky_relu(x.imag))
        elif i:
            x = leaky_relu(x)
        x = x @ weight.T + bias
    return x


def flode(x, U, sigma, Vh, encoder, decoder, W, alpha, h, *, num_layers, s, ode, normalize):
    """Logits and the states before each layer and after the last.

    ``W`` is ``(sets, K)``, ``alpha`` and ``h`` are ``(sets,)``; a layer takes its own set or the
    only one. ``sigma`` holds singular values, zero below the tolerance.
    """
    states = [mlp(x, encoder)]
    for t in range(num_layers):
        i = min(t, len(alpha) - 1)
        power = torch.where(sigma > 0, sigma.clamp(min=1e-300) ** alpha[i], 0.0).to(U.dtype)
        moved = s * (U @ (power[:, None] * (Vh @ states[-1]))) @ torch.diag(W[i])
        x = states[-1] + h[i] * moved if ode else moved
        if normalize and t < num_layers - 1:
            x = x / x.norm(dim=1, keepdim=True).clamp(min=1e-12)
        states.append(x)
    out = mlp(states[-1], decoder)
    return (out.abs() if out.is_complex() else out), states
