"""Sum up what the tables say."""

from flode.logs import start_log

start_log(snakemake.log[0], "summary")

from flode.reporting.summary import write_summary

write_summary(
    snakemake.params.settings, snakemake.input, snakemake.params.shows, snakemake.output[0]
)
