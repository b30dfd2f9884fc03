"""Draw a figure from a table or a study."""

from pathlib import Path

from flode.logs import start_log

start_log(snakemake.log[0], f"figure {snakemake.wildcards.figure}")

from flode.reporting.stages import make_figure

make_figure(
    snakemake.params.settings, snakemake.input[0], Path(snakemake.output[0]).with_suffix("")
)
