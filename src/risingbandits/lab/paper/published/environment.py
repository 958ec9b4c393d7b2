"""The arms of the published program: their first pull has the mean mu(0), and rewards are Beta-distributed."""

from __future__ import annotations

import numpy as np

from risingbandits.problems import Beta, FunctionCurve, RisingBandit


def starting_at_zero(problem: RisingBandit, horizon: int) -> RisingBandit:
    """The problem with pull n paying mu(n - 1) and the program's noise, Beta(2 mu/(1 - mu), 2).

    Examples
    --------
    >>> from risingbandits import get_problem
    >>> shifted = starting_at_zero(get_problem("paper-2arms"), horizon=1_000)
    >>> shifted.means([1, 501])[0]
    array([0. , 0.2])
    """
    curves = []
    for curve in problem.curves:
        values = curve(np.arange(horizon))
        curves.append(FunctionCurve(lambda n, values=values: float(values[n - 1]), horizon))  # type: ignore[misc]
    return RisingBandit(curves, Beta(), horizon, f"{problem.name}, from n = 0", arm_names=problem.arm_names)
