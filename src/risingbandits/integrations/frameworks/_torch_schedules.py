"""Which of PyTorch's learning-rate schedules are bound to a planned length."""

from __future__ import annotations

from typing import Any

# The setting that is the planned length, by the name of the schedule.
_PLANNED = {"CosineAnnealingLR": "T_max", "OneCycleLR": "total_steps", "PolynomialLR": "total_iters"}
# Keywords of the functions that Transformers makes its LambdaLR of.
_LAMBDA_KEYWORDS = ("num_training_steps", "num_decay_steps")


def planned_schedule(scheduler: Any) -> str | None:
    """The schedule that ends at a planned step, as ``Name(setting=value)``; None if there is none.

    Warm-ups also end, but leave the rate constant afterwards, and steps such as those of StepLR do not depend on when
    training ends.
    """
    name = type(scheduler).__name__
    for part in getattr(scheduler, "_schedulers", ()):  # SequentialLR, ChainedScheduler
        if found := planned_schedule(part):
            return found
    if name in _PLANNED:
        return f"{name}({_PLANNED[name]}={getattr(scheduler, _PLANNED[name], '?')})"
    if name == "LinearLR" and scheduler.end_factor < scheduler.start_factor:
        return f"LinearLR(total_iters={scheduler.total_iters})"
    for function in getattr(scheduler, "lr_lambdas", ()):
        keywords = getattr(function, "keywords", None) or {}
        for keyword in _LAMBDA_KEYWORDS:
            if keywords.get(keyword) is not None:
                return f"LambdaLR({keyword}={keywords[keyword]})"
    return None
