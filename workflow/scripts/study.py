"""Compute a study, or gather it from runs."""

from flode.logs import start_log

start_log(snakemake.log[0], f"study {snakemake.wildcards.study}")

from flode.reporting.stages import make_study

inputs = {key: list(snakemake.input.get(key, [])) for key in ("graphs", "factors", "runs")}
make_study(snakemake.params.settings, **inputs, csv=snakemake.output[0])
