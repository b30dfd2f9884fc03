# Tables: published and measured numbers, tidy (.csv) and typeset (.tex) from the same frame.


rule table:
    input:
        runs=lambda wildcards: catalogue.files_of(catalogue.table_runs(wildcards.table)),
        published=lambda wildcards: config["tables"][wildcards.table]["published"],
    output:
        csv=f"{RESULTS}/tables/{{table}}.csv",
        tex=f"{RESULTS}/tables/{{table}}.tex",
    log:
        f"{RESULTS}/logs/tables/{{table}}.log",
    params:
        settings=lambda wildcards: catalogue.table_settings(wildcards.table),
    message:
        "Table {wildcards.table}"
    script:
        "../scripts/table.py"
