"""What counts: an `Objective` says how policies are measured, and which ones play and are compared by default.

Everything that takes an objective takes its name or the object; stores and results keep the name. A third one is an
instance or a subclass, made known by `register_objective`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_choice
from risingbandits._core.types import Floats

if TYPE_CHECKING:
    from risingbandits.logs.replay import Replay
    from risingbandits.policies.base import Policy
    from risingbandits.simulation.result import Result


@dataclass(frozen=True, repr=False)
class Objective:
    """An objective that counts the recommended arm: its methods measure how much worse it is than the best one.

    Attributes
    ----------
    name : str
        What users write, and what stores and results keep.
    title : str
        For headings.
    help : str
        What the policy is to do, for a list of objectives.
    measure : str
        What `regret` is called in tables.
    meaning : str
        What the columns of a table mean that show it.
    compared, replayed : tuple of str
        Policies that the command ``simulate``, and a replay, compare if none is named.
    sums_rewards : bool
        Whether every reward on the way counts. Sums count from the lower end of the reward range, which must be known
        then; a pull that costs k rounds brings 1/k of its reward in each; workers plan for their share of the rounds;
        and a curve that has ended is worth its last value in every later round.

    Examples
    --------
    >>> Objective.get("best-arm").policy()
    Auto()
    >>> Objective.get("cumulative").measure
    'regret'
    """

    name: str
    title: str
    help: str
    measure: str
    meaning: str
    compared: tuple[str, ...]
    replayed: tuple[str, ...]
    sums_rewards: bool = False

    def __repr__(self) -> str:
        return f"<Objective {self.name}>"

    @staticmethod
    def get(objective: str | Objective | None = None, where: str = "objective") -> Objective:
        """The registered objective with this name, or the object itself if it is registered; None is the default.

        ``where`` is what errors call the argument.

        >>> Objective.get("fastest")
        Traceback (most recent call last):
            ...
        risingbandits.RisingBanditsError: objective must be one of best-arm, cumulative; got 'fastest'.
        """
        if objective is None:
            return DEFAULT
        name = objective.name if isinstance(objective, Objective) else objective
        found = _REGISTERED[check_choice(where, name, _REGISTERED)]
        if isinstance(objective, Objective) and found is not objective:
            raise RisingBanditsError(f"{where} must be registered, got another one with the name {name!r}.")
        return found

    @property
    def key(self) -> str:
        """The measure as a name of a column in files."""
        return self.measure.replace(" ", "_")

    def policy(self, **parameters: Any) -> Policy:
        """The policy to use if nothing else is known, `Auto` for this objective, with these parameters."""
        from risingbandits.policies.default.auto import Auto

        return Auto(objective=self.name, **parameters)

    def regret(self, result: Result, label: str) -> Floats:
        """How much a policy lost in each run of a simulation."""
        return result.simple_regret(label)

    def replay_regret(self, replay: Replay, label: str) -> Floats:
        """How much a policy lost in each order of a replay."""
        return replay.recommendation_regret(label)

    def random_regret(self, replay: Replay) -> float:
        """How much a random arm loses in a replay, on average."""
        return float(np.abs(replay.final - replay.final[replay.best_arm]).mean())


class _CumulativeReward(Objective):
    """The objective that counts every reward on the way."""

    def regret(self, result: Result, label: str) -> Floats:
        return result.final_regret[label]

    def replay_regret(self, replay: Replay, label: str) -> Floats:
        return replay.regret(label)

    def random_regret(self, replay: Replay) -> float:
        means = np.array([curve[: replay.budget].mean() for curve in replay.stage.curves])
        return float(means.max() - means.mean()) * replay.unit


CUMULATIVE = _CumulativeReward(
    name="cumulative",
    title="Cumulative reward",
    help="maximise the sum of the rewards on the way",
    measure="regret",
    meaning="Policy regret is how much more reward the best constant arm would have had than the policy; J* is all "
    "that this arm has. The interval is a 95 % confidence interval of the mean (Student t).",
    compared=("commit-ucb", "red-ucb", "round-robin"),
    replayed=("auto", "commit-ucb", "gaussian-ucb", "successive-halving", "hyperband", "round-robin"),
    sums_rewards=True,
)
BEST_ARM = Objective(
    name="best-arm",
    title="Best-arm identification",
    help="name the arm that is best at the end",
    measure="simple regret",
    meaning="Simple regret is how much lower the mean reward of the recommended arm is at the end than that of the "
    "best arm, with a 95 % confidence interval of the mean (Student t); wrong arm is the share of the runs that do not "
    "recommend a best arm.",
    compared=("r-sr", "successive-halving", "hyperband"),
    replayed=("auto", "r-sr", "successive-halving", "hyperband", "asha", "round-robin"),
)
DEFAULT = BEST_ARM  # training models is mostly about choosing one

_REGISTERED = {objective.name: objective for objective in (BEST_ARM, CUMULATIVE)}


def objective_names() -> list[str]:
    """The names of all registered objectives, the default first.

    >>> objective_names()
    ['best-arm', 'cumulative']
    """
    return list(_REGISTERED)


def register_objective(objective: Objective) -> Objective:
    """Make an objective known by its name in this program; return it."""
    if not isinstance(objective, Objective):
        raise RisingBanditsError(f"objective must be an Objective, got {objective!r}.")
    if _REGISTERED.setdefault(objective.name, objective) is not objective:
        raise RisingBanditsError(f"objective must have a name that is not taken, got {objective.name!r}.")
    return objective


def shown_objectives(objective: Objective) -> list[Objective]:
    """The objectives whose measures a table shows: both of this package, and the one that was asked for."""
    return list(dict.fromkeys((CUMULATIVE, BEST_ARM, objective)))
