"""The seven learners of the experiment, as the paper prints them and as the published program has them."""

from __future__ import annotations

from risingbandits._core.errors import check_choice
from risingbandits.lab.paper.imdb.live import Learner
from risingbandits.lab.paper.imdb.logistic import LogisticRegression
from risingbandits.lab.paper.imdb.network import Network

LEARNERS = ("program", "paper")
PROGRAM_BETA = 0.1

_NETWORKS = (Network((1,)), Network((2,)), Network((2, 2)), Network((2, 2, 2)), Network((1, 1, 2)))


def seven_learners(which: str = "program", beta: float = PROGRAM_BETA) -> tuple[Learner, ...]:
    """LR, LR(t) and five networks. The two sets differ in LR(t) alone.

    Parameters
    ----------
    which : {"program", "paper"}
        "paper": LR(t) has the rate beta / t, as the paper writes. "program": beta / sqrt(t), and weights within
        [-2, 2], as in the program published with the 2022 version of the paper.
    beta : float
        Of LR(t). The paper leaves it open; the program has 0.1. LR has the program's 0.003 in both sets.

    Examples
    --------
    >>> [learner.name for learner in seven_learners("paper")][:3]
    ['LR', 'LR(t)', 'NN(1)']
    >>> seven_learners("paper")[1]
    LogisticRegression(rate=0.1, scheme='inverse', clip=inf)
    """
    if check_choice("learners", which, LEARNERS) == "paper":
        decreasing = LogisticRegression(rate=beta, scheme="inverse")
    else:
        decreasing = LogisticRegression(rate=beta, scheme="inverse-sqrt", clip=2.0)
    return (LogisticRegression(rate=0.003), decreasing, *_NETWORKS)
