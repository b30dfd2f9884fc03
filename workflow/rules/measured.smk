# Runs that were trained before: taken where `measured` names a folder of them, and collected in one.

if MEASURED := catalogue.config["measured"]:

    # Before `train` where such a run is there (else its input never is); no graph is needed then.
    rule take_run:
        input:
            lambda wildcards: measured_files(
                catalogue,
                Run(wildcards.variant, wildcards.configuration),
                wildcards.first,
                wildcards.last,
            )
            or f"{MEASURED}/.none",
        output:
            run=f"{RESULTS}/runs/{{variant}}/{{configuration}}/splits-{{first}}-{{last}}.json",
        log:
            f"{RESULTS}/logs/runs/{{variant}}/{{configuration}}/splits-{{first}}-{{last}}.log",
        localrule: True
        params:
            settings=lambda wildcards: catalogue.train_settings(
                Run(wildcards.variant, wildcards.configuration),
                catalogue.splits(wildcards.variant, wildcards.first, wildcards.last),
            ),
            splits=lambda wildcards: catalogue.splits(
                wildcards.variant, wildcards.first, wildcards.last
            ),
        message:
            "Taking {wildcards.variant}, {wildcards.configuration}, splits {wildcards.first} to {wildcards.last}"
        script:
            "../scripts/take_run.py"

    ruleorder: train_keeping_models > take_run > train

    rule take_statistics:
        input:
            lambda wildcards: measured_statistics(catalogue, wildcards.variant)
            or f"{MEASURED}/.none",
        output:
            f"{RESULTS}/statistics/{{variant}}.json",
        log:
            f"{RESULTS}/logs/statistics/{{variant}}.log",
        localrule: True
        params:
            settings=lambda wildcards: catalogue.statistics_settings(wildcards.variant),
        message:
            "Taking the statistics of {wildcards.variant}"
        script:
            "../scripts/take_statistics.py"

    ruleorder: take_statistics > statistics


# What has been trained under results/runs, copied to that folder.
rule collect:
    log:
        f"{RESULTS}/logs/collect.log",
    localrule: True
    params:
        folder=MEASURED or f"{RESULTS}/measured",
    message:
        "Collecting runs in {params.folder}"
    script:
        "../scripts/collect.py"
