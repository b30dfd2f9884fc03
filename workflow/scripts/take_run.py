"""Take splits from run files that were trained before."""

from flode.logs import start_log

start_log(snakemake.log[0], "take")

from flode.experiments.measured import take_run

take_run(snakemake.input, snakemake.params.splits, snakemake.output.run)
