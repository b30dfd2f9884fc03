"""Remove what was computed, and raw files where they are named."""

from flode.logs import start_log

start_log(snakemake.log[0])

from flode.experiments.cleaning import refuse_files_in_use, remove_computed, remove_raw

results, raw_folder = snakemake.params.results, snakemake.params.raw_folder
raw = snakemake.params.raw
refuse_files_in_use([results, raw_folder] if raw else [results])
remove_computed(results, snakemake.params.computed)
if raw:
    remove_raw(raw, raw_folder)
