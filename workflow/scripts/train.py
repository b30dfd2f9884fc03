"""Train the splits of one run file."""

from flode.logs import start_log

start_log(snakemake.log[0], "train")

import torch

from flode.experiments.runs import run_configuration, write_run

torch.set_num_threads(snakemake.threads)
document = run_configuration(
    snakemake.params.settings,
    snakemake.input.graphs,
    snakemake.input.factors,
    snakemake.params.splits,
    device=snakemake.resources.device,
    checkpoint=snakemake.params.checkpoint,
)
write_run(document, snakemake.output[0], snakemake.params.checkpoint)
