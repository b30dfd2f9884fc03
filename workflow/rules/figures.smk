# Figures, each with what it plots beside it.
from flode.experiments.captions import FIGURES, readable


rule figure:
    input:
        lambda wildcards: catalogue.figure_source(wildcards.figure),
    output:
        f"{RESULTS}/figures/{{figure}}.pdf",
        report(
            f"{RESULTS}/figures/{{figure}}.svg",
            caption="../report/caption.rst",
            category=FIGURES,
            labels=lambda wildcards: {"figure": readable(wildcards.figure), "as": "drawing"},
        ),
        report(
            f"{RESULTS}/figures/{{figure}}.csv",
            caption="../report/caption.rst",
            category=FIGURES,
            labels=lambda wildcards: {"figure": readable(wildcards.figure), "as": "numbers (CSV)"},
        ),
    log:
        f"{RESULTS}/logs/figures/{{figure}}.log",
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        settings=lambda wildcards: catalogue.figure_settings(wildcards.figure),
        caption=lambda wildcards: shown.figure_caption(wildcards.figure),
    message:
        "Figure {wildcards.figure}"
    script:
        "../scripts/figure.py"
