# Tables: published and measured numbers, tidy (.csv) and typeset (.tex) from the same frame.


rule statistics:
    input:
        graphs=f"{RESULTS}/graphs/{{variant}}.npz",
        factors=f"{RESULTS}/factors/{{variant}}.safetensors",
        raw=lambda wildcards: catalogue.raw_files(wildcards.variant),
    output:
        f"{RESULTS}/statistics/{{variant}}.json",
    log:
        f"{RESULTS}/logs/statistics/{{variant}}.log",
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        settings=lambda wildcards: catalogue.statistics_settings(wildcards.variant),
    message:
        "Statistics of {wildcards.variant}"
    script:
        "../scripts/statistics.py"


rule table:
    input:
        runs=lambda wildcards: catalogue.table_files(wildcards.table),
        models=lambda wildcards: catalogue.model_files(catalogue.table_runs(wildcards.table)),
        published=lambda wildcards: catalogue.published_files(wildcards.table),
    output:
        csv=f"{RESULTS}/tables/{{table}}.csv",
        tex=f"{RESULTS}/tables/{{table}}.tex",
    log:
        f"{RESULTS}/logs/tables/{{table}}.log",
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        settings=lambda wildcards: catalogue.table_settings(wildcards.table),
    message:
        "Table {wildcards.table}"
    script:
        "../scripts/table.py"
