# What can be shown before all is done. No finished output: the next call makes it anew.
# What was shown before, and can no longer be made of what is there, goes.


# Tables, studies, figures and the report of the runs that are there; nothing is trained.
rule partial:
    log:
        f"{RESULTS}/logs/partial.log",
    localrule: True
    message:
        "What was run so far"
    script:
        "../scripts/partial.py"


# With --keep-going, what some failed runs are missing from is written all the same, those cells
# marked "not run" with the reason.
onerror:
    if workflow.execution_settings.keep_going:
        import json
        import subprocess
        import sys

        request = json.dumps(config)
        subprocess.run(
            [sys.executable, "-m", "flode.reporting.partial", str(HERE / "Snakefile")],
            input=request,
            text=True,
            check=False,
        )
