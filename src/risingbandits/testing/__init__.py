"""The contracts of policies, stores and arms as calls, for those of this package and for yours.

Stability: stable.
"""

from risingbandits.testing.arms import check_arm
from risingbandits.testing.lost_arms import check_failing_arm, check_killed_arm
from risingbandits.testing.policies import check_policy, check_same_in_all_modes, play_by_hand, play_interpreted
from risingbandits.testing.stores import check_store

__all__ = [
    "check_arm",
    "check_failing_arm",
    "check_killed_arm",
    "check_policy",
    "check_same_in_all_modes",
    "check_store",
    "play_by_hand",
    "play_interpreted",
]
