"""Make the report of all that is there."""

import os
from pathlib import Path

from flode.logs import start_log

logger = start_log(snakemake.log[0], "report")

from flode.reporting.report import make_report

# Not a parameter: which device was asked for, say, must not have the report made again.
make_report(
    snakemake.config,
    Path(os.path.normpath(snakemake.scriptdir)).parents[1] / "Snakefile",
    snakemake.input,
    snakemake.output[0],
)
size = Path(snakemake.output[0]).stat().st_size / 2**20
logger.info("%s: %.1f MiB; open it in a browser", snakemake.output[0], size)
