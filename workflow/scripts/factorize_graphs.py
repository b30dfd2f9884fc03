"""Factorise the SNA of each graph of a variant."""

from flode.logs import start_log

start_log(snakemake.log[0], f"factors {snakemake.wildcards.variant}")

import torch

from flode.experiments.factorization import factorize_graphs
from flode.spectral.factors import save_factors

torch.set_num_threads(snakemake.threads)
save_factors(
    factorize_graphs(snakemake.input.graphs, snakemake.params.settings, snakemake.resources.device),
    snakemake.output[0],
)
