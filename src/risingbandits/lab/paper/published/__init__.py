"""The program that was published with the 2022 version of the paper, as an executable reference; no default uses it.

Its seven policies deviate from the definitions in their papers, and its arms start at n = 0 with Beta noise. If a
sentence of the paper does not follow from the definitions, playing the program shows whether it follows from that. What
it does was read from the authors' public repository (albertometelli/stochastic-rising-bandits); nothing is copied.

`PublishedREdUCB` in `red_ucb` has single deviations as options, to show which of them matters.
"""

from risingbandits.lab.paper.published.environment import starting_at_zero
from risingbandits.lab.paper.published.kl_ucb import ProgramKLUCB
from risingbandits.lab.paper.published.red_ucb import ProgramREdUCB
from risingbandits.lab.paper.published.rexp3 import ProgramRexp3
from risingbandits.lab.paper.published.ser4 import ProgramSer4
from risingbandits.lab.paper.published.windows import ProgramSWKLUCB, ProgramSWTS, ProgramSWUCB
from risingbandits.policies import Policy

__all__ = [
    "ProgramKLUCB",
    "ProgramREdUCB",
    "ProgramRexp3",
    "ProgramSWKLUCB",
    "ProgramSWTS",
    "ProgramSWUCB",
    "ProgramSer4",
    "program_policies",
    "starting_at_zero",
]


def program_policies() -> dict[str, Policy]:
    """The seven policies of the program, by the names of their counterparts here."""
    return {
        "red-ucb": ProgramREdUCB(),
        "kl-ucb": ProgramKLUCB(),
        "sw-ucb": ProgramSWUCB(),
        "sw-kl-ucb": ProgramSWKLUCB(),
        "sw-ts": ProgramSWTS(),
        "rexp3": ProgramRexp3(),
        "ser4": ProgramSer4(),
    }
