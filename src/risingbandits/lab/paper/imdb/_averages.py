"""Average learning curves of learners, measured over many runs: the yardstick of regret. Resumable.

Every learner is kept in a file of its own, named by a hash of all that decides its numbers: the data, the horizon, the
seed, the learner and its place among the arms. So curves of several settings may lie in one folder, settings that share
a learner share its curve, and cheap learners may have more runs than expensive ones.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError, check_positive_int
from risingbandits._core.files import readable, write_whole
from risingbandits._core.progress import Advance
from risingbandits._core.stats import half_width
from risingbandits._core.types import Floats, Ints
from risingbandits.lab.paper.imdb.data import Rows
from risingbandits.lab.paper.imdb.live import Learner, LiveBandit
from risingbandits.problems import RisingBandit
from risingbandits.problems.noise import Bernoulli
from risingbandits.simulation._backends import Backend, backend_for

_OWN_STREAM = 1  # curves have other random numbers than the runs of policies with the same seed
_RUNS_PER_SAVE = 10
_FIRST_WIDTH, _GROWTH = 10, 1.04  # of the bins in which curves are averaged
_PARTS = 10  # into which the pulls of a single run are divided
_DEAD_BELOW = 0.55  # share of right predictions in the last part: units are dead, the learner guesses


@dataclass(frozen=True)
class LearningCurve:
    """The learning curve of one learner, summed over runs."""

    setting: str  # data, horizon, seed, place and learner: what must agree for a file to be continued
    name: str  # of the learner
    sums: npt.NDArray[np.uint32]  # (T,) how many runs predicted rightly at each pull
    means: Floats  # (runs,) share of right predictions in each run
    tenths: Floats  # (runs, 10) the same in each tenth of the pulls

    @property
    def runs(self) -> int:
        return len(self.means)

    @property
    def late(self) -> Floats:
        """Share of right predictions in the last tenth of the pulls of each run."""
        return np.asarray(self.tenths[:, -1])

    @property
    def falling(self) -> int:
        """How many single runs fall: a tenth of the pulls lies clearly, by 3 standard errors, below an earlier one."""
        drops = np.maximum.accumulate(self.tenths, axis=1) - self.tenths
        width = len(self.sums) / self.tenths.shape[1]
        return int((drops.max(axis=1) > 3.0 * np.sqrt(2 * 0.25 / width)).sum())

    @property
    def mean(self) -> float:
        return float(self.means.mean())

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval of the mean reward (Student t); NaN for a single run."""
        return float(half_width(self.means))

    @property
    def dead(self) -> int:
        """How many runs end below 55 %: their units are dead, they guess."""
        return int((self.late < _DEAD_BELOW).sum())

    @property
    def living_end(self) -> float:
        """Mean share of right predictions at the end of the runs that are not dead; NaN if all are."""
        living = self.late[self.late >= _DEAD_BELOW]
        return float(living.mean()) if living.size else float("nan")

    def with_runs(self, played: npt.NDArray[np.uint8]) -> LearningCurve:
        """This curve with more runs, given as their rewards (runs, T)."""
        edges = _tenths(len(self.sums))
        tenths = np.add.reduceat(played, edges[:-1], axis=1, dtype=np.float64) / np.diff(edges)
        return replace(
            self,
            sums=self.sums + played.sum(axis=0, dtype=np.uint32),
            means=np.concatenate([self.means, played.mean(axis=1)]),
            tenths=np.concatenate([self.tenths, tenths]),
        )

    def save(self, path: Path) -> None:
        """Write everything to one file, whole or not at all."""
        header = json.dumps({"setting": self.setting, "name": self.name})
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            header=np.frombuffer(header.encode(), dtype=np.uint8),
            sums=self.sums,
            means=self.means,
            tenths=self.tenths,
        )
        write_whole(path, buffer.getvalue())

    @staticmethod
    def load(path: Path) -> LearningCurve:
        """Read what `save` wrote."""
        with (
            readable(path, "holds no learning curve"),
            np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file,
        ):
            header = json.loads(bytes(file["header"]))
            return LearningCurve(header["setting"], header["name"], file["sums"], file["means"], file["tenths"])


@dataclass(frozen=True)
class Averages:
    """The learning curves of several learners, which may have different numbers of runs."""

    learners: tuple[LearningCurve, ...]

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the learners."""
        return tuple(learner.name for learner in self.learners)

    @property
    def runs(self) -> int:
        """Of the learner that has fewest."""
        return min(learner.runs for learner in self.learners)

    @property
    def horizon(self) -> int:
        return len(self.learners[0].sums)

    def fingerprint(self) -> str:
        """A short hash of settings and sums."""
        digest = hashlib.sha256()
        for learner in self.learners:
            digest.update(f"{learner.setting};{learner.runs};".encode())
            digest.update(learner.sums.tobytes())
        return digest.hexdigest()[:16]

    def binned(self) -> Floats:
        """The curves, constant within bins that widen with the pulls: the sums at the ends of bins are exact."""
        widths = np.diff(bin_edges(self.horizon))
        return np.asarray(np.repeat(self.in_bins(), widths, axis=1))

    def in_bins(self) -> Floats:
        """Mean reward of each learner in each bin."""
        edges = bin_edges(self.horizon)
        totals = [np.add.reduceat(one.sums, edges[:-1], dtype=np.float64) / one.runs for one in self.learners]
        return np.asarray(totals / np.diff(edges))

    def problem(self, name: str) -> RisingBandit:
        """A bandit with these curves and 0/1 rewards."""
        return RisingBandit.from_array(self.binned(), Bernoulli(), name=name, arm_names=list(self.arms))


def bin_edges(horizon: int) -> Ints:
    """0 and the last pulls of bins: 10 pulls at first, later 4 % of the pulls so far, never beyond the horizon."""
    edges = [0]
    while edges[-1] < horizon:
        width = max(_FIRST_WIDTH, int((_GROWTH - 1) * edges[-1]))
        edges.append(min(horizon, edges[-1] + width))
    return np.array(edges, dtype=np.int64)


def measure_curves(
    rows: Rows,
    arms: Sequence[Learner],
    horizon: int,
    runs: int,
    seed: int = 0,
    jobs: int | None = None,
    folder: Path | None = None,
    progress: Advance | None = None,
    backend: str | Backend = "local",
) -> Averages:
    """Train every learner alone for ``horizon`` pulls, ``runs`` times, and average.

    With a ``folder`` the sums of each learner are kept there after every few runs, and continued by the next call of
    the same setting; a learner with as many runs or more is taken as it is. Where a call was stopped does not matter:
    the files become equal in every byte. ``jobs`` and ``backend`` are those of `simulate`.
    """
    horizon = check_positive_int("horizon", horizon)
    runs = check_positive_int("runs", runs)
    seed = check_positive_int("seed", seed, minimum=0)
    data = f"{rows.name} {rows.fingerprint()}, d={rows.features}, T={horizon}, seed={seed}"
    settings = [f"{data}, arm {place + 1}: {arm!r}" for place, arm in enumerate(arms)]
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    paths = [None if folder is None else folder / f"curve-{_hashed(setting)}.npz" for setting in settings]
    curves = [_kept(path, own, arm.name, horizon) for path, own, arm in zip(paths, settings, arms, strict=True)]
    if min(curve.runs for curve in curves) >= runs:
        return Averages(tuple(curves))
    begin = partial(_begin, rows, tuple(arms), horizon, seed)
    with backend_for(backend, jobs) as players:
        step = max(_RUNS_PER_SAVE, 2 * players.slots)
        while missing := {
            place: range(curve.runs, min(runs, curve.runs + step))
            for place, curve in enumerate(curves)
            if curve.runs < runs
        }:
            played: dict[int, dict[int, npt.NDArray[np.uint8]]] = {place: {} for place in missing}
            with closing(players.play(begin, missing)) as playing:
                for place, run, rewards in playing:
                    played[place][run] = rewards
                    if progress is not None:
                        progress(curves[place].name, curves[place].runs + len(played[place]))
                    if len(played[place]) == len(missing[place]):
                        curves[place] = curves[place].with_runs(np.array([played[place][i] for i in missing[place]]))
                        path = paths[place]
                        if path is not None:
                            curves[place].save(path)
    return Averages(tuple(curves))


def _tenths(horizon: int) -> Ints:
    """0 and the last pulls of the parts of a single run."""
    return np.linspace(0, horizon, min(_PARTS, horizon) + 1).astype(np.int64)


def _hashed(setting: str) -> str:
    return hashlib.sha256(setting.encode()).hexdigest()[:24]


def _kept(path: Path | None, setting: str, name: str, horizon: int) -> LearningCurve:
    """What is there already, or a curve without runs."""
    if path is not None and path.exists():
        curve = LearningCurve.load(path)
        if curve.setting != setting:
            raise RisingBanditsError(f"{path} holds a curve of another setting ({curve.setting}).")
        return curve
    parts = len(_tenths(horizon)) - 1
    return LearningCurve(setting, name, np.zeros(horizon, dtype=np.uint32), np.zeros(0), np.zeros((0, parts)))


def _begin(
    rows: Rows, arms: Sequence[Learner], horizon: int, seed: int, place: int
) -> Callable[[int], npt.NDArray[np.uint8]]:
    """What trains one learner alone in a run, by its number, here or in another process."""
    bandit = LiveBandit(rows, [arms[place]], horizon)

    def one(run: int) -> npt.NDArray[np.uint8]:
        bandit.start(0, np.random.SeedSequence(seed, spawn_key=(run, _OWN_STREAM, place)))
        return bandit.train(0)

    return one
