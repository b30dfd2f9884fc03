"""Take the statistics of a graph from a file that was made before."""

from flode.logs import start_log

start_log(snakemake.log[0], "take")

from flode.experiments.measured import take_statistics

take_statistics(snakemake.input[0], snakemake.output[0])
