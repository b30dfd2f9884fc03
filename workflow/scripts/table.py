"""Write a table as tidy CSV and as LaTeX."""

from flode.logs import start_log

logger = start_log(snakemake.log[0], f"table {snakemake.wildcards.table}")

from flode.reporting.stages import make_table

settings = snakemake.params.settings
frame = make_table(
    snakemake.wildcards.table,
    settings,
    snakemake.input.published,
    snakemake.input.runs,
    csv=snakemake.output.csv,
    tex=snakemake.output.tex,
)
verdicts = frame.loc[frame["verdict"] != "", "verdict"].value_counts()
logger.info(", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()))
