# Raw data: fetched, verified, and only then given their names; in a quick run, generated.


rule download:
    output:
        # Updated: what is there is verified, not removed to be fetched again.
        update(f"{config['data']['folder']}/{{source}}/{{path}}"),
    log:
        f"{RESULTS}/logs/download/{{source}}/{{path}}.log",
    localrule: True
    resources:
        # No parameter: a file that has been verified is not fetched again from elsewhere.
        mirror=config["data"]["mirror"] or "",
    params:
        settings=lambda wildcards: catalogue.download_settings(wildcards.source, wildcards.path),
    message:
        "Fetching {wildcards.source}/{wildcards.path}"
    script:
        "../scripts/download.py"


# Under a folder of their own: no generated file is ever taken for a fetched one.
if catalogue.generated_raw_files():

    rule generate_raw_files:
        output:
            catalogue.generated_raw_files(),
        log:
            f"{RESULTS}/logs/generated.log",
        resources:
            mem_mb=1000,
            runtime=10,
        params:
            settings=catalogue.generated_raw_settings(),
        message:
            "Generating raw files of random graphs"
        script:
            "../scripts/generate_raw_files.py"


rule build_graph:
    input:
        lambda wildcards: catalogue.raw_files(wildcards.variant),
    output:
        f"{RESULTS}/graphs/{{variant}}.npz",
    log:
        f"{RESULTS}/logs/graphs/{{variant}}.log",
    wildcard_constraints:
        variant=rf"(?!({one_of(filter(catalogue.is_generated, catalogue.variants))})\.npz)[^/]+",
    resources:
        mem_mb=2000,
        runtime=10,
        # No parameter: a graph is built with all splits of its files, so that fewer of one file
        # need no new graph; where each split is a file, the settings say which there are.
        splits=lambda wildcards: catalogue.num_splits(wildcards.variant),
    params:
        settings=lambda wildcards: catalogue.graph_settings(wildcards.variant),
        expected=lambda wildcards: catalogue.expected_bytes(wildcards.variant),
    message:
        "Building the graph of {wildcards.variant}"
    script:
        "../scripts/build_graph.py"
