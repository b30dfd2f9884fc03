"""Fetch and verify one raw file."""

from flode.logs import start_log

logger = start_log(snakemake.log[0], "download")

from flode.datasets.download import fetch
from flode.datasets.manifest import ManifestRow

fetch(
    snakemake.wildcards.source,
    snakemake.wildcards.path,
    snakemake.output[0],
    base=snakemake.params.settings["base"],
    mirror=snakemake.resources.mirror or None,
    manifest_row=ManifestRow(**snakemake.params.settings["row"]),
    progress=logger.info,
)
