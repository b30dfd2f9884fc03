# Graphs of a variant, and the factorisation of their SNA: one file each, whatever runs need them.


rule generate_graphs:
    output:
        f"{RESULTS}/graphs/{{variant}}.npz",
    log:
        f"{RESULTS}/logs/graphs/{{variant}}.log",
    wildcard_constraints:
        variant=one_of(filter(catalogue.is_generated, catalogue.variants)),
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        settings=lambda wildcards: catalogue.graph_settings(wildcards.variant),
    message:
        "Generating the graphs of {wildcards.variant}"
    script:
        "../scripts/generate_graphs.py"


rule factorize_graphs:
    input:
        graphs=f"{RESULTS}/graphs/{{variant}}.npz",
    output:
        f"{RESULTS}/factors/{{variant}}.safetensors",
    log:
        f"{RESULTS}/logs/factors/{{variant}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/factors/{{variant}}.tsv"
    threads: lambda wildcards: catalogue.threads(wildcards.variant)
    resources:
        gpu=GPU,
        mem_mb=lambda wildcards, attempt: attempt * catalogue.memory(wildcards.variant),
        # Without checkpoints: where a job is killed, the next try has more time.
        runtime=lambda wildcards, attempt: 120 * attempt,
        device=config["device"],
    params:
        settings=lambda wildcards: catalogue.factor_settings(wildcards.variant),
    message:
        "Factorising the SNA of {wildcards.variant}"
    script:
        "../scripts/factorize_graphs.py"
