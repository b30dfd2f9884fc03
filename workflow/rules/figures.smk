# Figures, each with what it plots beside it.


rule figure:
    input:
        table=lambda wildcards: (
            f"{RESULTS}/tables/{config['figures'][wildcards.figure]['table']}.csv"
        ),
    output:
        multiext(f"{RESULTS}/figures/{{figure}}", ".pdf", ".svg", ".csv"),
    log:
        f"{RESULTS}/logs/figures/{{figure}}.log",
    params:
        settings=lambda wildcards: catalogue.figure_settings(wildcards.figure),
    message:
        "Figure {wildcards.figure}"
    script:
        "../scripts/figure.py"
