"""The directed stochastic block model: what is drawn, how often, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from flode.datasets.dsbm import (
    ARRANGEMENTS,
    arranged_probabilities,
    check_probabilities,
    dsbm_edges,
    dsbm_graph,
    generate_graphs,
)
from tests.unit.strategies import seeds, stable

SIZES = [30, 20, 40]
ALPHA, BETA = arranged_probabilities(3, 0.3, 0.1, 0.2)


def draw_edges(sizes, alpha, beta, seed=0):
    return dsbm_edges(sizes, alpha, beta, np.random.default_rng(seed))


def small_graph(sizes=SIZES, alpha=ALPHA, beta=BETA, **options):
    options = {"train_per_cluster": 4, "num_validation": 10} | options
    return dsbm_graph(sizes, alpha, beta, **options)


def block_counts(edges, sizes):
    """How many edges point from a node of cluster i to one of cluster j."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    counts = np.zeros((len(sizes), len(sizes)), dtype=int)
    np.add.at(counts, tuple(labels[edges]), 1)
    return counts


def assert_binomial(count, trials, probability):
    """A count in neither tail beyond what five standard deviations leave of a normal one; exact
    where nothing is left to chance."""
    distribution = stats.binom(trials, probability)
    tail = min(distribution.cdf(count), distribution.sf(count - 1))
    assert tail > stats.norm.sf(5), f"{count} of {trials} at {probability}"


@st.composite
def models(draw):
    """Sizes, α and β, all arbitrary."""
    clusters = draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(1, 60), min_size=clusters, max_size=clusters))
    probability = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1))
    alpha, beta = np.zeros((2, clusters, clusters))
    for i in range(clusters):
        for j in range(i + 1):
            alpha[i, j] = alpha[j, i] = draw(probability)
            beta[i, j] = draw(probability) if i != j else 0.5
            beta[j, i] = 1 - beta[i, j]
    return sizes, alpha, beta


# Edges -------------------------------------------------------------------------------------------


@settings(stable, max_examples=100)
@given(models(), seeds)
def test_any_model_draws_a_simple_directed_graph(model, seed):
    sizes, alpha, beta = model
    edges = draw_edges(sizes, alpha, beta, seed)
    assert edges.dtype == np.int64
    assert edges.shape[0] == 2
    assert edges.size == 0 or (edges.min() >= 0 and edges.max() < sum(sizes))
    assert not np.any(edges[0] == edges[1])
    pairs = np.sort(edges, axis=0)
    assert np.unique(pairs, axis=1).shape == pairs.shape, "a pair is joined at most once"


@settings(stable, max_examples=100)
@given(models(), seeds)
def test_numbers_and_directions_of_edges_follow_the_probabilities(model, seed):
    sizes, alpha, beta = model
    counts = block_counts(draw_edges(sizes, alpha, beta, seed), sizes)
    for i in range(len(sizes)):
        pairs = sizes[i] * (sizes[i] - 1) // 2
        assert_binomial(counts[i, i], pairs, alpha[i, i])
        for j in range(i):
            joined = counts[i, j] + counts[j, i]
            assert_binomial(joined, sizes[i] * sizes[j], alpha[i, j])
            assert_binomial(counts[i, j], joined, beta[i, j])


def test_numbers_of_edges_at_the_papers_size():
    sizes = [500] * 5
    alpha, beta = arranged_probabilities(5, 0.1, 0.08, 0.05)
    counts = block_counts(draw_edges(sizes, alpha, beta), sizes)
    for i in range(5):
        assert_binomial(counts[i, i], 500 * 499 // 2, 0.1)
        for j in range(i):
            assert_binomial(counts[i, j], 250_000, 0.08 * 0.05)
            assert_binomial(counts[j, i], 250_000, 0.08 * 0.95)


def test_inside_a_cluster_either_direction_is_as_likely():
    edges = draw_edges([300], np.array([[0.5]]), np.array([[0.5]]))
    assert_binomial(np.sum(edges[0] < edges[1]), edges.shape[1], 0.5)


def test_degrees_are_binomial_within_a_block():
    """Pairs are drawn one by one: the degrees' variance is a binomial's."""
    edges = draw_edges([400], np.array([[0.3]]), np.array([[0.5]]))
    degrees = np.bincount(edges.ravel(), minlength=400)
    variance = 399 * 0.3 * 0.7
    assert degrees.var() == pytest.approx(variance, rel=5 * np.sqrt(2 / 400))


def test_certain_and_impossible_edges():
    alpha = np.array([[1.0, 0.0], [0.0, 0.0]])
    edges = draw_edges([5, 4], alpha, np.full((2, 2), 0.5))
    assert sorted(map(tuple, np.sort(edges, axis=0).T)) == [
        (u, v) for u in range(5) for v in range(u + 1, 5)
    ]
    alpha, beta = arranged_probabilities(2, 0, 1, 1)
    edges = draw_edges([3, 2], alpha, beta)
    assert sorted(map(tuple, edges.T)) == [(u, v) for u in (3, 4) for v in (0, 1, 2)]
    assert draw_edges([3, 2], np.zeros((2, 2)), beta).shape == (2, 0)


def test_lists_are_matrices_too():
    edges = draw_edges([2, 2], [[0, 1], [1, 0]], [[0.5, 1], [0, 0.5]])
    assert block_counts(edges, [2, 2]).tolist() == [[0, 4], [0, 0]]


# Arrangements ------------------------------------------------------------------------------------


def test_ordered():
    """An edge between clusters i > j points from i to j with probability β."""
    alpha, beta = arranged_probabilities(3, 0.5, 0.1, 0.2)
    assert alpha.tolist() == [[0.5, 0.1, 0.1], [0.1, 0.5, 0.1], [0.1, 0.1, 0.5]]
    np.testing.assert_allclose(beta, [[0.5, 0.8, 0.8], [0.2, 0.5, 0.8], [0.2, 0.2, 0.5]])


def test_cyclic():
    """Only neighbours on the circle are joined, from i + 1 to i with probability β."""
    alpha, beta = arranged_probabilities(4, 0.5, 0.1, 0.2, "cyclic")
    assert alpha.tolist() == [
        [0.5, 0.1, 0, 0.1],
        [0.1, 0.5, 0.1, 0],
        [0, 0.1, 0.5, 0.1],
        [0.1, 0, 0.1, 0.5],
    ]
    expected = [
        [0.5, 0.8, 0.5, 0.2],
        [0.2, 0.5, 0.8, 0.5],
        [0.5, 0.2, 0.5, 0.8],
        [0.8, 0.5, 0.2, 0.5],
    ]
    np.testing.assert_allclose(beta, expected)


def test_noisy_cyclic():
    """As the cyclic one, with every pair of clusters joined, others in either direction alike."""
    alpha, beta = arranged_probabilities(4, 0.5, 0.1, 0.2, "noisy_cyclic")
    assert alpha.tolist() == arranged_probabilities(4, 0.5, 0.1, 0.2)[0].tolist()
    assert beta.tolist() == arranged_probabilities(4, 0.5, 0.1, 0.2, "cyclic")[1].tolist()


def test_three_clusters_on_a_circle_are_all_neighbours():
    cyclic, noisy = (arranged_probabilities(3, 0.5, 0.1, 0.2, how) for how in ARRANGEMENTS[1:])
    np.testing.assert_array_equal(cyclic, noisy)
    assert (cyclic[0] > 0).all()


@settings(stable, max_examples=50)
@given(st.integers(1, 7), *[st.floats(0, 1)] * 3, st.sampled_from(ARRANGEMENTS))
def test_arrangements_are_models(clusters, within, between, direction, arrangement):
    alpha, beta = arranged_probabilities(clusters, within, between, direction, arrangement)
    check_probabilities([1] * clusters, alpha, beta)
    np.testing.assert_array_equal(np.diag(alpha), within)
    np.testing.assert_array_equal(np.diag(beta), 0.5)


def test_unknown_arrangements_and_no_clusters_are_refused():
    with pytest.raises(ValueError, match="'star'; allowed are ordered, cyclic, noisy_cyclic"):
        arranged_probabilities(3, 0.1, 0.1, 0.1, "star")
    with pytest.raises(ValueError, match="num_clusters is 0"):
        arranged_probabilities(0, 0.1, 0.1, 0.1)


# What is refused ---------------------------------------------------------------------------------

HALF = np.full((2, 2), 0.5)


@pytest.mark.parametrize(
    ("sizes", "alpha", "beta", "message"),
    [
        ([], HALF, HALF, r"list of integers, found \[\]"),
        (5, HALF, HALF, r"list of integers, found 5"),
        ([[1, 2]], HALF, HALF, r"list of integers, found \[\[1, 2\]\]"),
        ([2.5, 2], HALF, HALF, r"list of integers, found \[2.5, 2.0\]"),
        ([3, 0], HALF, HALF, r"cluster 1 has size 0"),
        ([3, 3, 3], HALF, HALF, r"alpha must have shape \(3, 3\), got \(2, 2\)"),
        ([3, 3], HALF, HALF[:1], r"beta must have shape \(2, 2\), got \(1, 2\)"),
        ([3, 3], [[0.5, 1.5], [1.5, 0.5]], HALF, r"alpha\[0, 1\] is 1\.5; .* \[0, 1\]"),
        ([3, 3], [[0.5, 0.5], [0.5, -0.1]], HALF, r"alpha\[1, 1\] is -0\.1"),
        ([3, 3], HALF, [[0.5, np.nan], [0.5, 0.5]], r"beta\[0, 1\] is nan"),
        ([3, 3], [[0.5, 0.2], [0.3, 0.5]], HALF, r"alpha\[0, 1\] is 0\.2, alpha\[1, 0\] is 0\.3"),
        ([3, 3], HALF, [[0.5, 0.7], [0.7, 0.5]], r"beta\[0, 1\] \+ beta\[1, 0\] is 1\.4"),
        ([3, 3], HALF, [[0.4, 0.5], [0.5, 0.5]], r"beta\[0, 0\] \+ beta\[0, 0\] is 0\.8"),
    ],
)
def test_what_is_no_model_is_refused_entry_by_entry(sizes, alpha, beta, message):
    for draw in (draw_edges, dsbm_graph):
        with pytest.raises(ValueError, match=message):
            draw(sizes, alpha, beta)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train_per_cluster": 21}, r"train_per_cluster is 21, but the smallest cluster has 20"),
        ({"train_per_cluster": 0}, r"train_per_cluster is 0"),
        ({"num_validation": -5}, r"num_validation is -5"),
        ({"num_validation": 78}, r"12 training and 78 validation nodes leave none of 90"),
        ({"normalization": "row"}, r"normalisation is 'row'"),
    ],
)
def test_splits_that_cannot_be_made_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        small_graph(**options)


# Graphs ------------------------------------------------------------------------------------------


def test_a_graph_has_clusters_as_labels_and_one_split_of_the_sizes_asked_for():
    graph = small_graph(train_per_cluster=5, num_validation=17)
    assert graph.labels.tolist() == [0] * 30 + [1] * 20 + [2] * 40
    assert graph.num_splits == 1
    assert np.bincount(graph.labels[graph.train[0]]).tolist() == [5, 5, 5]
    assert graph.validation.sum() == 17
    assert graph.test.sum() == 90 - 15 - 17
    assert (graph.train ^ graph.validation ^ graph.test).all()
    assert (graph.edge_weight == 1).all()


def test_the_last_node_can_be_the_only_one_to_test():
    assert small_graph(num_validation=77).test.sum() == 1


def test_splits_do_not_follow_the_order_of_nodes():
    graph = dsbm_graph([500] * 2, HALF / 5, HALF, train_per_cluster=100, num_validation=300)
    for mask in (graph.train[0], graph.validation[0]):
        chosen = np.flatnonzero(mask)
        assert abs(chosen.mean() - 499.5) < 5 * 1000 / np.sqrt(12 * len(chosen))
    assert_binomial(graph.validation[0, :500].sum(), 300, 0.5)


def test_features_are_normal_and_then_normalised_by_column():
    graph = small_graph(num_features=3)
    assert graph.features.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(graph.features, axis=0), 1, rtol=1e-6)
    raw = small_graph(num_features=3, normalization="none").features
    np.testing.assert_allclose(graph.features, raw / np.linalg.norm(raw, axis=0), rtol=1e-5)
    assert small_graph().features.shape == (90, 1)


def test_features_come_from_the_normal_distribution():
    values = small_graph(num_features=50, normalization="none").features.ravel()
    count = len(values)
    assert abs(values.mean()) < 5 / np.sqrt(count)
    assert abs(values.std() - 1) < 5 / np.sqrt(2 * count)
    assert_binomial(np.sum(np.abs(values) < 1), count, 0.6827)


def same(one, other, *names):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def test_the_seed_decides_everything():
    everything = ("features", "labels", "edge_index", "train", "validation", "test")
    assert same(small_graph(seed=3), small_graph(seed=3), *everything)
    for name in ("features", "edge_index", "train", "validation"):
        assert not same(small_graph(seed=3), small_graph(seed=4), name)
        assert not same(small_graph(seed=(3, 0)), small_graph(seed=(3, 1)), name)


def test_each_part_has_its_own_stream():
    graph = small_graph()
    other_split = small_graph(train_per_cluster=6, num_validation=20)
    assert same(graph, other_split, "features", "edge_index")
    assert not same(graph, other_split, "train", "validation")
    other_features = small_graph(num_features=4, normalization="none")
    assert same(graph, other_features, "edge_index", "train", "validation", "test")
    other_edges = small_graph(alpha=ALPHA / 2)
    assert same(graph, other_edges, "features", "train", "validation", "test")
    assert not same(graph, other_edges, "edge_index")


def test_no_two_parts_share_a_stream(monkeypatch):
    streams = []
    make = np.random.default_rng

    def record(seed):
        streams.append(tuple(seed.generate_state(4)))
        return make(seed)

    monkeypatch.setattr(np.random, "default_rng", record)
    small_graph()
    assert len(streams) == len(set(streams)) == 3


def test_the_papers_graph():
    alpha, beta = arranged_probabilities(5, 0.1, 0.1, 0.05)
    graph = dsbm_graph([500] * 5, alpha, beta)
    assert (graph.num_nodes, graph.num_classes, graph.num_features) == (2500, 5, 1)
    assert (graph.train.sum(), graph.validation.sum(), graph.test.sum()) == (100, 500, 1900)
    assert_binomial(graph.edge_index.shape[1], 2500 * 2499 // 2, 0.1)


SETTING = {
    "clusters": 3,
    "cluster_size": 30,
    "alpha_within": 0.3,
    "alpha_between": 0.1,
    "beta": 0.2,
    "arrangement": "ordered",
    "graphs": 3,
    "train_per_cluster": 4,
    "validation": 10,
    "features": 1,
    "normalization": "column_l2",
}


def test_a_setting_has_several_graphs_and_each_depends_on_its_number_alone():
    graphs = list(generate_graphs(SETTING, seed=7))
    assert len(graphs) == 3
    assert not same(graphs[0], graphs[1], "edge_index")
    assert not same(graphs[0], graphs[1], "train")
    first = next(iter(generate_graphs(SETTING | {"graphs": 1}, seed=7)))
    everything = ("features", "labels", "edge_index", "train", "validation", "test")
    assert same(first, graphs[0], *everything)
    alone = small_graph([30] * 3, seed=(7, 2))
    assert same(alone, graphs[2], *everything)
