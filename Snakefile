# "A Fractional Graph Laplacian Approach to Oversmoothing" (NeurIPS 2023), reproduced.
#
#   graphs -> factors -> runs (one JSON file a configuration) -> tables and figures
#
# Each arrow is one rule in workflow/rules and one public function of flode/. What there is to
# compute is data: config/*.yaml, read by flode.experiments.catalogue.
from pathlib import Path

from snakemake.utils import min_version

from flode import versions
from flode.devices import wants_gpu
from flode.experiments.catalogue import Catalogue, Run, one_of
from flode.experiments.report import Report

min_version("9.0")


configfile: "config/config.yaml"
configfile: "config/dsbm.yaml"
configfile: "config/datasets.yaml"
configfile: "config/node_classification.yaml"
configfile: "config/ablation.yaml"
configfile: "config/depth.yaml"
configfile: "config/studies.yaml"
configfile: "config/reproduction.yaml"
configfile: "config/report.yaml"


SCHEMAS = Path(workflow.basedir) / "workflow" / "schemas"
catalogue = Catalogue(config, SCHEMAS)
shown = Report(catalogue)
RESULTS = catalogue.results
GPU = int(wants_gpu(config["device"]))


wildcard_constraints:
    variant=one_of(catalogue.variants),
    source=one_of(config["sources"]),
    configuration=r"[a-z_]+(=[^/,]+(,[a-z_]+=[^/,]+)*)?",
    first=r"0|[1-9]\d*",
    last=r"0|[1-9]\d*",


include: "workflow/rules/data.smk"
include: "workflow/rules/graphs.smk"
include: "workflow/rules/training.smk"
include: "workflow/rules/studies.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        expand(f"{RESULTS}/tables/{{table}}.{{ext}}", table=config["tables"], ext=["csv", "tex"]),
        expand(f"{RESULTS}/figures/{{figure}}.pdf", figure=config["figures"]),
        shown.file,
