"""Statistics of a graph as read and as built."""

import json

from flode.logs import start_log

start_log(snakemake.log[0], f"statistics {snakemake.wildcards.variant}")

from flode.datasets.build import graph_statistics
from flode.datasets.readers import read_raw
from flode.experiments.statistics import graph_report
from flode.files import write_text_atomic

settings = snakemake.params.settings
raw = (
    graph_statistics(read_raw(settings["format"], settings["files"])) if settings["files"] else None
)
report = graph_report(snakemake.input.graphs, snakemake.input.factors, settings, raw)
write_text_atomic(snakemake.output[0], json.dumps(report, indent=1) + "\n")
