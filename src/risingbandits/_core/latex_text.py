"""Tables for LaTeX documents that use the package booktabs."""

from __future__ import annotations

from risingbandits._core.tables import TextTable

_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",  # \textquotedbl is not in every encoding of fonts
    "±": r"$\pm$",
    "\N{MINUS SIGN}": "$-$",
    "\n": " ",
}


def latex_escape(text: str) -> str:
    r"""``text`` escaped for LaTeX.

    >>> print(latex_escape('red-ucb(eps=0.1, ties="random") ± 5 % of x_1'))
    red-ucb(eps=0.1, ties=\char34{}random\char34{}) $\pm$ 5 \% of x\_1
    """
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def latex_table(table: TextTable, caption: str | None = None, label: str | None = None) -> str:
    r"""A ``tabular`` with the rules of booktabs, inside a ``table`` if it has a caption, which is LaTeX, or a label.

    >>> print(latex_table(TextTable(("arm", "of J*"), [("a_1", "3.0 %")], frozenset({1}))), end="")
    \begin{tabular}{lr}
    \toprule
    arm & of $J^*$ \\
    \midrule
    a\_1 & 3.0 \% \\
    \bottomrule
    \end{tabular}
    """
    columns = "".join("r" if column in table.numeric else "l" for column in range(len(table.header)))
    head, *rows = (" & ".join(map(latex_escape, row)) + r" \\" for row in (table.header, *table.rows))
    head = head.replace("J*", "$J^*$")
    lines = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        head,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if caption is not None or label is not None:
        said = [] if caption is None else [rf"\caption{{{caption}}}"]
        named = [] if label is None else [rf"\label{{{label}}}"]
        lines = [r"\begin{table}", r"\centering", *said, *named, *lines, r"\end{table}"]
    return "\n".join(lines) + "\n"
