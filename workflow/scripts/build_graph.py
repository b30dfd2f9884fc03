"""Build the graph of a variant from its raw files."""

from flode.logs import start_log

logger = start_log(snakemake.log[0], f"graph {snakemake.wildcards.variant}")

from flode.datasets.build import build_from_files
from flode.datasets.manifest import ManifestRow

expected = {path: ManifestRow(**row) for path, row in snakemake.params.expected.items()}
raw, graph = build_from_files(snakemake.params.settings, snakemake.resources.splits, expected)
graph.save(snakemake.output[0])
logger.info(
    "%d of %d nodes, %d edges, %d features, %d splits",
    graph.num_nodes,
    raw.num_nodes,
    graph.edge_index.shape[1],
    graph.num_features,
    graph.num_splits,
)
