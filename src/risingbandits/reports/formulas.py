"""The formulas of docstrings in plain characters, for terminals.

Only the commands of TeX that the docstrings use are known; others stay as they are, and a test looks for them. Greek
letters become their names, as the settings of policies and the text around the formulas write them.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
_INLINE = re.compile(r":math:`([^`]*)`")
_BLOCK = re.compile(r"^\.\. math:: (.*(?:\n .*)*)", re.MULTILINE)
_PLAIN_WORD = re.compile(r"\w+|[+-]")
_NAMES = {
    *(
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "eta",
        "theta",
        "lambda",
        "mu",
        "xi",
        "rho",
        "sigma",
        "tau",
        "omega",
    ),
    *("Delta", "Gamma", "Upsilon", "exp", "ln", "log", "max", "min", "sum"),
}
_SYMBOLS = {
    "dots": "...", "ell": "l", "ge": ">=", "in": "in", "infty": "infinity", "le": "<=", "leftarrow": "<-", "pm": "+-",
    "sim": "~", "varphi": "phi",
}  # fmt: skip
_BRACKETS = {"lfloor": "floor(", "rfloor": ")", "lceil": "ceil(", "rceil": ")", "{": "{", "}": "}"}
_SPACES = {",": " ", "quad": "\t", "qquad": "\t"}  # a tab lies between formulas
_ACCENTS = ("bar", "check", "hat", "tilde")
_WITHOUT_A_SIGN = ("Big", "left", "right")  # they say how large a bracket is
_ARGUMENT_ALONE = ("mathrm", "text")


def without_markup(text: str) -> str:
    r"""A docstring for people: formulas in plain characters, those on their own lines indented, names without quotes.

    >>> print(without_markup("The index of ``arm`` is\n\n.. math:: \\bar x + \\sqrt{\\frac2n}\n\nwith :math:`\\tau`."))
    The index of arm is
    <BLANKLINE>
        x_bar + sqrt(2/n)
    <BLANKLINE>
    with tau.
    """

    def indented(found: re.Match[str]) -> str:
        return "\n".join(f"    {line}" for line in plain_formula(found[1]).splitlines())

    text = _BLOCK.sub(indented, text)
    return _INLINE.sub(lambda found: plain_formula(found[1]), text).replace("``", "")


def plain_formula(tex: str) -> str:
    r"""A formula in plain characters, on as many lines as it had.

    >>> print(plain_formula(r"\hat\mu = \frac1h \sum_{l=N-h+1}^{N} \Big( r(l) + (x-l) \frac{r(l) - r(l-h)}{h} \Big)."))
    mu_hat = 1/h sum_(l=N-h+1)^N (r(l) + (x-l) (r(l) - r(l-h))/h).
    """
    text = _Formula(tex).until_brace()
    text = re.sub(r"(\() +| +(\))", r"\1\2", re.sub(" +", " ", text))
    return "\n".join(re.sub(r" ?\t ?", "   ", line.strip()) for line in text.splitlines())


class _Formula:
    """The pieces of a formula, read from left to right."""

    def __init__(self, tex: str) -> None:
        self.pieces = _TOKEN.findall(tex)
        self.place = 0

    def until_brace(self) -> str:
        """What comes before the brace that closes this group, or the end."""
        text = ""
        while (piece := self.next()) not in ("", "}"):
            found = self.read(piece)
            if text[-1:].isalnum() and piece[0] == "\\" and found[:1].isalpha():
                text += " "  # 2\tau are two words
            text += found
        return text

    def next(self) -> str:
        self.place += 1
        return self.pieces[self.place - 1] if self.place <= len(self.pieces) else ""

    def argument(self) -> str:
        """What a command applies to: a group in braces, another command, or one character."""
        while (piece := self.next()).isspace():
            pass
        return self.read(piece)

    def read(self, piece: str) -> str:
        if piece == "{":
            return self.until_brace()
        if piece in ("_", "^"):
            moved = self.argument()
            return piece + (moved if _PLAIN_WORD.fullmatch(moved) else f"({moved})")
        if piece[:1] == "\\":
            return self.command(piece[1:])
        if piece.isspace():
            return "\n" if "\n" in piece else " "
        return piece

    def command(self, name: str) -> str:
        if name == "frac":
            return f"{_factor(self.argument())}/{_factor(self.argument())}"
        if name == "sqrt":
            return f"sqrt({self.argument()})"
        if name in _ACCENTS:
            return f"{self.argument()}_{name}"
        if name in _ARGUMENT_ALONE:
            return self.argument()
        if name in _WITHOUT_A_SIGN:
            return ""
        if name in _NAMES:
            return name
        return {**_SYMBOLS, **_BRACKETS, **_SPACES}.get(name, f"\\{name}")


def _factor(text: str) -> str:
    """In parentheses, unless it is one thing."""
    return text if re.fullmatch(r"\w+(\^\w+|\([^()]*\))?", text) else f"({text})"
