"""The arms of the published program: their first pull has the mean mu(0), and rewards are Beta-distributed."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from risingbandits.problems import Beta, Environment, FunctionCurve, RisingBandit, _encoding


class ProgramBandit(RisingBandit):
    """Rewards as drawn by the program, in [0, 1], and regret as counted by it: with means that may exceed 1.

    Arm 13 of the 15 has a mean of up to 1.0747, and no more than 1 is paid for a pull of it. `RisingBandit` counts what
    is paid, the program counts the mean.
    """

    @cached_property
    def _encoded(self) -> Environment:
        return _encoding.encode(self.curves)  # without noise means are not clipped

    def environment(self, horizon: int | None = None) -> Environment:
        """What the compiled loop needs: means from a table of all pulls, not clipped, and draws by the noise."""
        table = _encoding.means_at(self._encoded, np.arange(1, self._horizon(horizon) + 1))
        return self._encoded._replace(table=table, noise=self.noise.code, noise_scale=self.noise.scale)


def starting_at_zero(problem: RisingBandit, horizon: int) -> ProgramBandit:
    """The problem with pull n paying mu(n - 1), the program's noise, Beta(2 mu/(1 - mu), 2), and its account of regret.

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
    return ProgramBandit(curves, Beta(), horizon, f"{problem.name}, from n = 0", arm_names=problem.arm_names)
