"""From runs to tables, figures and verdicts.

The modules are imported one by one (``from flode.reporting.tables import comparison_table``), so
that a table does not pay for matplotlib; none imports torch.

- `records`: run files, joined and summarised; `published`: the paper's numbers as printed.
- `verdicts`: whether a measured number reproduces a published one.
- `layout`, `tables`: tidy tables; `typeset`, `latex`: the same tables as LaTeX.
- `figures`: figures and what they plot.
"""
