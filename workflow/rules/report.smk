# The report: pages of tables and searches, a summary that opens it, and all of it in one HTML file.
from flode.experiments.captions import SEARCHES, category, readable

# Snakemake's report opens with it, once it is there.
if Path(shown.summary).exists():

    report: Path(shown.summary).resolve()


localrules:
    table_page,
    search_page,
    summary,
    report,


rule table_page:
    input:
        csv=f"{RESULTS}/tables/{{table}}.csv",
        tex=f"{RESULTS}/tables/{{table}}.tex",
        published=lambda wildcards: catalogue.published_files(wildcards.table),
    output:
        report(
            f"{RESULTS}/report/tables/{{table}}.html",
            caption="../report/caption.rst",
            category=lambda wildcards: category(catalogue, wildcards.table),
            labels=lambda wildcards: {"table": shown.table_title(wildcards.table)},
        ),
    log:
        f"{RESULTS}/logs/report/tables/{{table}}.log",
    wildcard_constraints:
        table=r"[^/]+",
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        settings=lambda wildcards: shown.page_settings(wildcards.table),
        caption=lambda wildcards: shown.table_caption(wildcards.table),
    message:
        "Page of table {wildcards.table}"
    script:
        "../scripts/table_page.py"


rule search_page:
    input:
        f"{RESULTS}/search/{{search}}.csv",
    output:
        report(
            f"{RESULTS}/report/search/{{search}}.html",
            caption="../report/caption.rst",
            category=SEARCHES,
            labels=lambda wildcards: {"search": readable(wildcards.search)},
        ),
    log:
        f"{RESULTS}/logs/report/search/{{search}}.log",
    wildcard_constraints:
        search=r"[^/]+",
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        settings=lambda wildcards: shown.search_settings(wildcards.search),
        caption=lambda wildcards: shown.search_caption(wildcards.search),
    message:
        "Page of search {wildcards.search}"
    script:
        "../scripts/search_page.py"


rule summary:
    input:
        shown.summary_inputs(),
    output:
        shown.summary,
    log:
        f"{RESULTS}/logs/report/summary.log",
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        settings=shown.summary_settings(),
        shows=shown.items(),
    message:
        "Summary of all verdicts"
    script:
        "../scripts/summary.py"


# By a second Snakemake, which reads what this one has written. It runs where Snakemake runs.
rule report:
    input:
        shown.summary,
        shown.items(),
    output:
        shown.file,
    log:
        f"{RESULTS}/logs/report/report.log",
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        version=versions.REPORT,
    message:
        "Report: {output}"
    script:
        "../scripts/report.py"
