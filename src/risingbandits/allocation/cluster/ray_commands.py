"""The commands of a plan on a Ray cluster: each pull runs its command on the node where the arm has its place."""

from __future__ import annotations

from functools import partial

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.cluster.ray_arms import RayArms
from risingbandits.allocation.cluster.remote_arms import itself
from risingbandits.allocation.commands.command import command_arms
from risingbandits.allocation.commands.plan_file import Plan


def commands_on_ray(plan: Plan, resources: dict[str, float] | None, address: str | None) -> RayArms:
    """The arms of a plan. All nodes must see its folders."""
    makers = {name: partial(itself, arm) for name, arm in command_arms(plan).items()}
    return RayArms(makers, plan.states, resources=resources, address=address)


def parse_resources(text: str | None) -> dict[str, float] | None:
    """Resources from a string.

    >>> parse_resources("CPU=2,GPU=0.5")
    {'CPU': 2.0, 'GPU': 0.5}
    """
    if text is None:
        return None
    try:
        pairs = [part.split("=") for part in text.split(",")]
        return {kind.strip(): float(amount) for kind, amount in pairs}
    except ValueError:
        raise RisingBanditsError(f"resources must be like CPU=2,GPU=0.5, got {shown(text)}.") from None
