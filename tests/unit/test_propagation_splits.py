"""Every propagation path: splits side by side, subsets of nodes, dropout masks, sparse features."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

from flode.model import PATHS, Features, Operator, Request
from flode.model.network import Masks
from tests.unit.propagations import (
    DOUBLE,
    assert_close,
    draw_masks,
    gradients,
    library_parameters,
    literal_logits,
    masks_of_split,
    numbers,
    path_of,
    planes_of,
    random_parameters,
    served,
    small_case,
    split_of,
)


@served
def test_splits_side_by_side_equal_splits_alone(name, options):
    case = small_case(name, **options)
    path = path_of(case, name)
    parameters = random_parameters(case.architecture, 3)
    index = torch.tensor([[0, 6, 3], [5, 5, 1], [2, 0, 4]])
    for nodes in (path.operator.all_nodes, path.operator.nodes(index[0]), index):
        stacked = path.operator.nodes(nodes) if nodes is index else nodes
        together = path.logits(parameters, [Request(stacked, gradient=True)])[0]
        found = gradients(parameters, together, torch.ones(()))
        for split in range(3):
            own = path.operator.nodes(index[split]) if nodes is index else nodes
            single = split_of(parameters, split)
            alone = path.logits(single, [Request(own, gradient=True)])[0]
            assert_close(together[split : split + 1], alone, 1e-12)
            for parameter, gradient in gradients(single, alone, torch.ones(())).items():
                assert_close(found[parameter][split : split + 1], gradient, 1e-10, 1e-3)
    assert not torch.allclose(together[0], together[1])


@served
def test_nodes_asked_for_are_rows_of_all_nodes(name, options):
    case = small_case(name, **options)
    path = path_of(case, name)
    parameters = random_parameters(case.architecture, 2)
    every = path.logits(parameters, [Request(path.operator.all_nodes)])[0]
    shared = torch.tensor([6, 2, 2, 0])
    own = torch.tensor([[0, 1], [6, 4]])
    requests = [Request(path.operator.nodes(index)) for index in (shared, own, own[:, :0])]
    some, each, none = path.logits(parameters, requests)
    assert_close(some, every[:, :, shared], 1e-13)
    assert_close(each[0], every[0][:, own[0]], 1e-13)
    assert_close(each[1], every[1][:, own[1]], 1e-13)
    assert none.shape == (2, case.architecture.out_channels, 0)


@pytest.mark.parametrize("features", [True, False], ids=["input dropped", "input whole"])
@served
def test_dropout_masks_equal_the_literal_algorithm(name, options, features):
    """One mask for both planes, kept units not rescaled; masks act after LeakyReLU."""
    case = small_case(name, **options)
    architecture, path = case.architecture, path_of(case, name)
    parameters = random_parameters(architecture, 3)
    index = torch.tensor([[0, 6, 3, 4], [5, 2, 1, 0], [2, 0, 4, 6]])
    masks = draw_masks(architecture, 3, 7, 4, case.rng, features)
    request = Request(path.operator.nodes(index), masks, gradient=True)
    logits = path.logits(parameters, [request])[0]
    cotangent = torch.randn(logits.shape, dtype=DOUBLE, generator=torch.Generator().manual_seed(0))
    found = gradients(parameters, logits, cotangent)
    for split in range(3):
        expected_parameters = numbers(split_of(parameters, split), architecture)
        split_masks = masks_of_split(masks, split)
        expected = literal_logits(case, expected_parameters, split_masks, index[split])
        assert_close(logits[split].T, expected, 1e-10)
        expected_gradients = gradients(expected_parameters, expected, cotangent[split].T)
        scale = max(gradient.abs().max().item() for gradient in expected_gradients.values())
        for parameter, gradient in expected_gradients.items():
            gradient = planes_of(parameter, gradient, architecture)
            assert_close(found[parameter][split], gradient, 1e-9, 1e-3 * scale)
    whole = path.logits(parameters, [Request(path.operator.nodes(index))])[0]
    assert not torch.allclose(whole, logits)


@served
def test_one_mask_can_serve_all_splits(name, options):
    case = small_case(name, **options)
    path = path_of(case, name)
    parameters = random_parameters(case.architecture, 3)
    masks = draw_masks(case.architecture, 1, 7, 7, case.rng)

    def repeated(mask):
        return mask.expand(3, *mask.shape[1:])

    each = Masks(
        repeated(masks.input),
        [repeated(mask) for mask in masks.encoder],
        [repeated(mask) for mask in masks.decoder],
    )
    requests = [Request(path.operator.all_nodes, given, gradient=True) for given in (masks, each)]
    one, other = (path.logits(parameters, [request])[0] for request in requests)
    assert_close(one, other, 1e-13)
    expected = gradients(parameters, other, torch.ones(()))
    for parameter, gradient in gradients(parameters, one, torch.ones(())).items():
        assert_close(gradient, expected[parameter], 1e-12, 1e-6)
    evaluation = Request(path.operator.all_nodes)
    assert_close(path.logits(parameters, [requests[0], evaluation])[0], one, 1e-13)


@served
def test_an_evaluation_beside_a_training_step_changes_nothing(name, options):
    case = small_case(name, **options)
    architecture, path = case.architecture, path_of(case, name)
    parameters = random_parameters(architecture, 2)
    operator = path.operator
    own = torch.tensor([[0, 1], [3, 6]])
    masks = draw_masks(architecture, 2, 7, 2, case.rng)
    decoder_only = replace(masks, input=None, encoder=[None] * 9)
    for step_masks in (None, masks, replace(masks, input=None), decoder_only):
        step = Request(operator.nodes(own), step_masks, gradient=True)
        evaluation = Request(operator.nodes(torch.tensor([2, 4, 5])))
        other = Request(operator.nodes(torch.tensor([0, 5])))
        step_alone = path.logits(parameters, [step])[0]
        evaluation_alone = path.logits(parameters, [evaluation])[0]
        expected = gradients(parameters, step_alone, torch.ones(()))
        for requests in ([evaluation, step], [step, evaluation], [evaluation, step, other]):
            results = dict(zip(map(id, requests), path.logits(parameters, requests), strict=True))
            assert not results[id(evaluation)].requires_grad
            assert_close(results[id(evaluation)], evaluation_alone, 1e-14)
            assert_close(results[id(step)], step_alone, 1e-14)
            found = gradients(parameters, results[id(step)], torch.ones(()))
            for parameter, gradient in expected.items():
                assert_close(found[parameter], gradient, 1e-12, 1e-6)
        assert_close(results[id(other)], path.logits(parameters, [other])[0], 1e-14)


@served
def test_requests_without_input_dropout_share_one_pass(name, options, monkeypatch):
    case = small_case(name, **options)
    path = path_of(case, name)
    passes = []
    powers = Operator.powers
    monkeypatch.setattr(Operator, "powers", lambda *args: passes.append(1) or powers(*args))
    every = path.operator.all_nodes
    decoded = draw_masks(case.architecture, 1, 7, 7, case.rng).decoder
    step = Request(every, Masks(None, [None] * 2, decoded), gradient=True)
    path.logits(library_parameters(case), [Request(every), step, Request(every)])
    assert len(passes) == 1


@pytest.mark.parametrize("name", PATHS)
def test_no_gradients_under_no_grad(name):
    case = small_case(name)
    path = path_of(case, name)
    parameters = library_parameters(case)
    with torch.no_grad():
        logits = path.logits(parameters, [Request(path.operator.all_nodes, gradient=True)])[0]
    assert not logits.requires_grad


@pytest.mark.parametrize("name", PATHS)
def test_two_training_requests_add_their_gradients(name):
    case = small_case(name)
    path = path_of(case, name)
    parameters = library_parameters(case)
    operator = path.operator
    one, two = (operator.nodes(torch.tensor(index)) for index in ([0, 1], [4, 6]))
    both = operator.nodes(torch.tensor([0, 1, 4, 6]))
    masked = draw_masks(case.architecture, 1, 7, 2, case.rng)
    for masks in (None, masked):
        requests = [Request(one, gradient=True), Request(two, masks, gradient=True)]
        logits = path.logits(parameters, requests)
        alone = [path.logits(parameters, [request])[0] for request in requests]
        found = gradients(parameters, torch.cat(logits, dim=2), torch.ones(()))
        expected = gradients(parameters, torch.cat(alone, dim=2), torch.ones(()))
        for parameter, gradient in expected.items():
            assert_close(found[parameter], gradient, 1e-12, 1e-6)
    together = path.logits(parameters, [Request(both, gradient=True)])[0]
    halves = path.logits(parameters, [Request(one, gradient=True), Request(two, gradient=True)])
    assert_close(torch.cat(halves, dim=2), together, 1e-13)


def test_features_projected_ahead_equal_those_projected_on_the_way():
    case = small_case("powers")
    path = path_of(case, "powers")
    parameters = random_parameters(case.architecture, 2)
    masks = draw_masks(case.architecture, 2, 7, 7, case.rng)
    epochs = torch.stack([masks.input, 1 - masks.input])
    ahead = path.project_masked(epochs)
    assert ahead.shape == (2, 2, 2, case.factors.rank)
    every = path.operator.all_nodes
    for projected, same in ((ahead[0], True), (ahead[1], False)):
        requests = [
            Request(every, replace(masks, projected=given), gradient=True)
            for given in (None, projected)
        ]
        one, other = (path.logits(parameters, [request])[0] for request in requests)
        assert torch.allclose(one, other, rtol=0, atol=1e-12) == same


@pytest.mark.parametrize("on_gpu", [False, True], ids=["cpu", "gpu"])
def test_sparse_features_are_projected_under_a_mask_from_their_projection(on_gpu, monkeypatch):
    monkeypatch.setattr(Features, "on_gpu", on_gpu)
    case = small_case("powers")
    operator = Operator(case.factors, DOUBLE)
    dense = np.where(case.rng.random((7, 4)) < 0.5, case.rng.normal(size=(7, 4)), 0)
    dense[:, 1] = 0  # a feature that no node has
    features = Features(sparse.csr_array(dense), DOUBLE)
    plain = features.project(operator)
    assert_close(plain[:-1], torch.from_numpy(dense.T) @ operator.right, 1e-14, 1.0)
    assert_close(plain[-1], operator.right.sum(0), 1e-14, 1.0)
    entries = features.mask_shape
    for mask in (np.zeros(entries), np.ones(entries), case.rng.integers(0, 2, entries)):
        kept = np.zeros_like(dense)
        kept[dense.nonzero()] = dense[dense.nonzero()] * mask  # both go node by node
        expected = torch.from_numpy(kept.T) @ operator.right
        mask = torch.from_numpy(mask).to(DOUBLE)[None]
        found = features.project_masked(operator, mask, plain)[0]
        assert_close(found[:-1], expected, 1e-14, 1.0)
        assert torch.equal(found[-1], plain[-1])
        assert torch.equal(features.project_masked(operator, mask, plain[:-1])[0], found[:-1])


@pytest.mark.parametrize("dropped", [False, True], ids=["whole", "dropped"])
@served
def test_sparse_features_equal_dense_ones(name, options, dropped):
    case = small_case(name, **options)
    features = np.where(case.rng.random(case.features.shape) < 0.5, case.features, 0)
    masks = draw_masks(case.architecture, 1, 7, 7, case.rng) if dropped else None
    results = []
    for kind in (features, sparse.csr_array(features), sparse.coo_array(features)):
        path = path_of(case, name, features=kind)
        parameters = library_parameters(case)
        own = masks
        if dropped and sparse.issparse(kind):  # one mask entry for each stored entry
            rows, columns = sparse.csr_array(kind).nonzero()
            own = replace(masks, input=masks.input[:, columns, rows])
        request = Request(path.operator.all_nodes, own, gradient=True)
        logits = path.logits(parameters, [request])[0]
        results.append((logits, gradients(parameters, logits, torch.ones(()))))
    assert path.features.is_sparse
    for logits, found in results[1:]:
        assert_close(logits, results[0][0], 1e-13)
        for parameter, gradient in results[0][1].items():
            assert_close(found[parameter], gradient, 1e-12, 1e-6)


@served
def test_sparse_features_serve_many_splits_with_one_mask(name, options):
    case = small_case(name, **options)
    features = sparse.csr_array(np.where(case.rng.random((7, 2)) < 0.5, case.features, 0))
    path = path_of(case, name, features=features)
    parameters = random_parameters(case.architecture, 3)
    masks = draw_masks(case.architecture, 1, 7, 7, case.rng)
    masks = replace(masks, input=(torch.arange(features.nnz) % 2)[None].double())
    request = Request(path.operator.all_nodes, masks, gradient=True)
    together = path.logits(parameters, [request])[0]
    for split in range(3):
        alone = path.logits(split_of(parameters, split), [request])[0]
        assert_close(together[split : split + 1], alone, 1e-12)


@pytest.mark.parametrize("name", PATHS)
def test_sparse_features_may_all_be_zero(name):
    case = small_case(name)
    zeros = np.zeros_like(case.features)
    parameters = library_parameters(case)
    results = []
    for features in (zeros, sparse.csr_array(zeros)):
        path = path_of(case, name, features=features)
        logits = path.logits(parameters, [Request(path.operator.all_nodes, gradient=True)])[0]
        results.append((logits, gradients(parameters, logits, torch.ones(()))))
    assert_close(results[1][0], results[0][0], 1e-14)
    for parameter, gradient in results[0][1].items():
        assert_close(results[1][1][parameter], gradient, 1e-12, 1e-6)


@pytest.mark.filterwarnings("error")
def test_sparse_features_warn_of_nothing():
    features = Features(sparse.csr_array(np.eye(3)))
    assert torch.equal(features.dropped(None), torch.eye(3))
