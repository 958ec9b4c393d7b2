"""The refusal that theory has for arms that fall, or that make others rise."""

from __future__ import annotations

from risingbandits._core.errors import RisingBanditsError
from risingbandits.problems import RisingBandit


def refuse_falling(problem: RisingBandit, horizon: int) -> None:
    """Raise an error if an arm falls within ``horizon`` pulls: the best policy is then not one arm.

    Restless arms may fall: their best policy takes the best arm of each round. Of arms that trigger each other nothing
    that follows from their own pulls is true.
    """
    if not (problem.rested or problem.restless):
        raise RisingBanditsError(f"problem must have arms that do not make others rise, got {problem!r}.")
    shape = problem.is_non_decreasing(max(horizon, 2))
    if not problem.restless and not shape:
        raise RisingBanditsError(
            f"problem must have arms that never fall, but arm {shape.arm_name!r} falls after pull "
            f"{shape.first_violation} by {shape.amount:.3g}."
        )
