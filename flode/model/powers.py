"""Models with a linear encoder and few features: the features propagate in place of the states."""

from __future__ import annotations

import torch
from torch import Tensor

from flode.model.network import Masks, Parameters, Product, affine, drops_input
from flode.model.operator import Nodes, times
from flode.model.path import Path, Request, affine_columns, coefficients
from flode.model.planes import integer_power, multiply


class _WithDerivative(torch.autograd.Function):
    """Values ``(S, ·, n)`` as they are, whose derivative by α ``(S,)`` is known."""

    @staticmethod
    def forward(ctx, values, derivative, exponent):
        ctx.save_for_backward(derivative, exponent)
        return values.clone()

    @staticmethod
    def backward(ctx, gradient):
        derivative, exponent = ctx.saved_tensors
        slope = (gradient.detach() * derivative).sum(dim=(1, 2))
        return None, None, _OnlyOnce.apply(slope, gradient, exponent)


class _OnlyOnce(torch.autograd.Function):
    """A first derivative, whose own is not known: tied to what it depends on, so that nobody who
    asks for a second one is given a part of it."""

    @staticmethod
    def forward(ctx, slope, gradient, exponent):
        return slope.clone()

    @staticmethod
    def backward(ctx, gradient):
        raise RuntimeError(
            "the powers path has no second derivative by the exponent; take path='reduced' or"
            " 'spectral', or differentiate once"
        )


class Powers(Path):
    """Linear encoder with few features: ``x_T = Σ_j C(T,j) c^j ⊙ (Θ P_j)`` with
    ``P_j = [X, 1]ᵀ(L^α)ʲ``, a sum that cancels as T grows (``flode.paths.MAX_COLUMNS_LAYERS``).

    The columns P_j depend on the parameters through the scalar α alone: dP_j/dα is carried forward
    beside them, so that one pass over ``VᵀU`` serves the training step, its gradient and the
    evaluation, and backpropagation never touches it.
    """

    name = "powers"

    def __init__(self, architecture, operator, features, once=False):
        super().__init__(architecture, operator, features, once)
        self.plain = features.project(operator)
        self.columns = affine_columns(features, None)

    def project_masked(self, mask: Tensor) -> Tensor:
        """Features dropped by masks ``(..., F, N)``, in the right singular basis, ``(..., F, r)``.

        Masks do not depend on the parameters: many epochs' masks at once make one product.
        """
        return self.features.project_masked(self.operator, mask, self.plain[:-1])

    def states(self, parameters, requests):
        exponent = parameters["exponent"][:, 0]
        learned = exponent.requires_grad and torch.is_grad_enabled()
        # Block 0 is the bias; then the features, once plain and once for each dropout mask.
        blocks, own, tracked = [self.plain[-1:]], [], []
        plain = None
        for request in requests:
            masked = drops_input(request.masks)
            if masked or plain is None:
                own.append(len(blocks))
                blocks.append(self._projected(request.masks) if masked else self.plain[:-1])
                plain = plain if masked else own[-1]
            else:
                own.append(plain)
            if learned and request.gradient and own[-1] not in tracked:
                tracked.append(own[-1])
        blocks = [block.expand(len(exponent), -1, -1) for block in blocks]
        with torch.no_grad():
            moved, derivative = self._advance(blocks, tracked, exponent)
        results = []
        for request, block in zip(requests, own, strict=True):
            propagated = self._at(moved, block, request.nodes)
            if request.gradient and tracked:
                # The value is unchanged; the gradient by α is the derivative carried along.
                slope = self._at(derivative, 1 + tracked.index(block), request.nodes)
                propagated = _WithDerivative.apply(propagated, slope, exponent)
            with torch.set_grad_enabled(request.gradient and torch.is_grad_enabled()):
                results.append(self._combine(parameters, request, propagated))
        return results

    def _projected(self, masks: Masks) -> Tensor:
        return self.project_masked(masks.input) if masks.projected is None else masks.projected

    def _advance(
        self, blocks: list[Tensor], tracked: list[int], exponent: Tensor
    ) -> tuple[Tensor, Tensor]:
        """``σ^α`` times each power's columns, as U reads them: ``(S, powers, C, r)``, and the
        derivatives by α of the bias and the tracked blocks."""
        operator, layers = self.operator, self.architecture.num_layers
        powers = operator.powers(exponent)[:, None]
        width = self.features.num_features
        z = torch.cat(blocks, dim=1)

        def chosen(z):
            parts = [self._block(z, block, width) for block in tracked]
            return torch.cat([z[:, :1], *parts], dim=1) if parts else z[:, :0]

        slope = torch.zeros_like(chosen(z))
        values, slopes = [], []
        for layer in range(1, layers + 1):
            slope = powers * (operator.log_values * chosen(z) + slope)
            z = powers * z
            if self.architecture.ode or layer == layers:
                values.append(z)
                slopes.append(slope)
            if layer < layers and not operator.symmetric:
                both = times(torch.cat([z, slope], dim=1), operator.transition)
                z, slope = both.split([z.shape[1], slope.shape[1]], dim=1)
        return torch.stack(values, dim=1), torch.stack(slopes, dim=1)

    @staticmethod
    def _block(columns: Tensor, block: int, width: int) -> Tensor:
        """One block of features at axis -2: slices, as a list of indices would be copied to the
        device in every step, which a CUDA graph cannot hold."""
        return columns.narrow(-2, 1 + (block - 1) * width, width)

    def _at(self, moved: Tensor, block: int, nodes: Nodes) -> Tensor:
        """A block's columns and the bias's of ``(S, powers, C, r)``, read at nodes:
        ``(S, powers · (F + 1), n)``."""
        features = self._block(moved, block, self.features.num_features)
        return nodes.read(torch.cat([features, moved[:, :, :1]], dim=2).flatten(1, 2))

    def _combine(self, parameters: Parameters, request: Request, propagated: Tensor) -> Product:
        weight = affine(parameters)
        c = coefficients(self.architecture, parameters).transpose(2, 3)  # (S, P, K, 1)
        layers = self.architecture.num_layers
        if not self.architecture.ode:
            return Product(multiply(integer_power(c, layers), weight).flatten(1, 2), propagated)
        terms = [weight]
        for j in range(1, layers + 1):
            terms.append(multiply(terms[-1], c) * ((layers - j + 1) / j))
        dropped = drops_input(request.masks)
        start = affine_columns(self.features, request.masks) if dropped else self.columns
        start = request.nodes.take(start)
        right = torch.cat([start.expand(len(propagated), -1, -1), propagated], dim=1)
        return Product(torch.cat(terms, dim=-1).flatten(1, 2), right)
