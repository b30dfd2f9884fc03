"""Write tables, studies and figures of what was run so far."""

from flode.logs import start_log

start_log(snakemake.log[0], "partial")

from flode.experiments.catalogue import Catalogue
from flode.reporting.partial import write_partial

write_partial(Catalogue(snakemake.config, snakemake.params.schemas), whole=True)
