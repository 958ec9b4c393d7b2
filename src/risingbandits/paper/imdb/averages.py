"""Average learning curves of learners, measured over many runs: the yardstick of regret. Resumable."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError, check_positive_int
from risingbandits._core.files import readable, write_whole
from risingbandits._core.progress import Advance
from risingbandits._core.types import Floats, Ints
from risingbandits.paper.imdb.data import Rows
from risingbandits.paper.imdb.live import Learner, LiveBandit
from risingbandits.problems import RisingBandit
from risingbandits.problems.noise import Bernoulli
from risingbandits.simulation.backends.base import Backend, backend_for

_OWN_STREAM = 1  # curves have other random numbers than the runs of policies with the same seed
_RUNS_PER_SAVE = 10
_FIRST_WIDTH, _GROWTH = 10, 1.04  # of the bins in which curves are averaged
_LATE = 0.1  # the share of the pulls at the end that tells whether a run has learnt anything


@dataclass(frozen=True)
class Averages:
    """Learning curves of several learners, summed over runs."""

    setting: str  # learners, data, horizon and seed: what must agree for a file to be continued
    arms: tuple[str, ...]  # names of the learners
    sums: npt.NDArray[np.uint32]  # (K, T) how many runs predicted rightly at each pull
    means: Floats  # (runs, K) share of right predictions in each run
    late: Floats  # (runs, K) the same over the last tenth of the pulls

    @property
    def runs(self) -> int:
        return len(self.means)

    @property
    def horizon(self) -> int:
        return int(self.sums.shape[1])

    def standard_errors(self) -> Floats:
        """Of the mean reward of each learner; NaN for a single run."""
        if self.runs < 2:
            return np.full(len(self.arms), np.nan)
        return np.asarray(self.means.std(axis=0, ddof=1) / np.sqrt(self.runs))

    def dead(self, below: float = 0.55) -> Floats:
        """The share of runs that end below ``below``: their units are dead, they guess."""
        return np.asarray((self.late < below).mean(axis=0))

    def binned(self) -> Floats:
        """The curves, constant within bins that widen with the pulls: the sums at the ends of bins are exact."""
        edges = bin_edges(self.horizon)
        totals = np.add.reduceat(self.sums, edges[:-1], axis=1, dtype=np.float64)
        return np.asarray(np.repeat(totals / np.diff(edges) / self.runs, np.diff(edges), axis=1))

    def problem(self, name: str, arms: Sequence[int] | None = None) -> RisingBandit:
        """A bandit with these curves and 0/1 rewards, of some of the arms."""
        chosen = list(range(len(self.arms))) if arms is None else list(arms)
        curves = self.binned()[chosen]
        return RisingBandit.from_array(curves, Bernoulli(), name=name, arm_names=[self.arms[arm] for arm in chosen])

    def csv(self) -> str:
        """One line per bin: its last pull and the mean reward of each learner in it."""
        ends = bin_edges(self.horizon)[1:]
        values = self.binned()[:, ends - 1]
        lines = [",".join(["last pull", *(f'"{arm}"' for arm in self.arms)])]
        for end, column in zip(ends, values.T, strict=True):
            lines.append(",".join([str(end), *(f"{value:.5f}" for value in column)]))
        return "\n".join(lines) + "\n"

    def save(self, path: Path) -> None:
        """Write everything to one file, whole or not at all."""
        header = json.dumps({"setting": self.setting, "arms": self.arms})
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            header=np.frombuffer(header.encode(), dtype=np.uint8),
            sums=self.sums,
            means=self.means,
            late=self.late,
        )
        write_whole(path, buffer.getvalue())

    @staticmethod
    def load(path: Path) -> Averages:
        """Read what `save` wrote."""
        with (
            readable(path, "holds no learning curves"),
            np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file,
        ):
            header = json.loads(bytes(file["header"]))
            return Averages(header["setting"], tuple(header["arms"]), file["sums"], file["means"], file["late"])


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
    path: Path | None = None,
    progress: Advance | None = None,
    backend: str | Backend = "local",
    address: str | None = None,
) -> Averages:
    """Train every learner alone for ``horizon`` pulls, ``runs`` times, and average.

    With a ``path`` the sums are kept there after every few runs; a file of the same setting is continued, and one
    with as many runs or more is returned as it is. ``jobs``, ``backend`` and ``address`` are those of `simulate`.
    """
    horizon = check_positive_int("horizon", horizon)
    runs = check_positive_int("runs", runs)
    seed = check_positive_int("seed", seed, minimum=0)
    setting = f"{rows.name} {rows.fingerprint()}, d={rows.features}, T={horizon}, seed={seed}, {[*arms]}"
    names = tuple(arm.name for arm in arms)
    nothing = np.zeros((0, len(names)))
    averages = Averages(setting, names, np.zeros((len(names), horizon), dtype=np.uint32), nothing, nothing)
    if path is not None and path.exists():
        averages = Averages.load(path)
        if averages.setting != setting:
            raise RisingBanditsError(f"{path} holds curves of another setting ({averages.setting}).")
    if averages.runs >= runs:
        return averages
    with backend_for(backend, jobs, address) as players:
        while averages.runs < runs:
            block = range(averages.runs, min(runs, averages.runs + max(_RUNS_PER_SAVE, 2 * players.slots)))
            averages = _continued(averages, rows, arms, block, seed, players, progress)
            if path is not None:
                averages.save(path)
    return averages


def _begin(
    rows: Rows, arms: Sequence[Learner], horizon: int, seed: int, label: str
) -> Callable[[int], npt.NDArray[np.uint8]]:
    """What trains every learner alone in a run, by its number, here or in another process."""
    bandit = LiveBandit(rows, arms, horizon)

    def one(run: int) -> npt.NDArray[np.uint8]:
        bandit.reset(np.random.SeedSequence(seed, spawn_key=(run, _OWN_STREAM)))
        return np.array([bandit.train(arm) for arm in range(len(arms))])

    return one


def _continued(
    averages: Averages,
    rows: Rows,
    arms: Sequence[Learner],
    block: range,
    seed: int,
    backend: Backend,
    progress: Advance | None,
) -> Averages:
    begin = partial(_begin, rows, tuple(arms), averages.horizon, seed)
    played = np.array(backend.play_all(begin, ["curves"], block, progress)["curves"])  # (runs, K, T)
    late = max(1, int(_LATE * averages.horizon))
    return Averages(
        averages.setting,
        averages.arms,
        averages.sums + played.sum(axis=0, dtype=np.uint32),
        np.concatenate([averages.means, played.mean(axis=2)]),
        np.concatenate([averages.late, played[:, :, -late:].mean(axis=2)]),
    )
