"""Write tables, studies, figures and the report of what was run so far."""

import os
from pathlib import Path

from flode.logs import start_log

start_log(snakemake.log[0], "partial")

from flode.reporting.partial import show_partial

snakefile = Path(os.path.normpath(snakemake.scriptdir)).parents[1] / "Snakefile"
show_partial(snakemake.config, snakefile, whole=True)
