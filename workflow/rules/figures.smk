# Figures, each with what it plots beside it.


rule figure:
    input:
        lambda wildcards: catalogue.figure_source(wildcards.figure),
    output:
        multiext(f"{RESULTS}/figures/{{figure}}", ".pdf", ".svg", ".csv"),
    log:
        f"{RESULTS}/logs/figures/{{figure}}.log",
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        settings=lambda wildcards: catalogue.figure_settings(wildcards.figure),
    message:
        "Figure {wildcards.figure}"
    script:
        "../scripts/figure.py"
