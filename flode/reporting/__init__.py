"""From runs to tables, figures and verdicts.

The modules are imported one by one (``from flode.reporting.tables import comparison_table``), so
that a table does not pay for matplotlib; none imports torch.

- `records`: run files, joined and summarised; `published`: the paper's numbers as printed;
  `jsonfiles`: checks of JSON files.
- `verdicts`: whether a measured number reproduces a published one.
- `layout`, `tidy`: what a table shows, and its cells; `tables`, `ranking`, `statistics`: the tidy
  tables of each kind.
- `typeset`, `notes`, `fragments`: pieces of LaTeX; `places`: what a reader calls a cell; `latex`,
  `latex_ranking`, `latex_statistics`: the tidy tables as LaTeX.
- `figures`: figures and what they plot; `stages`: what the workflow calls.
"""
