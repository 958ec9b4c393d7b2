"""A policy in the middle of a run that can be pickled and copied, as other libraries require of learners."""

from __future__ import annotations

from typing import Any

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.settings import choose_policy
from risingbandits.policies import Objective, Policy
from risingbandits.policies.objectives import DEFAULT


class PolicyRun:
    """A run of a policy over numbered arms, for rewards in [0, 1]; policies as for `Allocator`.

    ``arm`` is the one to pull next, and reading it changes nothing.

    >>> run = PolicyRun("round-robin", n_arms=2)
    >>> run.arm
    0
    >>> run.tell(0.5)
    >>> run.arm
    1
    """

    def __init__(
        self,
        policy: str | Policy | None,
        n_arms: int,
        horizon: int | None = None,
        seed: Any = None,
        objective: str | Objective = DEFAULT.name,
    ) -> None:
        if not (policy is None or isinstance(policy, str | Policy)):
            raise RisingBanditsError(f"policy must be a name, a policy or None, got {shown(policy)}.")
        chosen = choose_policy(policy, objective, (0.0, 1.0))
        self.policy = chosen.reset(n_arms, horizon, seed)
        self._arm: int | None = None

    @property
    def arm(self) -> int:
        """The arm to pull next."""
        if self._arm is None:
            self._arm = self.policy.ask()
        return self._arm

    def tell(self, reward: float) -> None:
        """Report the reward of a pull of ``arm`` and decide on the next one."""
        self.policy.tell(self.arm, reward)
        self._arm = self.policy.ask()

    # Compiled kernels do not belong in a pickle: it holds parameters and numbers, and finds the kernels by the class.

    def __getstate__(self) -> dict[str, Any]:
        policy = self.policy
        return {"arm": self._arm, "policy": type(policy), "params": policy.get_params(), "run": policy.state_dict()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self._arm = saved["arm"]
        self.policy = saved["policy"](**saved["params"]).restore(saved["run"])
