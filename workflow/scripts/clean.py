"""Remove what was computed, and raw files where they are named."""

from flode.logs import start_log

start_log(snakemake.log[0])

from flode.experiments.cleaning import remove_computed, remove_raw

remove_computed(snakemake.params.results, snakemake.params.computed)
if snakemake.params.raw:
    remove_raw(snakemake.params.raw, snakemake.params.raw_folder)
