"""What is timed: sweeps over one size each, and named cases of the paper's sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flode.model import Architecture
from flode.paths import MAX_COLUMNS_LAYERS


@dataclass(frozen=True)
class Entry:
    """A contestant of the library: a path (``auto`` chooses), and how many splits side by side."""

    path: str
    splits: int = 1
    dropout: float = 0.0


@dataclass(frozen=True)
class Case:
    """One graph and model on which the contestants meet.

    Attributes:
        name: of the sweep, or of the case.
        nodes, rank, features, channels, layers: N, r, F, K and T; rank None is N.
        entries: the library's contestants.
        symmetric: whether L is; the spectral path gets a symmetric one all the same.
        per_node: stored entries a node of sparse features; None for dense features.
        cut: whether the literal algorithm gets rank r too, where the rank is what is varied.
        variant: of the configuration, whose graph is taken where its raw files are at hand.
        distinct: distinct rows of dense features; None for one a node.
        classes, encoder_layers, decoder_layers, normalize_layers: of the model.
        train, validation: fractions of the nodes in each split.
    """

    name: str
    nodes: int
    channels: int
    layers: int
    entries: tuple[Entry, ...]
    rank: int | None = None
    features: int = 16
    symmetric: bool = False
    per_node: int | None = None
    distinct: int | None = None
    cut: bool = False
    variant: str | None = None
    classes: int = 5
    encoder_layers: int = 1
    decoder_layers: int = 2
    normalize_layers: bool = False
    train: float = 0.48
    validation: float = 0.32

    @property
    def num_splits(self) -> int:
        return max(entry.splits for entry in self.entries)

    def architecture(self, features: int, classes: int, dropout: float = 0.0) -> Architecture:
        return Architecture(
            features,
            self.channels,
            classes,
            self.layers,
            encoder_layers=self.encoder_layers,
            decoder_layers=self.decoder_layers,
            normalize_layers=self.normalize_layers,
            input_dropout=dropout,
            decoder_dropout=dropout,
            # With h = 1 the state of a deep model leaves float32.
            step_size=min(1.0, 4 / self.layers),
        )


ALL = (Entry("general"), Entry("reduced"), Entry("powers"), Entry("spectral"))


def sweeps(quick: bool = False) -> list[Case]:
    """Sweeps over T, N, r, K and the number of splits, about one point."""
    base = Case("", nodes=300 if quick else 1000, channels=64, layers=4, entries=ALL)
    if quick:
        layers, nodes, ranks = (1, 4, 16), (150, 300, 600), (75, 150, 300, 600)
        channels, splits, tall = (16, 64), (1, 4), 600
    else:
        layers, nodes = (1, 2, 4, 8, 16, 64, 256), (250, 500, 1000, 2000, 4000)
        ranks, tall = (250, 500, 1000, 2000), 2000
        channels, splits = (16, 32, 64, 128, 256), (1, 2, 5, 10)
    no_powers = tuple(entry for entry in ALL if entry.path != "powers")
    entries = {t: ALL if t <= MAX_COLUMNS_LAYERS else no_powers for t in layers}
    cases = [replace(base, name="layers", layers=t, entries=entries[t]) for t in layers]
    cases += [replace(base, name="nodes", nodes=n) for n in nodes]
    cases += [replace(base, name="rank", nodes=tall, rank=r, cut=True) for r in ranks]
    cases += [replace(base, name="channels", channels=k) for k in channels]
    cases += [
        replace(base, name="splits", entries=tuple(replace(entry, splits=s) for entry in ALL))
        for s in splits
    ]
    return cases


#: Named cases: the chosen path with one split and with ten, and the others that fit with one.
_CHOSEN = (Entry("auto"), Entry("auto", splits=10))

_CHAMELEON = Case(
    "chameleon-directed",
    nodes=2277,
    rank=753,
    features=2325,
    per_node=22,
    channels=64,
    layers=5,
    entries=(*_CHOSEN, Entry("general")),
    variant="chameleon-directed",
)
_UNDIRECTED = replace(
    _CHAMELEON,
    name="chameleon-undirected",
    rank=1147,
    layers=4,
    symmetric=True,
    variant="chameleon-undirected",
)

NAMED = (
    Case(
        "dsbm",
        nodes=2500,
        channels=256,
        layers=3,
        # Its splits are different graphs. The last one drops units as the paper's runs do.
        entries=(Entry("auto"), Entry("reduced"), Entry("general"), Entry("auto", dropout=0.1)),
        features=1,
    ),
    _CHAMELEON,
    _UNDIRECTED,
    Case(
        "cora",
        nodes=2485,
        features=1433,
        per_node=18,
        channels=64,
        layers=2,
        entries=(*_CHOSEN, Entry("general")),
        symmetric=True,
        variant="cora",
        classes=7,
    ),
    # A fifth of Minesweeper's nodes: an epoch of the literal algorithm on all takes minutes.
    Case(
        "minesweeper",
        nodes=2000,
        features=7,
        distinct=7,
        channels=512,
        layers=4,
        entries=(*_CHOSEN, Entry("general")),
        symmetric=True,
        classes=2,
        encoder_layers=2,
        normalize_layers=True,
        train=0.5,
        validation=0.25,
    ),
)


def named(quick: bool = False) -> list[Case]:
    """The named cases; in a quick run at a fifth of their nodes, features and rank."""
    deep = replace(
        _UNDIRECTED,
        name="chameleon-undirected-deep",
        layers=64 if quick else 256,
        entries=_CHOSEN,
    )
    cases = [*NAMED, deep]
    if not quick:
        return cases
    return [
        replace(
            case,
            nodes=case.nodes // 5,
            rank=case.rank and case.rank // 5,
            features=max(1, case.features // 5),
            variant=None,
        )
        for case in cases
    ]
