"""What a report says about a study beyond its result: the command, the arms and their curves, in ``study.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.files import write_whole
from risingbandits.problems import RisingBandit

__all__ = ["Curves", "StudyFile"]

_FORMAT = 1
_FILE = "study.json"
_POINTS = 120  # of a curve on each of two scales
_MOST_ARMS = 40  # whose curves are kept: those with the largest sums


class Curves(NamedTuple):
    """True means of some arms at some pulls.

    Attributes
    ----------
    pulls : list of int
        The pulls (of a restless problem: rounds).
    means : dict
        By the arm's number, its mean rewards at these pulls; the arm with the largest sum first.
    """

    pulls: list[int]
    means: dict[int, list[float]]


class StudyFile(NamedTuple):
    """A problem and the command that played it.

    Attributes
    ----------
    command : str or None
        How to get the same study again; None where the whole says it, of which this is a part.
    noise : str
        The noise of the rewards.
    restless : bool
        Whether the arms move with the rounds.
    arms : list of str
        Their names.
    best : int or None
        The best constant arm; None if restless.
    curves : Curves
        True means.
    """

    command: str | None
    noise: str
    restless: bool
    arms: list[str]
    best: int | None
    curves: Curves

    @staticmethod
    def of(problem: RisingBandit, horizon: int, command: str | None = None) -> StudyFile:
        """What is known about ``problem`` up to ``horizon``."""
        even = np.linspace(1, horizon, _POINTS).round().astype(np.int64)
        pulls = np.union1d(even, np.geomspace(1, horizon, _POINTS).round().astype(np.int64))
        ranked = np.argsort(-problem.mean_sums(horizon), kind="stable")[:_MOST_ARMS]
        means = problem.means(pulls)
        return StudyFile(
            command=command,
            noise=repr(problem.noise),
            restless=problem.restless,
            arms=list(problem.arm_names),
            best=None if problem.restless else problem.oracle_arm(horizon),
            curves=Curves(pulls.tolist(), {int(arm): [float(f"{mean:.6g}") for mean in means[arm]] for arm in ranked}),
        )

    def save(self, folder: Path) -> None:
        """Write ``study.json``; equal studies give equal bytes."""
        content: dict[str, Any] = {"format": _FORMAT, **self._asdict(), "curves": self.curves._asdict()}
        write_whole(folder / _FILE, (json.dumps(content, separators=(",", ":"), allow_nan=False) + "\n").encode())

    @staticmethod
    def load(folder: Path) -> StudyFile | None:
        """Read what `save` wrote; None where there is no such file."""
        path = folder / _FILE
        try:
            content = json.loads(path.read_text())
            if content.pop("format") != _FORMAT:
                raise RisingBanditsError(f"{path} has another format than this version reads ({_FORMAT}).")
            curves = content.pop("curves")
            means = {int(arm): values for arm, values in curves["means"].items()}
            return StudyFile(**content, curves=Curves(curves["pulls"], means))
        except FileNotFoundError:
            return None
        except RisingBanditsError:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise RisingBanditsError(f"{path} holds no readable study ({type(error).__name__}).") from error
