"""Texts of tables that LaTeX cannot set."""

import pytest

from flode.experiments.latextexts import bare_mark
from flode.experiments.validation import ConfigurationError
from tests.configuration import catalogue


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("Accuracy in %", "%"),
        (r"Accuracy in \%", None),
        (r"A line\\% and a comment", "%"),
        ("Cora & Citeseer", "&"),
        (r"Cora \& Citeseer", None),
        (r"$\begin{smallmatrix} 1 & 0_2 \end{smallmatrix}$", None),
        ("FLODE of my_model", "_"),
        (r"FLODE of my\_model", None),
        (r"$\lambda_1$ and \(x_2\)", None),
        (r"$\lambda_1$ of my_model", "_"),
        (r"\emph{my_model}", "_"),
        (r"\emph{as \texttt{my_model}}", "_"),
        # It may be one that takes names, or a formula.
        (r"Table~\ref{tab:my_model}, \cite[p.~3]{a_b}, \own{x_1}", None),
        ("no formula ends $ here a_b", None),
        ("", None),
    ],
)
def test_a_bare_mark_is_found(text, mark):
    assert bare_mark(text) == mark


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"caption": "In %."}, r"tables.dsbm.caption is 'In %.', which is LaTeX, where a bare % "),
        ({"subtables": {"net_flow": {"caption": "a & b"}}}, r"net_flow.caption .*allowed is \\&$"),
        ({"subtables": {"net_flow": {"header": "a_b"}}}, r"net_flow.header .*allowed is \\_$"),
        (
            {"subtables": {"net_flow": {"columns": {"0.40": {"label": "40 %"}}}}},
            "net_flow.columns.0.40.label is '40 %'",
        ),
    ],
)
def test_every_text_of_a_table_is_checked(changes, where):
    with pytest.raises(ConfigurationError, match=where):
        catalogue({"tables": {"dsbm": changes}})
