"""Speed of the library against the literal algorithm, in one run on one machine.

    python benchmarks/propagation.py [--threads 2] [--nodes 2500] [--channels 256] [--layers 3]

Times one training epoch with its evaluation on a directed stochastic block model, as the paper's
program does it (complex dense U and V in every layer, all nodes decoded twice, autograd through
everything) and as the library does it on each path that fits, and prints their ratios. Rounds of
the contestants alternate, so that another load on the machine meets them alike.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch

from flode.datasets.dsbm import arranged_probabilities, dsbm_graph
from flode.model import Architecture, Operator
from flode.model.planes import from_planes
from flode.spectral import factorize, sna
from flode.training.trainer import StackedTrainer, TrainingSettings

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests import literal


class Literal:
    """Training by Algorithm 1 as it stands: the contestant to beat."""

    name = "literal algorithm"

    def __init__(self, architecture, graph, factors, settings):
        self.architecture, self.graph = architecture, graph
        self.left = factors.left.to(torch.complex64)
        self.right = factors.right.T.to(torch.complex64).contiguous()
        self.values = factors.values.float()
        self.x = torch.from_numpy(graph.features).to(torch.complex64)
        self.labels = torch.from_numpy(graph.labels)
        self.masks = [torch.from_numpy(mask[0]) for mask in (graph.train, graph.validation)]
        self.parameters = {
            name: (
                value
                if name == "exponent"
                else from_planes(value.transpose(0, 1) if "." not in name else value)
            )
            .clone()
            .requires_grad_()
            for name, value in architecture.initial_parameters(settings.seed).items()
        }
        self.optimizer = torch.optim.Adam(
            self.parameters.values(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )

    def logits(self):
        p = self.parameters

        def layers(part, count):
            return [(p[f"{part}.{i}.weight"], p[f"{part}.{i}.bias"]) for i in range(count)]

        return literal.flode(
            self.x,
            self.left,
            self.values,
            self.right,
            layers("encoder", self.architecture.encoder_layers),
            layers("decoder", self.architecture.decoder_layers),
            p["channel_mixing"],
            p["exponent"],
            p["step_size"],
            num_layers=self.architecture.num_layers,
            s=self.architecture.sign * literal.SIGNS[self.architecture.equation],
            ode=self.architecture.ode,
            normalize=False,
        )[0]

    def step(self):
        train, validation = self.masks
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.logits()[train], self.labels[train])
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            right = self.logits()[validation].argmax(dim=1) == self.labels[validation]
            return right.float().mean().item()


def seconds_per_epoch(contestants, rounds, target=1.0):
    """Median seconds of an epoch of each contestant, rounds interleaved."""
    counts, times = {}, {contestant: [] for contestant in contestants}
    for contestant in contestants:
        contestant.step()
        started = time.perf_counter()
        contestant.step()
        once = time.perf_counter() - started
        counts[contestant] = max(1, round(target / once))
    for _ in range(rounds):
        for contestant in contestants:
            started = time.perf_counter()
            for _ in range(counts[contestant]):
                contestant.step()
            times[contestant].append((time.perf_counter() - started) / counts[contestant])
    return {contestant: statistics.median(values) for contestant, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=2500, help="a multiple of 5")
    parser.add_argument("--channels", type=int, default=256)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    alpha, beta = arranged_probabilities(5, 0.1, 0.1, 0.2)
    graph = dsbm_graph([options.nodes // 5] * 5, alpha, beta, num_validation=options.nodes // 5)
    factors = factorize(sna(graph.edge_index, graph.edge_weight, graph.num_nodes))
    factors = factors.to(dtype=torch.float32)
    settings = TrainingSettings(0.001, 0.001, epochs=10**9, patience=10**9)
    architecture = Architecture(
        1, options.channels, 5, options.layers, encoder_layers=1, decoder_layers=2
    )
    operator = Operator(factors)
    contestants = [Literal(architecture, graph, factors, settings)]
    for path in ("powers", "reduced", "general"):
        trainer = StackedTrainer(architecture, graph, operator, settings, path=path)
        trainer.name = f"library, {path} path" + (" (chosen)" if path == "powers" else "")
        contestants.append(trainer)
    dropping = Architecture(
        1,
        options.channels,
        5,
        options.layers,
        decoder_layers=2,
        input_dropout=0.1,
        decoder_dropout=0.1,
    )
    trainer = StackedTrainer(dropping, graph, operator, settings)
    trainer.name = f"library, {trainer.path.name} path, with the paper's dropout"
    contestants.append(trainer)
    agree(contestants)
    print(
        f"N = {options.nodes}, rank {factors.rank}, K = {options.channels}, T = {options.layers},"
        f" {options.threads} threads, torch {torch.__version__}, CPU; an epoch with its evaluation"
    )
    seconds = seconds_per_epoch(contestants, options.rounds)
    slowest = seconds[contestants[0]]
    for contestant, value in seconds.items():
        print(f"{contestant.name:55s} {1e3 * value:10.2f} ms {slowest / value:9.1f} x")


def agree(contestants):
    """The contestants compute the same: validation accuracies after one step each."""
    literal_one, *library = contestants
    expected = literal_one.step()
    for trainer in library[:-1]:  # the last one drops units
        trainer.step()
        trainer.step()
        found = trainer.best.item()
        if not np.isclose(found, expected, atol=0.01):
            raise SystemExit(f"{trainer.name} disagrees: {found} against {expected}")


if __name__ == "__main__":
    main()
