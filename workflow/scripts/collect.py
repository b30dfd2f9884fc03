"""Copy run files that were trained here to a folder of measured runs."""

import os
from pathlib import Path

from flode.logs import start_log

start_log(snakemake.log[0], "collect")

from flode.experiments.catalogue import Catalogue
from flode.experiments.measured import collect_runs

schemas = Path(os.path.normpath(snakemake.scriptdir)).parent / "schemas"
collect_runs(Catalogue(snakemake.config, schemas), snakemake.params.folder)
