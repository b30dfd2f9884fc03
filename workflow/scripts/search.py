"""Choose hyperparameters by mean validation metric."""

from flode.logs import start_log

logger = start_log(snakemake.log[0], f"search {snakemake.wildcards.search}")

from flode.reporting.stages import make_search

frame = make_search(snakemake.params.search, snakemake.input.runs, snakemake.output[0])
for row in frame[frame["chosen"] & ~frame["configured"]].itertuples():
    logger.info(
        "%s: %s is better on validation than the configured", row.variant, row.configuration
    )
