"""Show a table as a page."""

from flode.logs import start_log

start_log(snakemake.log[0], f"page of table {snakemake.wildcards.table}")

from flode.reporting.pages import write_table_page

write_table_page(
    snakemake.params.settings,
    snakemake.input.csv,
    snakemake.input.tex,
    snakemake.input.published,
    snakemake.output[0],
)
