# Removing what was computed: `snakemake clean`; `snakemake clean_all` removes fetched raw files too.
# Both know files by the configuration's names, need no input, and leave everything else alone.


rule clean:
    log:
        f"{RESULTS}/logs/clean.log",
    localrule: True
    params:
        results=RESULTS,
        computed=computed_files(catalogue),
        raw=[],
        raw_folder=config["data"]["folder"],
    message:
        "Removing what was computed under {params.results}"
    script:
        "../scripts/clean.py"


use rule clean as clean_all with:
    localrule: True
    params:
        results=RESULTS,
        computed=computed_files(catalogue),
        raw=raw_files(catalogue),
        raw_folder=config["data"]["folder"],
    message:
        "Removing what was computed under {params.results}, and raw files from {params.raw_folder}"
