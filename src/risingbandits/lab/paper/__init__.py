"""The paper's studies as small declarative modules; the engine does the work.

`risingbandits.lab.paper.reproduce` plays the synthetic ones, writes their tables and draws their figures.

Stability: experimental.
"""

from risingbandits._core.plugins import ListedProblem

_PAIRS = {
    "concave": "lines alike for T/2 pulls",
    "beta": "lines alike for T^0.8 pulls",
    "stochastic": "lines alike for T^0.5 pulls, unit variance",
    "increment": "lines alike for T/4 pulls",
    "non-concave": "nothing for T/3 pulls, then a step or nothing",
}

#: Both sides of the pairs of the lower bounds.
PROBLEMS = {
    f"lower-bound-{kind}-{side}-v1": ListedProblem(
        "risingbandits.lab.paper.pairs:side_of_pair",
        f"lower bound ({text}): side {side.upper()}, where arm {best} is best",
    )
    for kind, text in _PAIRS.items()
    for side, best in zip("ab", (2, 1) if kind == "non-concave" else (1, 2), strict=True)
}
