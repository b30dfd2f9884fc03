"""Random raw graphs, written in the published formats and read again."""

import numpy as np
import pytest
import yaml

from flode.datasets.build import build_graph, graph_statistics
from flode.datasets.readers import read_raw
from flode.datasets.registry import FORMATS
from flode.datasets.synthetic import BACKGROUND, synthetic_graph
from flode.datasets.writers import write_raw
from flode.experiments.catalogue import Catalogue
from tests.configuration import ROOT, SCHEMAS, configuration
from tests.unit.rawfiles import example

QUICK = Catalogue(configuration(yaml.safe_load((ROOT / "config/quick.yaml").read_text())), SCHEMAS)
GENERATED = QUICK.generated_raw_settings()
PLAIN = {
    "arrangement": "cyclic",
    "clusters": 4,
    "cluster_size": 50,
    "alpha_within": 0.01,
    "alpha_between": 0.1,
    "beta": 0.9,
    "features": 80,
    "signal": 0.4,
    "directed": True,
}
PECULIAR = PLAIN | {"repeated": 7, "self_loops": 5, "isolated": 6}


def written(name, settings, root):
    """A generated dataset, and what is read of its files."""
    graph = synthetic_graph(settings["generate"], settings["splits"], name, settings["seed"])
    files = {
        role: [root / path for path in found] if isinstance(found, list) else root / found
        for role, found in settings["files"].items()
    }
    write_raw(settings["format"], files, graph)
    return graph, read_raw(settings["format"], files)


@pytest.mark.parametrize("name", GENERATED)
def test_what_is_generated_is_read_and_built(name, tmp_path):
    settings = GENERATED[name]
    graph, raw = written(name, settings, tmp_path)
    np.testing.assert_array_equal(raw.labels, graph.labels)
    for mask in ("train", "validation", "test"):
        np.testing.assert_array_equal(getattr(raw, mask), getattr(graph, mask))
        assert getattr(raw, mask).shape == (settings["splits"], raw.num_nodes)
    edges = {tuple(edge) for edge in graph.edge_index.T.tolist()}
    if settings["format"] == "planetoid":  # lists both directions
        edges |= {(target, source) for source, target in edges}
    assert {tuple(edge) for edge in raw.edge_index.T.tolist()} == edges
    found = graph_statistics(raw)
    assert found["features"] == settings["generate"]["features"]
    assert found["classes"] == settings["generate"]["clusters"]
    assert found["unlabelled"] == settings["generate"].get("unlabelled", 0)
    assert found["self_loops"] == settings["generate"].get("self_loops", 0)
    homophilic = name in ("cora", "citeseer", "pubmed")
    assert found["homophily"] > 0.6 if homophilic else found["homophily"] < 0.45
    for variant, build in QUICK._registry.variants.items():
        if build.dataset == name:
            metric = QUICK.graph_settings(variant)["metric"]
            built = build_graph(raw, build, metric)
            assert built.num_nodes > 0.9 * raw.num_nodes, variant


def test_every_format_is_among_them():
    assert {settings["format"] for settings in GENERATED.values()} == set(FORMATS)


def test_peculiarities():
    plain = synthetic_graph(PLAIN, 2, "a", 0).edge_index
    graph = synthetic_graph(PECULIAR, 2, "a", 0)
    edges = graph.edge_index
    assert len(np.unique(edges, axis=1).T) == edges.shape[1] - 7
    assert (edges[0] == edges[1]).sum() == 5
    assert graph.num_nodes - len(np.unique(edges)) >= 6
    assert not (plain[0] == plain[1]).any()
    missing = synthetic_graph(PLAIN | {"unlabelled": 9}, 2, "a", 0)
    nodes = np.flatnonzero(missing.labels < 0)
    assert len(nodes) == 9 and nodes.min() >= 140 and nodes.max() < 199
    assert not missing.features[nodes].any()


def test_directions_and_classes():
    graph = synthetic_graph(PLAIN, 2, "a", 0)
    steps = np.diff(graph.labels[graph.edge_index], axis=0)[0] % 4
    counts = np.bincount(steps, minlength=4)
    assert counts[2] == 0 and counts[3] > 5 * counts[1]  # nine of ten to the class before
    both = synthetic_graph(PLAIN | {"reciprocal": 1}, 2, "a", 0).edge_index
    assert {tuple(e) for e in both.T.tolist()} == {tuple(e) for e in both[::-1].T.tolist()}
    once = synthetic_graph(PLAIN | {"directed": False}, 2, "a", 0).edge_index
    assert (once[0] < once[1]).all()
    own = graph.labels[:, None] == np.arange(80) % 4
    assert graph.features[own].mean() == pytest.approx(0.4, abs=0.05)
    assert graph.features[~own].mean() == pytest.approx(BACKGROUND, abs=0.02)
    sizes = [graph.train.sum(1), graph.validation.sum(1), graph.test.sum(1)]
    assert np.array(sizes).tolist() == [[100, 100], [50, 50], [50, 50]]


def test_same_seed_same_bytes_and_another_name_another_graph(tmp_path):
    settings = GENERATED["citeseer"]
    for folder in ("a", "b"):
        written("citeseer", settings, tmp_path / folder)
    files = [path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.*")]
    files = [path for path in files if (tmp_path / "a" / path).is_file()]
    assert len(files) == 9
    for path in files:
        assert (tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes()
    graphs = [synthetic_graph(PLAIN, 1, *key) for key in (("a", 0), ("b", 0), ("a", 1))]
    assert len({graph.edge_index.tobytes() for graph in graphs}) == 3


@pytest.mark.parametrize("change", [{"isolated": 190, "self_loops": 20}, {"unlabelled": 60}])
def test_more_special_nodes_than_there_are(change):
    with pytest.raises(ValueError, match="of 200 nodes, at most 59 may be unlabelled"):
        synthetic_graph(PLAIN | change, 1, "a", 0)


def test_a_graph_that_its_format_cannot_hold(tmp_path):
    graph = example(num_nodes=30)
    with pytest.raises(ValueError, match="format is 'csv'; allowed are planetoid"):
        write_raw("csv", {}, graph)
    graph.labels[29] = -1
    files = {"archive": tmp_path / "a.npz", "edges": tmp_path / "e", "features": tmp_path / "f"}
    for format in ("heterophilous", "geom_gcn"):
        with pytest.raises(ValueError, match=f"node 29 has no label; format {format}"):
            write_raw(format, files, graph)
    with pytest.raises(ValueError, match=r"without a label are \[29\]; .* allows 21 to 28"):
        write_raw("planetoid", {}, graph)
    graph.labels[graph.labels < 1] = 2
    with pytest.raises(ValueError, match="class 0 has no node"):
        write_raw("planetoid", {}, graph)
    assert not list(tmp_path.iterdir())
