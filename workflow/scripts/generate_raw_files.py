"""Generate the raw files of random graphs, each dataset in its format."""

from flode.logs import start_log

logger = start_log(snakemake.log[0], "raw files")

from flode.datasets.synthetic import synthetic_graph
from flode.datasets.writers import write_raw

for name, settings in snakemake.params.settings.items():
    graph = synthetic_graph(settings["generate"], settings["splits"], name, settings["seed"])
    write_raw(settings["format"], settings["files"], graph)
    logger.info("%s: %d nodes, %d edges", name, graph.num_nodes, graph.edge_index.shape[1])
