# Trainings whose models are kept (`training.save_models`): as `train`, with one output more.
#
# Snakemake trains again where a script is newer than a run, or where a rule names another script than
# the run was made with. Hence a script of its own, so that runs without models never depend on it,
# and this folder, in which it has the name of the other: runs stay when models are no longer kept.


ruleorder: train_keeping_models > train


rule train_keeping_models:
    input:
        graphs=rules.train.input.graphs,
        factors=rules.train.input.factors,
    output:
        run=rules.train.output[0],
        models=f"{RESULTS}/models/{{variant}}/{{configuration}}/splits-{{first}}-{{last}}.safetensors",
    log:
        rules.train.log[0],
    benchmark:
        rules.train.benchmark
    wildcard_constraints:
        variant=catalogue.kept_variants,
    threads: lambda wildcards: catalogue.threads(wildcards.variant)
    resources:
        gpu=GPU,
        mem_mb=lambda wildcards: catalogue.memory(wildcards.variant),
        runtime=240,
        device=config["device"],
    params:
        settings=rules.train.params.settings,
        splits=rules.train.params.splits,
        checkpoint=rules.train.params.checkpoint,
    message:
        "Training {wildcards.variant}, {wildcards.configuration}, splits {wildcards.first} to {wildcards.last}, keeping models"
    script:
        "../scripts/train.py"
