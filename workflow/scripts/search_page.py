"""Show a search as a page."""

from flode.logs import start_log

start_log(snakemake.log[0], f"page of search {snakemake.wildcards.search}")

from flode.reporting.pages import write_search_page

write_search_page(snakemake.params.settings, snakemake.input[0], snakemake.output[0])
