# Trainings: one job trains the splits in its file's name, side by side.


rule train:
    input:
        unpack(
            lambda wildcards: catalogue.training_inputs(
                Run(wildcards.variant, wildcards.configuration)
            )
        ),
    output:
        run=f"{RESULTS}/runs/{{variant}}/{{configuration}}/splits-{{first}}-{{last}}.json",
    log:
        f"{RESULTS}/logs/runs/{{variant}}/{{configuration}}/splits-{{first}}-{{last}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/runs/{{variant}}/{{configuration}}/splits-{{first}}-{{last}}.tsv"
    threads: lambda wildcards: catalogue.threads(wildcards.variant)
    resources:
        gpu=GPU,
        mem_mb=lambda wildcards, attempt: attempt * catalogue.memory(wildcards.variant),
        runtime=240,
        device=config["device"],
        # No parameter: of a model's file the settings have the hash, wherever it lies.
        model_class=lambda wildcards: catalogue.model_class(
            Run(wildcards.variant, wildcards.configuration)
        )
        or "",
    params:
        settings=lambda wildcards: catalogue.train_settings(
            Run(wildcards.variant, wildcards.configuration),
            catalogue.splits(wildcards.variant, wildcards.first, wildcards.last),
        ),
        splits=lambda wildcards: catalogue.splits(
            wildcards.variant, wildcards.first, wildcards.last
        ),
        checkpoint=lambda wildcards: catalogue.checkpoint_file(
            Run(wildcards.variant, wildcards.configuration), wildcards.first, wildcards.last
        ),
    message:
        "Training {wildcards.variant}, {wildcards.configuration}, splits {wildcards.first} to {wildcards.last}"
    script:
        "../scripts/train.py"


# The same, with the models of `training.save_models` kept.
use rule train as train_keeping_models with:
    output:
        run=rules.train.output.run,
        models=f"{RESULTS}/models/{{variant}}/{{configuration}}/splits-{{first}}-{{last}}.safetensors",
    wildcard_constraints:
        variant=catalogue.kept_variants,


ruleorder: train_keeping_models > train


rule search:
    input:
        runs=lambda wildcards: catalogue.files_of(catalogue.searched_runs(wildcards.search)),
        models=lambda wildcards: catalogue.model_files(catalogue.searched_runs(wildcards.search)),
    output:
        f"{RESULTS}/search/{{search}}.csv",
    log:
        f"{RESULTS}/logs/search/{{search}}.log",
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        search=lambda wildcards: catalogue.search_settings(wildcards.search),
    message:
        "Choosing by validation: {wildcards.search}"
    script:
        "../scripts/search.py"
