"""Remove what was computed, and raw files where they are named."""

from flode.logs import start_log

start_log(snakemake.log[0])

from flode.experiments.cleaning import refuse_files_in_use, remove_computed, remove_raw

refuse_files_in_use([snakemake.params.results, snakemake.params.raw_folder])
remove_computed(snakemake.params.results, snakemake.params.computed)
if snakemake.params.raw:
    remove_raw(snakemake.params.raw, snakemake.params.raw_folder)
