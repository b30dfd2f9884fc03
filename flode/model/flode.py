"""FLODE as a PyTorch module."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import fields

import torch
from scipy import sparse
from torch import Tensor, nn

from flode.fractional import frequency_dominance
from flode.model.architecture import Architecture
from flode.model.network import Masks, Parameters, encode
from flode.model.operator import Features, as_tensor, operator_of
from flode.model.path import Path, Request, coefficients
from flode.model.planes import from_planes
from flode.model.propagation import PATHS, General, make_path
from flode.spectral.factors import Factors, resolve_rank


class FLODE(nn.Module):
    """Fractional Laplacian graph neural ODE (paper, Section 6 and Algorithm 1).

    Args:
        in_channels, hidden_channels, out_channels, num_layers, ...: see
            :class:`flode.model.architecture.Architecture`, which takes the same keywords.
        path: ``auto``, or the name of a propagation path to force; all give the same numbers.
        rank: propagate with this many leading singular values: None for all that the factors hold,
            a count, or a fraction of N.

    Example:
        >>> factors = factorize(sna(edge_index, None, num_nodes))
        >>> model = FLODE(in_channels=8, hidden_channels=64, out_channels=3, num_layers=4)
        >>> logits = model(x, factors)  # (num_nodes, 3)

    Complex parameters are kept as two real planes, the real parts first (see
    ``flode.model.planes``); :meth:`complex_parameter` gives one as a complex tensor. They are
    float32, whatever PyTorch's default is; ``.double()`` makes a model of float64, whose precision
    factors of ``flode.factorize`` have. A node's features reach all nodes: one that is no number
    makes none of any.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 1,
        path: str = "auto",
        rank: int | float | None = None,
        **options,
    ):
        super().__init__()
        unknown = set(options) - {field.name for field in fields(Architecture)}
        if unknown:
            allowed = ", ".join(field.name for field in fields(Architecture))
            raise ValueError(f"unknown option {sorted(unknown)[0]!r}; allowed are {allowed}")
        self.architecture = Architecture(
            in_channels, hidden_channels, out_channels, num_layers, **options
        )
        if path not in ("auto", *PATHS):
            raise ValueError(f"path is {path!r}; allowed are auto, {', '.join(PATHS)}")
        resolve_rank(rank, 1)  # refuses what is no rank of any graph
        self.path = path
        self.rank = rank
        self.names = {}
        # PyTorch 2.6 tells its default device outside `with torch.device(...)` only.
        device = torch.empty(0).device
        for name, value in self.architecture.initial_parameters().items():
            # Module attributes cannot hold a dot.
            self.names[name] = name.replace(".", "_")
            learned = name not in self.architecture.fixed_parameters
            parameter = nn.Parameter(value.to(device), requires_grad=learned)
            self.register_parameter(self.names[name], parameter)

    def reset_parameters(self, seed: int | None = None) -> None:
        """Draw all parameters anew, from a seed or PyTorch's global generator."""
        self.load_parameters(self.architecture.initial_parameters(seed))

    def parameters_by_name(self) -> dict[str, Tensor]:
        """Parameters under the names of ``Architecture.initial_parameters``."""
        return {name: getattr(self, attribute) for name, attribute in self.names.items()}

    def computed_parameters(self) -> list[str]:
        """Names of parameters that are computed from others (``torch.nn.utils.parametrize``)."""
        return [name for name, value in self.parameters_by_name().items() if not value.is_leaf]

    def load_parameters(self, parameters: dict[str, Tensor]) -> None:
        """Set parameters from tensors of the same names and shapes.

        Raises:
            ValueError: a name missing or unknown, a shape that does not fit, or parameters that are
                computed from others (``torch.nn.utils.parametrize``).
        """
        own = self.parameters_by_name()
        if computed := self.computed_parameters():
            raise ValueError(
                f"parameter {computed[0]!r} is parametrized, and so cannot be set; set what it is"
                " computed from, or remove the parametrization first"
            )
        if set(own) != set(parameters):
            odd = sorted(set(own) ^ set(parameters))[0]
            raise ValueError(f"parameter {odd!r} is missing or unknown; expected {sorted(own)}")
        for name, value in parameters.items():
            if value.shape != own[name].shape:
                raise ValueError(
                    f"parameter {name!r} has shape {tuple(value.shape)}, expected"
                    f" {tuple(own[name].shape)}"
                )
        with torch.no_grad():
            for name, value in parameters.items():
                own[name].copy_(value)

    def complex_parameter(self, name: str) -> Tensor:
        """A weight, bias, ``channel_mixing`` or ``step_size`` as a complex (or real) tensor.

        Raises:
            ValueError: a parameter that is none of these; names them.
        """
        named = self.parameters_by_name()
        if name == "exponent" or name not in named:
            allowed = ", ".join(sorted(set(named) - {"exponent"}))
            raise ValueError(f"name is {name!r}; allowed are {allowed} (exponents are real)")
        value = named[name].detach()
        return from_planes(value.transpose(0, 1) if "." not in name else value)

    def frequency_dominance(self, lambda_1: float) -> float:
        """FD of the equation that the layers solve (paper, Theorem 5.5), negative where the largest
        frequency dominates.

        They are Euler steps of ``x' = s L^α x hW``, s being 1 or i with the model's sign, of which
        the theorem compares the real parts of −s·hW.

        Args:
            lambda_1: smallest eigenvalue of the SNA (`flode.spectral.smallest_eigenvalue`) of an
                undirected graph.

        Raises:
            ValueError: no ODE, layers of their own W, or α ≤ 0: the theorem is not of these.
        """
        architecture, exponent = self.architecture, self.exponent[0].item()
        if not (architecture.ode and architecture.shared_weights and exponent > 0):
            raise ValueError(
                f"ode is {architecture.ode}, shared_weights {architecture.shared_weights} and"
                f" exponent {exponent:.4g}; the theorem is of the ODE, one W, and exponents above 0"
            )
        c = coefficients(architecture, self._stacked()).detach()
        return frequency_dominance(-c[0, 0, 0].cpu().numpy(), exponent, lambda_1)

    def forward(self, x: Tensor, factors: Factors, index: Tensor | None = None) -> Tensor:
        """Logits of all nodes, or of those in ``index``.

        Args:
            x: ``(N, F)`` features, real.
            factors: factorised SNA of the graph.
            index: ``(n,)`` int64, nodes wanted; None for all.

        Returns:
            ``(N, classes)`` or ``(n, classes)`` logits, moduli of complex numbers, in the dtype of
            the parameters, autocast or not.

        Raises:
            ValueError: parameters that are neither float32 nor float64, features that do not fit
                the graph or ``in_channels``, an index of another shape or dtype, or fewer singular
                values than ``rank`` asks for.
        """
        with self._own_precision():
            path = self._path(x, factors, self.path)
            nodes, num_decoded = path.operator.all_nodes, path.operator.num_nodes
            if index is not None:
                nodes, num_decoded = path.operator.nodes(_checked(index)), len(index)
            masks = self._draw_masks(path.features, num_decoded) if self.training else None
            request = Request(nodes, masks, gradient=torch.is_grad_enabled())
            return path.logits(self._stacked(), [request])[0][0].T

    @torch.no_grad()
    def trajectory(self, x: Tensor, factors: Factors) -> list[Tensor]:
        """States ``(N, K)`` before the first layer and as each layer's update leaves them (before
        any normalisation), complex or real, without dropout.

        The Dirichlet energy along the layers is theirs: see
        :func:`flode.spectral.normalized_dirichlet_energy`.
        """
        with self._own_precision():
            path, stacked = self._path(x, factors, General.name), self._stacked()
            start = encode(self.architecture, stacked, path.features, None)
            states = path.trajectory(stacked, start)
        planes = self.architecture.planes
        return [from_planes(state[0].unflatten(0, (planes, -1))).T for state in states]

    def _own_precision(self):
        """No autocast: what an operator keeps ready would be of its half precision for good."""
        kind = self.channel_mixing.device.type
        available = torch.amp.is_autocast_available(kind)  # not on the meta device
        return torch.autocast(kind, enabled=False) if available else nullcontext()

    def _path(self, x: Tensor, factors: Factors, name: str) -> Path:
        """The propagation of one call, on what was checked."""
        like = self.channel_mixing
        if like.dtype not in (torch.float32, torch.float64):
            raise ValueError(f"parameters are {like.dtype}; allowed are torch.float32, float64")
        if not isinstance(factors, Factors):
            raise ValueError(
                f"factors is a {type(factors).__name__}; allowed are the Factors of"
                " flode.factorize, or data.factors after flode.FactorizeSNA (of a Batch of graphs,"
                " after flode.FactorizeSNA()(batch))"
            )
        if x is None:
            raise ValueError("x is None; allowed are (N, F) features of the nodes (data.x)")
        if not sparse.issparse(x):
            x = as_tensor(x)
        layout = getattr(x, "layout", torch.strided)
        if x.ndim != 2 or layout != torch.strided or "complex" in str(x.dtype):
            raise ValueError(
                f"x has shape {tuple(x.shape)}, dtype {x.dtype} and layout {layout};"
                " allowed is a dense real (N, F) tensor or array, or a scipy sparse array"
            )
        operator = operator_of(factors, like.dtype, like.device, self.rank)
        features = Features(x, operator.left.dtype, operator.left.device)
        return make_path(self.architecture, operator, features, name, once=True)

    def _stacked(self) -> Parameters:
        return {name: value[None] for name, value in self.parameters_by_name().items()}

    def _draw_masks(self, features: Features, num_decoded: int) -> Masks:
        architecture, like = self.architecture, self.channel_mixing

        def draw(probability, *shape):
            if probability == 0:
                return None
            uniform = torch.rand(1, *shape, device=like.device, dtype=like.dtype)
            return (uniform >= probability).to(like.dtype)

        hidden = architecture.hidden_channels
        dropout = architecture.decoder_dropout
        return Masks(
            draw(architecture.input_dropout, *features.mask_shape),
            [
                draw(dropout, hidden, features.num_nodes)
                for _ in range(architecture.encoder_layers - 1)
            ],
            [draw(dropout, hidden, num_decoded) for _ in range(architecture.decoder_layers)],
        )

    def extra_repr(self) -> str:
        return str(self.architecture)


def _checked(index: Tensor) -> Tensor:
    """``(n,)`` nodes.

    Raises:
        ValueError: another type, shape or dtype.
    """
    if not isinstance(index, Tensor):
        raise ValueError(f"index is a {type(index).__name__}; allowed is an int64 tensor (n,)")
    if index.dim() != 1 or index.dtype != torch.int64:
        raise ValueError(
            f"index has shape {tuple(index.shape)} and dtype {index.dtype}; allowed is (n,) and"
            " torch.int64 (of a mask, take mask.nonzero()[:, 0])"
        )
    return index
