"""Versions of what each stage of the workflow computes.

Snakemake does not see edits inside this package, so each rule carries its stage's version among its
parameters: raise one when the stage's results change, and that stage and all that depends on it run
again, and nothing else.
"""

RAW_FILES = 1  # those that are generated
GRAPH = 1
FACTORS = 3
TRAINING = 3
SEARCH = 5
STATISTICS = 1
STUDY = 3
TABLE = 6
FIGURE = 4
REPORT = 3
