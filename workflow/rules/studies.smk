# Studies: what is computed of graphs and operators, or gathered from runs, to be drawn.


rule study:
    input:
        unpack(lambda wildcards: catalogue.study_inputs(wildcards.study)),
        models=lambda wildcards: catalogue.model_files(catalogue.gathered_runs(wildcards.study)),
    output:
        f"{RESULTS}/studies/{{study}}.csv",
    log:
        f"{RESULTS}/logs/studies/{{study}}.log",
    threads: config["threads_large"]
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        settings=lambda wildcards: catalogue.study_settings(wildcards.study),
    message:
        "Study {wildcards.study}"
    script:
        "../scripts/study.py"
