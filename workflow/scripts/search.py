"""Choose hyperparameters by mean validation metric."""

from flode.logs import start_log

logger = start_log(snakemake.log[0], f"search {snakemake.wildcards.search}")

from flode.reporting.records import load_runs
from flode.reporting.search import search_table
from flode.reporting.tables import write_table

frame = search_table(snakemake.params.search["candidates"], load_runs(snakemake.input.runs))
write_table(frame, snakemake.output[0])
for row in frame[frame["chosen"] & ~frame["configured"]].itertuples():
    logger.info(
        "%s: %s is better on validation than the configured", row.variant, row.configuration
    )
