"""Spend a real budget: arms that are pulled one by one, durably, by one process or many.

`Allocator` decides which arm is pulled next; see docs/allocator.md.

Stability: stable; experimental are `Belief`, `EarlierTask`, `Prior`, `ProcessArms`, `RayArms` and `read_prior`.
"""

from typing import TYPE_CHECKING

from risingbandits._core.plugins import load_on_use
from risingbandits.allocation.allocator import Allocator
from risingbandits.allocation.arms.base import Arm, Outcome, as_arm
from risingbandits.allocation.budget import Budget
from risingbandits.allocation.events import Event
from risingbandits.allocation.listeners import Told, retell
from risingbandits.allocation.pull import NoArmAvailable, Pull
from risingbandits.allocation.settings import Execution
from risingbandits.allocation.starting.prior import Belief, Prior
from risingbandits.allocation.stores.base import StoreBusy, StoreUnreachable

if TYPE_CHECKING:
    from risingbandits.allocation.cluster.process_arms import ProcessArms
    from risingbandits.allocation.cluster.ray_arms import RayArms
    from risingbandits.allocation.starting.earlier_runs import EarlierTask
    from risingbandits.allocation.starting.prior import read_prior
    from risingbandits.allocation.status.arm_table import AllocationTable
    from risingbandits.allocation.stores.reader import StoreReader, open_reader

__all__ = [
    "AllocationTable",
    "Allocator",
    "Arm",
    "Belief",
    "Budget",
    "EarlierTask",
    "Event",
    "Execution",
    "NoArmAvailable",
    "Outcome",
    "Prior",
    "ProcessArms",
    "Pull",
    "RayArms",
    "StoreBusy",
    "StoreReader",
    "StoreUnreachable",
    "Told",
    "as_arm",
    "open_reader",
    "read_prior",
    "retell",
]

_WHERE = {
    "AllocationTable": "risingbandits.allocation.status.arm_table",
    "ProcessArms": "risingbandits.allocation.cluster.process_arms",
    "RayArms": "risingbandits.allocation.cluster.ray_arms",
    "read_prior": "risingbandits.allocation.starting.prior",
    "EarlierTask": "risingbandits.allocation.starting.earlier_runs",
    "StoreReader": "risingbandits.allocation.stores.reader",
    "open_reader": "risingbandits.allocation.stores.reader",
}

if not TYPE_CHECKING:  # or every name would be known to a type checker
    __getattr__ = load_on_use(__name__, _WHERE)
