"""Generate the graphs of a variant."""

from flode.logs import start_log

logger = start_log(snakemake.log[0], f"graphs {snakemake.wildcards.variant}")

from flode.datasets.dsbm import generate_graphs
from flode.datasets.graph import save_graphs

settings = snakemake.params.settings
graphs = list(generate_graphs(settings["generator"], settings["seed"]))
save_graphs(graphs, snakemake.output[0])
edges = ", ".join(str(graph.edge_index.shape[1]) for graph in graphs)
logger.info("%d graphs of %d nodes; edges: %s", len(graphs), graphs[0].num_nodes, edges)
