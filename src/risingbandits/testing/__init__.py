"""Checks of the contracts that others can run on what they write: policies of their own, for now."""

from risingbandits.testing.policies import check_policy, check_same_in_all_modes, play_by_hand, play_interpreted

__all__ = ["check_policy", "check_same_in_all_modes", "play_by_hand", "play_interpreted"]
