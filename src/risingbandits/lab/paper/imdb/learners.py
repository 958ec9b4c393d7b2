"""The seven learners of the experiment, as the paper prints them and as the published program has them."""

from __future__ import annotations

from risingbandits._core.errors import check_choice
from risingbandits.lab.paper.imdb.live import Learner
from risingbandits.lab.paper.imdb.logistic import LogisticRegression
from risingbandits.lab.paper.imdb.network import Network

LEARNERS = ("program", "paper")
_BETA, _DECREASING_BETA = 0.003, 0.1  # of LR and of LR(t) in the program

_NETWORKS = (Network((1,)), Network((2,)), Network((2, 2)), Network((2, 2, 2)), Network((1, 1, 2)))


def seven_learners(which: str = "program", beta: float | None = None) -> tuple[Learner, ...]:
    """LR, LR(t) and five networks. The two sets differ in the logistic regressions alone.

    Parameters
    ----------
    which : {"program", "paper"}
        "paper": LR has the rate beta and LR(t) beta / t with the same beta, as the paper writes. "program": 0.003 and
        beta / sqrt(t), and weights of LR(t) within [-2, 2], as in the program published with the 2022 version.
    beta : float, optional
        By default 0.003 for "paper", the program's rate of LR, since the paper prints no value; 0.1 for "program".

    Examples
    --------
    >>> [learner.name for learner in seven_learners("paper")][:3]
    ['LR', 'LR(t)', 'NN(1)']
    >>> seven_learners("paper")[1]
    LogisticRegression(rate=0.003, scheme='inverse', clip=inf)
    """
    if check_choice("learners", which, LEARNERS) == "paper":
        rate = _BETA if beta is None else beta
        return (LogisticRegression(rate=rate), LogisticRegression(rate=rate, scheme="inverse"), *_NETWORKS)
    rate = _DECREASING_BETA if beta is None else beta
    decreasing = LogisticRegression(rate=rate, scheme="inverse-sqrt", clip=2.0)
    return (LogisticRegression(rate=_BETA), decreasing, *_NETWORKS)
