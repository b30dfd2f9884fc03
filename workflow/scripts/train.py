"""Train the splits of one run file, and keep their models where they are asked for."""

from flode.logs import start_log

start_log(snakemake.log[0], "train")

import torch

from flode.experiments.models import TrainedModels
from flode.experiments.runs import claim_run, run_configuration, write_run

claim_run(snakemake.params.checkpoint)
torch.set_num_threads(snakemake.threads)
kept = snakemake.output.get("models")
models = TrainedModels() if kept else None
document = run_configuration(
    snakemake.params.settings,
    snakemake.input.graphs,
    snakemake.input.get("factors"),
    snakemake.params.splits,
    device=snakemake.resources.device,
    checkpoint=snakemake.params.checkpoint,
    models=models,
    model_class=snakemake.resources.model_class or None,
)
if kept:
    models.save(kept, document)
write_run(document, snakemake.output.run, snakemake.params.checkpoint)
