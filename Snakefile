# "A Fractional Graph Laplacian Approach to Oversmoothing" (NeurIPS 2023), reproduced.
#
#   graphs -> factors -> runs (one JSON file a configuration) -> tables and figures
#
# Each arrow is one rule in workflow/rules and one public function of flode/. What there is to
# compute is data: config/*.yaml, read by flode.experiments.catalogue.
from pathlib import Path

from snakemake.utils import min_version, update_config

from flode import versions
from flode.devices import wants_gpu
from flode.experiments.catalogue import Catalogue, Run, one_of
from flode.experiments.cleaning import announce_work, computed_files, raw_files
from flode.experiments.defaults import FILES, completed
from flode.experiments.hyperparameters import CONFIGURATION
from flode.experiments.measured import measured_files, measured_statistics
from flode.experiments.report import Report
from flode.experiments.validation import (
    ConfigurationError,
    as_yaml,
    check_keys,
    check_removed,
    naming_removed,
)

min_version("9.0")


# Folder of this file, also where another workflow has it as a module.
HERE = Path(workflow.current_basedir.get_path_or_uri(secret_free=True))
CONFIG = [HERE / "config" / name for name in FILES]

for file in CONFIG:

    configfile: file


check_keys([*CONFIG, *workflow.config_settings.configfiles])
if workflow.modifier.skip_configfile:
    # The `config:` of a module replaces those files: what it does not say is still as they say. The
    # command line's `--config` is the outer workflow's.
    config = completed(as_yaml(config), CONFIG)
else:
    update_config(config, as_yaml(workflow.config_settings.config))
check_removed(config, [*CONFIG, *workflow.config_settings.configfiles])
SCHEMAS = HERE / "workflow" / "schemas"
with naming_removed(config):
    catalogue = Catalogue(config, SCHEMAS)
    shown = Report(catalogue)
RESULTS = catalogue.results
GPU = int(wants_gpu(config["device"]))
if workflow.modifier.path_modifier.replace_prefix(RESULTS) != RESULTS:
    raise ConfigurationError(
        "a module's prefix is not allowed here; set `results` in its `config:`"
    )


wildcard_constraints:
    # Of a name that there is not, the catalogue tells what was meant.
    variant=r"[^/]+",
    source=one_of(config["sources"]),
    configuration=CONFIGURATION,
    first=r"0|[1-9]\d*",
    last=r"0|[1-9]\d*",


include: "workflow/rules/data.smk"
include: "workflow/rules/graphs.smk"
include: "workflow/rules/training.smk"
include: "workflow/rules/measured.smk"
include: "workflow/rules/studies.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/partial.smk"
include: "workflow/rules/clean.smk"


rule all:
    input:
        expand(
            f"{RESULTS}/tables/{{table}}.{{ext}}",
            table=catalogue.config["tables"],
            ext=["csv", "tex"],
        ),
        expand(f"{RESULTS}/figures/{{figure}}.pdf", figure=catalogue.config["figures"]),
        expand(f"{RESULTS}/search/{{search}}.csv", search=catalogue.config["searches"]),
        shown.file,
