"""Who is timed: training by the literal algorithm, and by the library."""

from __future__ import annotations

from functools import cached_property

import torch
from scipy import sparse

from flode.datasets.graph import Graph
from flode.model import Architecture, Operator, Request
from flode.model.planes import from_planes
from flode.spectral import Factors
from flode.training.trainer import StackedTrainer, TrainingSettings
from tests import literal

#: Long enough that nobody stops while the clock runs.
SETTINGS = TrainingSettings(learning_rate=1e-3, weight_decay=1e-3, epochs=10**9, patience=10**9)

#: Largest difference of logits in float32, relative to the largest. The binomial sum loses most.
AGREEMENT = 1e-2


class Literal:
    """Training of a graph's first split by Algorithm 1 as it stands: the contestant to beat.

    Args:
        rank: columns of U and V. Where the factors have fewer, as their zeros are dropped, columns
            with a singular value of 0 fill up: the algorithm as written does not drop them.
    """

    name = "literal"

    def __init__(self, architecture: Architecture, graph: Graph, factors: Factors, rank, device):
        self.architecture = architecture
        missing = rank - factors.rank
        right = factors.left if factors.right is None else factors.right
        # Singular values, not signed eigenvalues, as an SVD gives them.
        left = factors.left * factors.values.sign().to(factors.left.dtype)
        filler = torch.randn(factors.num_nodes, missing, generator=torch.Generator().manual_seed(0))
        filler /= factors.num_nodes**0.5
        self.left, self.right = (
            torch.cat([vectors, filler], dim=1).to(device, torch.complex64)
            for vectors in (left, right)
        )
        self.right = self.right.T.contiguous()
        values = torch.cat([factors.values.abs(), torch.zeros(missing, dtype=torch.float64)])
        self.values = values.to(device, torch.float32)
        features = graph.features
        features = features.toarray() if sparse.issparse(features) else features
        self.x = torch.from_numpy(features).to(device, torch.complex64)
        self.labels = torch.from_numpy(graph.labels).to(device)
        masks = (graph.train, graph.validation)
        self.train, self.validation = (torch.from_numpy(mask[0]).to(device) for mask in masks)
        self.parameters = {
            name: _complex(name, value).to(device, copy=True).requires_grad_()
            for name, value in architecture.initial_parameters(SETTINGS.seed).items()
        }
        self.optimizer = torch.optim.Adam(
            self.parameters.values(), lr=SETTINGS.learning_rate, weight_decay=SETTINGS.weight_decay
        )

    def logits(self) -> torch.Tensor:
        p, model = self.parameters, self.architecture

        def layers(part, count):
            return [(p[f"{part}.{i}.weight"], p[f"{part}.{i}.bias"]) for i in range(count)]

        return literal.flode(
            self.x,
            self.left,
            self.values,
            self.right,
            layers("encoder", model.encoder_layers),
            layers("decoder", model.decoder_layers),
            p["channel_mixing"],
            p["exponent"],
            p["step_size"],
            num_layers=model.num_layers,
            s=model.sign * literal.SIGNS[model.equation],
            ode=model.ode,
            normalize=model.normalize_layers,
        )[0]

    @cached_property
    def first_logits(self) -> torch.Tensor:
        """Logits of the training nodes before any step, ``(classes, n)``."""
        with torch.no_grad():
            return self.logits()[self.train].T

    def step(self) -> float:
        """One epoch with its evaluation; the validation accuracy."""
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.logits()[self.train], self.labels[self.train])
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            predicted = self.logits()[self.validation].argmax(dim=1)
            return (predicted == self.labels[self.validation]).float().mean().item()


def trainer(
    architecture: Architecture, graph: Graph, operator: Operator, path: str, splits: int
) -> StackedTrainer:
    """The library's training of a graph's first splits, side by side."""
    return StackedTrainer(architecture, graph, operator, SETTINGS, list(range(splits)), path)


@torch.no_grad()
def check_agreement(expected: Literal, found: StackedTrainer) -> None:
    """Whether both compute the same logits from the same parameters, before any step.

    Raises:
        RuntimeError: they do not; there is nothing to compare then.
    """
    wanted = expected.first_logits
    request = Request(found.train.nodes)
    got = found.path.logits(found.values, [request])[0][0, :, : wanted.shape[1]]
    difference = float((got - wanted).abs().max() / wanted.abs().max())
    if not difference <= AGREEMENT:
        raise RuntimeError(
            f"the {found.path.name} path and the literal algorithm differ by {difference:.1e}"
        )


def _complex(name: str, value: torch.Tensor) -> torch.Tensor:
    if name == "exponent":
        return value
    return from_planes(value if "." in name else value.transpose(0, 1))
