# Removing what was computed: `snakemake clean`; `snakemake clean_all` removes fetched raw files too.
# Both know files by the configuration's names, need no input, and leave everything else alone.
CLEANING = f"{RESULTS}/logs/clean.log"


rule clean:
    log:
        CLEANING,
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


# A call that only cleans is not in its own way.
onstart:
    if not all(CLEANING in job.log for job in workflow.dag.needrun_jobs()):
        announce_work(RESULTS, config["data"]["folder"])
