"""FactorizeSNA in a PyTorch Geometric pipeline."""

import copy

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.transforms import Compose, ToUndirected

from flode import FLODE, Factors, factorize, sna
from flode.model.transforms import FactorizeSNA

EDGES = torch.from_numpy(np.random.default_rng(0).integers(0, 20, (2, 60)))
WEIGHTS = torch.rand(60, generator=torch.Generator().manual_seed(0)) + 0.5


def make_data(**more):
    x = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    return Data(x=x, edge_index=EDGES, y=torch.arange(20) % 3, **more)


def assert_factors(found, *args, **options):
    expected = factorize(*args, **options).to(dtype=torch.float32)
    assert isinstance(found, Factors)
    assert found.left.dtype == torch.float32
    assert found.values.dtype == torch.float64
    assert torch.equal(found.left, expected.left)
    assert torch.equal(found.values, expected.values)
    assert found.symmetric == expected.symmetric


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("flow", ["target_to_source", "source_to_target"])
def test_the_transform_attaches_the_factors_of_the_sna(flow, weights):
    data = make_data() if weights is None else make_data(edge_weight=weights)
    given = None if weights is None else weights.numpy()
    transformed = FactorizeSNA(flow=flow)(data)
    assert_factors(transformed.factors, sna(EDGES.numpy(), given, 20, flow))
    assert "factors" not in data, "the graph given is left as it is"
    assert transformed.x is data.x


def test_flow_and_weights_matter():
    one, other, weighted = (
        FactorizeSNA(flow=flow)(make_data(**more)).factors.fractional_power(1)
        for flow, more in (
            ("target_to_source", {}),
            ("source_to_target", {}),
            ("target_to_source", {"edge_weight": WEIGHTS}),
        )
    )
    assert torch.allclose(one, other.T, atol=1e-6)
    assert not torch.allclose(one, other, atol=1e-2)
    assert not torch.allclose(one, weighted, atol=1e-2)


def test_it_takes_the_options_of_the_factorisation():
    options = {"tolerance": 0.2, "dtype": torch.float32}
    found = FactorizeSNA(**options)(make_data()).factors
    laplacian = sna(EDGES.numpy(), None, 20)
    assert_factors(found, laplacian, **options)
    assert found.rank < factorize(laplacian).rank


@pytest.mark.parametrize("rank", [5, np.int64(5), 0.25, np.float32(0.25)])
def test_a_rank_truncates(rank):
    factors = FactorizeSNA(rank)(make_data()).factors
    assert (factors.rank, factors.truncated) == (5, True)


def test_it_composes_with_other_transforms():
    data = Compose([ToUndirected(), FactorizeSNA()])(make_data())
    assert data.factors.symmetric
    assert not FactorizeSNA()(make_data()).factors.symmetric


def test_a_batch_is_one_graph():
    one, other = make_data(), make_data(edge_weight=WEIGHTS)
    one.edge_weight = torch.ones(60)
    batch = FactorizeSNA()(Batch.from_data_list([one, other]))
    torch.manual_seed(0)
    model = FLODE(4, 8, 3, 2).eval()
    apart = [model(data.x, FactorizeSNA()(data).factors) for data in (one, other)]
    torch.testing.assert_close(
        model(batch.x, batch.factors), torch.cat(apart), rtol=1e-4, atol=1e-5
    )


def test_a_batch_of_graphs_with_factors_is_taken_apart_again():
    parts = [FactorizeSNA()(make_data()) for _ in range(2)]
    batch = FactorizeSNA()(Batch.from_data_list(parts))
    assert batch.factors.num_nodes == 40
    for given, back in zip(parts, batch.to_data_list(), strict=True):
        assert torch.equal(given.x, back.x) and torch.equal(given.edge_index, back.edge_index)


def test_weights_of_half_precision_are_taken():
    half = FactorizeSNA()(make_data(edge_weight=WEIGHTS.bfloat16())).factors
    assert_factors(half, sna(EDGES.numpy(), WEIGHTS.bfloat16().double().numpy(), 20))


def test_a_rank_that_is_none_is_refused_when_the_transform_is_made():
    with pytest.raises(ValueError, match="rank is -1"):
        FactorizeSNA(rank=-1)


def test_weights_may_be_learned_elsewhere():
    learned = WEIGHTS.clone().requires_grad_()
    assert not FactorizeSNA()(make_data(edge_weight=learned)).factors.left.requires_grad


def test_a_graph_without_edge_index_is_refused():
    with pytest.raises(ValueError, match=r"no edge_index; allowed is \(2, E\) int64"):
        FactorizeSNA()(Data(x=torch.ones(5, 1), num_nodes=5))


@pytest.mark.parametrize("rank", ["all", 0.0, 1.5, -1, np.float32(2)])
def test_a_rank_that_is_none_is_refused(rank):
    with pytest.raises(ValueError, match="rank is"):
        FactorizeSNA(rank)(make_data())


def test_a_graph_of_several_types_is_refused():
    with pytest.raises(ValueError, match=r"HeteroData; allowed is a Data.*to_homogeneous"):
        FactorizeSNA()(HeteroData())


def test_weights_whose_sum_overflows_are_refused():
    edges = torch.tensor([[0, 1, 1], [1, 0, 2]])
    weights = torch.full((3,), 1.5e308, dtype=torch.float64)
    data = Data(edge_index=edges, edge_weight=weights, num_nodes=3)
    with pytest.raises(ValueError, match=r"weights of node 1 sum to inf; divide all weights"):
        FactorizeSNA()(data)


def test_nodes_without_edges_count():
    data = Data(x=torch.ones(5, 1), edge_index=torch.tensor([[0], [1]]))
    factors = FactorizeSNA()(data).factors
    assert (factors.num_nodes, factors.rank) == (5, 1)


def test_bad_weights_are_named():
    with pytest.raises(ValueError, match=r"edge_weight\[0\] is -1.0"):
        FactorizeSNA()(make_data(edge_weight=-torch.ones(60)))


def test_data_carries_the_factors_along():
    data = FactorizeSNA()(make_data())
    for moved in (data.to("cpu"), copy.copy(data), copy.deepcopy(data), data.clone()):
        assert isinstance(moved.factors, Factors)
        assert torch.equal(moved.factors.left, data.factors.left)
        assert moved.factors.total_variance == data.factors.total_variance
    meta = copy.copy(data).to("meta")
    assert meta.x.device.type == "meta"
    assert meta.factors.left.device.type == "meta"
    assert meta.factors.right.device.type == "meta"


def test_a_model_trains_on_transformed_data():
    data = FactorizeSNA()(make_data())
    model = FLODE(4, 16, 3, num_layers=2)
    model.reset_parameters(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        logits = model(data.x, data.factors)
        loss = torch.nn.functional.cross_entropy(logits, data.y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    index = torch.tensor([1, 2])
    assert torch.allclose(
        model(data.x, data.factors, index), model(data.x, data.factors)[index], atol=1e-4
    )


@pytest.mark.parametrize("path", ["general", "spectral", "reduced", "columns", "powers"])
def test_factors_made_in_inference_mode_serve_a_training(path):
    data = ToUndirected()(make_data()) if path == "spectral" else make_data()
    with torch.inference_mode():
        data = FactorizeSNA()(data)
    model = FLODE(4, 4, 3, num_layers=2, path=path)
    model(data.x.clone(), data.factors).sum().backward()
    assert all(value.grad is not None for value in model.parameters())
