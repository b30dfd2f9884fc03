"""What a step of training is: Algorithm 1, its mean cross-entropy, PyTorch's Adam, and dropout."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from flode.model import Architecture, Operator
from flode.spectral import factorize, sna
from flode.training.trainer import StackedTrainer, TrainingSettings
from tests.unit.propagations import literal_logits, numbers, planes_of, split_of
from tests.unit.test_training import random_graph

GRAPH = random_graph()
LAPLACIAN = sna(GRAPH.edge_index, GRAPH.edge_weight, GRAPH.num_nodes)
MODELS = {
    "linear encoder": {},
    "deep, with dropout": {
        "input_dropout": 0.2, "decoder_dropout": 0.4, "encoder_layers": 2, "decoder_layers": 2,
    },
    "real, no ODE": {"equation": "heat", "complex_valued": False, "ode": False},
    "normalised": {"normalize_layers": True, "input_dropout": 0.5},
}  # fmt: skip


def trainer_of(model, **settings):
    settings = {"weight_decay": 0.1, "second_moment": "parts"} | settings
    settings = TrainingSettings(learning_rate=0.01, epochs=40, patience=40, seed=21, **settings)
    return StackedTrainer(model, GRAPH, Operator(factorize(LAPLACIAN), torch.float64), settings)


def masks_of(masks, split, size):
    """Of one split and its training nodes, as `literal_logits` takes them."""

    def own(mask, size=None):
        return None if mask is None else mask[split if len(mask) > 1 else 0, :, :size]

    if masks is None:
        return None
    return [own(m) for m in (masks.input, *masks.encoder)], [own(m, size) for m in masks.decoder]


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_steps_are_those_of_the_literal_algorithm(options):
    model = Architecture(3, 8, 2, 3, **options)
    trainer = trainer_of(model)
    case = SimpleNamespace(
        architecture=model, laplacian=LAPLACIAN.toarray(), features=GRAPH.features.astype(float)
    )
    literal = [numbers(split_of(trainer.values, split), model) for split in range(4)]
    optimizers = [torch.optim.Adam(own.values(), lr=0.01, weight_decay=0.1) for own in literal]
    labels = torch.from_numpy(GRAPH.labels)
    for epoch in range(6):
        masks = trainer.dropout.masks(epoch)
        for split, (own, optimizer) in enumerate(zip(literal, optimizers, strict=True)):
            nodes = torch.from_numpy(np.flatnonzero(GRAPH.train[split]))
            logits = literal_logits(case, own, masks_of(masks, split, len(nodes)), nodes)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(logits, labels[nodes]).backward()
            optimizer.step()
        trainer.step()
    for split, own in enumerate(literal):
        for name, value in own.items():
            expected = planes_of(name, value.detach(), model)
            torch.testing.assert_close(trainer.values[name][split], expected, rtol=0, atol=1e-10)


def test_masks_keep_units_at_their_rates_and_differ():
    """The input's and, of hidden and decoder layers, the decoder's."""
    model = Architecture(
        3, 64, 2, 2, encoder_layers=3, decoder_layers=2, input_dropout=0.2, decoder_dropout=0.4
    )
    trainer = trainer_of(model)
    drawn = [trainer.dropout.masks(epoch) for epoch in range(200)]
    kept = {"input": torch.cat([masks.input for masks in drawn])}
    for layer in range(2):
        kept[f"encoder {layer}"] = torch.cat([masks.encoder[layer] for masks in drawn])
        # Those of a split's own nodes; what is beyond is padding.
        kept[f"decoder {layer}"] = torch.cat([m.decoder[layer][:1, :, :20] for m in drawn])
    for name, masks in kept.items():
        assert set(masks.unique().tolist()) == {0.0, 1.0}
        assert masks.mean().item() == pytest.approx(0.8 if name == "input" else 0.6, abs=0.01), name
        assert len(torch.unique(masks.flatten(1), dim=0)) == 200, name
    assert not torch.equal(kept["encoder 0"], kept["encoder 1"])
    assert not torch.equal(kept["decoder 0"], kept["decoder 1"])


def test_a_loss_in_double_precision_is_weighted_in_it():
    assert trainer_of(Architecture(3, 8, 2)).train.weights.dtype == torch.float64


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": -0.01}, r"learning_rate is -0\.01; allowed is a finite number, at lea"),
        ({"learning_rate": float("nan")}, r"learning_rate is nan"),
        ({"weight_decay": -1.0}, r"weight_decay is -1\.0"),
        ({"weight_decay": float("inf")}, r"weight_decay is inf"),
        ({"patience": 0}, r"patience is 0"),
        ({"second_moment": "both"}, r"second_moment is 'both'; allowed are modulus, parts"),
    ],
)
def test_bad_settings_are_named(settings, message):
    usual = {"learning_rate": 0.01, "weight_decay": 0.0, "epochs": 5, "patience": 5}
    with pytest.raises(ValueError, match=message):
        TrainingSettings(**usual | settings)


@pytest.mark.parametrize("splits", [[], [0, 0], [-1], [4]])
def test_splits_that_cannot_be_trained_are_named(splits):
    operator = Operator(factorize(LAPLACIAN))
    with pytest.raises(ValueError, match=r"splits are \[.*allowed are some of 0 to 3, each once"):
        StackedTrainer(
            Architecture(3, 8, 2), GRAPH, operator, TrainingSettings(0.01, 0, 5, 5), splits
        )
