"""What a simulation leaves: regret and pulls of every run, with means and intervals, tables, files and a figure."""

from __future__ import annotations

import hashlib
import importlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError, missing
from risingbandits._core.files import readable, write_whole
from risingbandits._core.stats import half_width, share_interval
from risingbandits._core.types import Floats, Ints
from risingbandits._version import __version__
from risingbandits.policies.objectives import DEFAULT, Objective, shown_objectives

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from risingbandits._core.tables import TextTable
    from risingbandits.simulation.comparison import Comparison


_FORMAT = 1
_MOST_NAMES = 8  # of policies, in one line
_DATA, _HEADER = "result.npz", "result.json"


def _same(one: Any, other: Any) -> bool:
    """Whether two values of a result are equal: arrays, dicts of them, or plain values."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(type(one) is type(other) and one == other)


class Rate(NamedTuple):
    """A share of the runs and the ends of its confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """Regret, pulls and recommendations of every run of every policy.

    Attributes
    ----------
    problem, horizon, seed, settings
        What was simulated; ``settings`` maps each label to the policy's repr.
    record_at : (C,) int array
        The rounds at which regret was recorded; the last is the horizon.
    oracle : (C,) array
        What the best constant arm has earned by each of them.
    regret : dict of (runs, C) arrays
        Policy regret at each of them.
    pulls : dict of (runs, K) int arrays
        Pulls of each arm at the horizon.
    recommended : dict of (runs,) int arrays
        The arm that the policy would keep at the horizon.
    final_means : (K,) array
        The mean of each arm after as many pulls of it as there are rounds, mu_i(T): the best arm has the highest.
    arm_names : tuple of str
        "arm 1", "arm 2", ... where the problem has no others.
    arm_sums : (K,) array
        What each arm alone would bring, the sum of mu_i(n) over n = 1..T: the best arm has the highest.
    noise : str
        The repr of the problem's noise.
    reward : dict of (runs, C) arrays, optional
        Sum of the rewards so far; None if only means count, as with curves and noise.
    objective : str
        What tables and comparisons are about, if nothing else is said.

    Results are equal if all of this is. What `load` reads equals what was saved.
    """

    problem: str
    horizon: int
    seed: int
    settings: dict[str, str]
    record_at: Ints
    oracle: Floats
    regret: dict[str, Floats]
    pulls: dict[str, Ints]
    recommended: dict[str, Ints]
    final_means: Floats
    arm_names: tuple[str, ...]
    arm_sums: Floats
    noise: str
    reward: dict[str, Floats] | None = None
    objective: str = DEFAULT.name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        return all(_same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    def __repr__(self) -> str:
        shown = self.policies if len(self.policies) <= _MOST_NAMES else [*self.policies[: _MOST_NAMES - 1], "..."]
        names = f"{len(self.policies)} policies: {', '.join(shown)}" if len(self.policies) > 1 else self.policies[0]
        runs = f"{self.runs:,} run{'' if self.runs == 1 else 's'} of {self.horizon:,} rounds"
        return f"<Result on {self.problem}, {runs}, seed {self.seed}; {names}>"

    def __str__(self) -> str:
        return self._table().plain()

    def _repr_html_(self) -> str:
        return self._table().html()

    @property
    def policies(self) -> list[str]:
        """The labels, in the order given."""
        return list(self.regret)

    @property
    def runs(self) -> int:
        return len(next(iter(self.regret.values())))

    @property
    def final_regret(self) -> dict[str, Floats]:
        """Regret at the horizon, one value per run."""
        return {label: values[:, -1] for label, values in self.regret.items()}

    def mean(self, label: str) -> Floats:
        """Mean regret over the runs at each record point."""
        return np.asarray(self._of(label).mean(axis=0))

    def half_width(self, label: str, level: float = 0.95) -> Floats:
        """Half the width of the Student-t confidence interval of `mean`; NaN for a single run."""
        return half_width(self._of(label), level)

    def interval(self, label: str, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper end of the confidence interval of `mean` at each record point."""
        mean, half = self.mean(label), self.half_width(label, level)
        return mean - half, mean + half

    def simple_regret(self, label: str) -> Floats:
        """How far mu_i(T) of the recommended arm lies below that of the best arm, one value per run."""
        self._of(label)
        return np.asarray(self.final_means.max() - self.final_means[self.recommended[label]])

    def error_rate(self, label: str, level: float = 0.95) -> Rate:
        """The share of runs that did not recommend a best arm, argmax mu_i(T), with its Wilson interval."""
        wrong = float((self.simple_regret(label) > 0.0).mean())
        return Rate(wrong, *share_interval(wrong, self.runs, level))

    def summary(self, objective: str | Objective | None = None) -> list[dict[str, Any]]:
        """One row per policy with its regrets, the best for the objective, or for that of the result, first.

        ``error_value``, ``error_low`` and ``error_high`` are the share of wrong recommendations and its interval.
        The arm pulled most in all runs together has its name in ``most_pulled_arm``, its share of the rounds in
        ``most_pulled_share``, and in ``most_pulled_is_best`` whether no arm alone earns more.
        ``top_arm_share`` is the mean over the runs of the share of each run's own most pulled arm: it is larger where
        runs end with different arms.

        Examples
        --------
        >>> from risingbandits import simulate
        >>> [row] = simulate("kl-ucb", "paper-2arms", horizon=2000, runs=3).summary()
        >>> row["most_pulled_arm"], row["most_pulled_is_best"], round(row["most_pulled_share"], 2)
        ('arm 1', True, 0.95)
        """
        wanted = self._objective(objective)
        rows = []
        for label, final in self.final_regret.items():
            row: dict[str, Any] = {"policy": label}
            for each in shown_objectives(wanted):
                lost = each.regret(self, label)
                row |= {each.key: float(lost.mean()), f"{each.key}_half_width": float(half_width(lost))}
            row["sd"] = float(final.std(ddof=1)) if len(final) > 1 else float("nan")
            row["percent"] = 100 * row["regret"] / float(self.oracle[-1]) if self.oracle[-1] else float("nan")
            row |= {f"error_{name}": value for name, value in self.error_rate(label)._asdict().items()}
            row["top_arm_share"] = float((self.pulls[label].max(axis=1) / self.horizon).mean())
            rows.append(row | self._most_pulled(label))
        return sorted(rows, key=lambda row: (row[wanted.key], row["regret"]))

    def _objective(self, given: str | Objective | None) -> Objective:
        return Objective.get(self.objective if given is None else given)

    def _most_pulled(self, label: str) -> dict[str, Any]:
        shares = self.pulls[label].mean(axis=0) / self.horizon
        arm = int(shares.argmax())
        most = float(self.arm_sums.max())
        best = float(self.arm_sums[arm]) >= most - 1e-12 * abs(most)  # less is rounding, between equal arms
        names = {"most_pulled_arm": self.arm_names[arm], "most_pulled_is_best": best}
        return {**names, "most_pulled_share": float(shares[arm])}

    def compare(
        self,
        a: str,
        b: str,
        level: float = 0.95,
        objective: str | Objective | None = None,
        other: Result | None = None,
    ) -> Comparison:
        """The paired difference between two policies: the regret of ``a`` minus that of ``b``, by the objective.

        Run i of every policy draws its noise from the same generator, seeded with (seed, i): with Gaussian noise round
        t has the same noise, whatever arm is pulled. The difference is taken run by run, and its Student-t interval is
        that of the mean difference. It holds however the two regrets are correlated, and is narrower than that of
        independent runs if both policies have their bad runs together. A few very bad runs may decide the mean:
        ``less`` and ``equal`` say in how many runs ``a`` has less or just as much, for a sign test (see the page "A
        paper with this library").

        Parameters
        ----------
        a, b : str
            Labels.
        level : float
            Confidence of the interval.
        objective : {"best-arm", "cumulative"} or Objective, optional
            Which regret; by default that of the result's objective.
        other : Result, optional
            Where ``b`` is from, if not from here: it must have the same problem, horizon, runs and seed.

        Examples
        --------
        >>> from risingbandits import simulate
        >>> result = simulate(["kl-ucb", "round-robin"], "paper-2arms", horizon=2000, runs=5)
        >>> found = result.compare("kl-ucb", "round-robin", objective="cumulative")
        >>> found.decided, found.low < found.difference < found.high < 0
        (True, True)
        """
        from risingbandits.simulation.comparison import compare

        return compare(self, a, b, level, self._objective(objective), other)

    def _of(self, label: str) -> Floats:
        if label not in self.regret:
            raise RisingBanditsError(f"label must be one of {', '.join(self.policies)}, got {label!r}.")
        return self.regret[label]

    # -- files and frames ---------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> Path:
        """Write ``result.npz`` and ``result.json`` to ``folder``. Equal results give equal bytes."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = {"record_at": self.record_at, "oracle": self.oracle, "final_means": self.final_means}
        arrays["arm_sums"] = self.arm_sums
        for number, label in enumerate(self.policies):
            arrays[f"regret.{number}"] = self.regret[label]
            arrays[f"pulls.{number}"] = self.pulls[label]
            arrays[f"recommended.{number}"] = self.recommended[label]
            if self.reward is not None:
                arrays[f"reward.{number}"] = self.reward[label]
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)
        data = buffer.getvalue()
        header = {
            "format": _FORMAT,
            "version": __version__,
            "problem": self.problem,
            "horizon": self.horizon,
            "runs": self.runs,
            "seed": self.seed,
            "objective": self.objective,
            "noise": self.noise,
            "arms": list(self.arm_names),
            "policies": [{"label": label, "policy": self.settings[label]} for label in self.policies],
            "summary": [{k: None if v != v else v for k, v in row.items()} for row in self.summary()],
            "data_sha256": hashlib.sha256(data).hexdigest(),
        }
        write_whole(folder / _DATA, data)
        write_whole(folder / _HEADER, (json.dumps(header, indent=1, allow_nan=False) + "\n").encode())
        return folder

    @staticmethod
    def load(folder: str | Path) -> Result:
        """Read what `save` wrote."""
        folder = Path(folder)
        with readable(folder, "holds no readable result"):
            header = json.loads((folder / _HEADER).read_text())
            data = (folder / _DATA).read_bytes()
            if header["format"] != _FORMAT:
                raise RisingBanditsError(f"{folder} has format {header['format']}, this version reads {_FORMAT}.")
            if hashlib.sha256(data).hexdigest() != header["data_sha256"]:
                raise RisingBanditsError(f"{folder / _DATA} does not belong to {_HEADER} beside it, or is damaged.")
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                arrays = dict(file)
            labels = [entry["label"] for entry in header["policies"]]
            named = (header["horizon"], len(header["arms"]), len(labels))
            kept = sum(name.startswith("regret.") for name in arrays)
            if not labels or named != (arrays["record_at"][-1], len(arrays["final_means"]), kept):
                raise RisingBanditsError(f"{folder / _HEADER} must have the rounds, arms and policies of {_DATA}.")
            by_label = {
                kind: {label: arrays[f"{kind}.{number}"] for number, label in enumerate(labels)}
                for kind in ("regret", "pulls", "recommended", "reward")
                if f"{kind}.0" in arrays
            }
            return Result(
                problem=header["problem"],
                horizon=header["horizon"],
                seed=header["seed"],
                settings={entry["label"]: entry["policy"] for entry in header["policies"]},
                record_at=arrays["record_at"],
                oracle=arrays["oracle"],
                final_means=arrays["final_means"],
                arm_names=tuple(header["arms"]),
                arm_sums=arrays["arm_sums"],
                noise=header["noise"],
                objective=header["objective"],
                **by_label,
            )

    def to_csv(
        self, path: str | Path | None = None, rows: str = "policies", objective: str | Objective | None = None
    ) -> str | None:
        """The outcome as CSV: written to ``path``, or returned without one. Numbers are not rounded.

        Parameters
        ----------
        path : path, optional
            The file.
        rows : {"policies", "runs", "rounds"}
            What a row is: a policy, as in `summary`; a run with its regret, simple regret, recommended arm and pulls
            of each arm, arms counted from 1; or a recorded round of a run, as in `to_dataframe`.
        objective : {"best-arm", "cumulative"} or Objective, optional
            What policies are ordered by; by default the result's objective.

        Examples
        --------
        >>> from risingbandits import simulate
        >>> result = simulate(["round-robin"], "paper-2arms", horizon=100, runs=2)
        >>> print(result.to_csv(rows="runs"), end="")
        policy,run,regret,simple_regret,recommended,pulls_1,pulls_2
        round-robin,0,2.5618...,0.0,1,50,50
        round-robin,1,2.5618...,0.0,1,50,50
        """
        from risingbandits.simulation._summary import result_csv

        return self._written(path, result_csv(self, rows, objective))

    def to_latex(
        self,
        path: str | Path | None = None,
        objective: str | Objective | None = None,
        caption: str | None = None,
        label: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> str | None:
        """The table as LaTeX for the package booktabs: written to ``path``, or returned without one.

        It is a ``tabular``, inside a ``table`` if it has a ``caption`` or a ``label``. Names are escaped; the caption
        is LaTeX, used as it is. ``columns`` picks some by their heads, ``["policy", "final regret"]``: all of them are
        wider than a column of a paper.
        """
        from risingbandits.simulation._summary import latex_table

        return self._written(path, latex_table(self._table(objective).only(columns), caption, label))

    def _table(self, objective: str | Objective | None = None) -> TextTable:
        from risingbandits.simulation._summary import summary_table

        return summary_table(self, objective)

    def _written(self, path: str | Path | None, text: str) -> str | None:
        if path is None:
            return text
        write_whole(Path(path), text.encode())
        return None

    def to_dataframe(self) -> pd.DataFrame:
        """One row per policy, run and record point: policy, run, round, regret (needs pandas)."""
        try:
            import pandas as pd
        except ImportError:
            raise missing("pandas", "to_dataframe", "pandas") from None
        frames = [
            pd.DataFrame(
                {
                    "policy": label,
                    "run": np.repeat(np.arange(self.runs), self.record_at.size),
                    "round": np.tile(self.record_at, self.runs),
                    "regret": values.ravel(),
                }
            )
            for label, values in self.regret.items()
        ]
        return pd.concat(frames, ignore_index=True)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Mean cumulative regret with bands of 95 % confidence, on ``ax`` or a new figure.

        Options, all of `risingbandits.reports._matplotlib_figures.plot_regret`: ``policies`` (only these labels),
        ``band`` (False for none), ``log`` ("x", "y" or "xy"), ``legend`` ("right", "below", "labels" at the ends of the
        lines, or "none"), ``title`` ("" for none), ``width`` (inches, "column" or "page" of a paper), and ``path`` (a
        .pdf, .png or .svg file to write).
        """
        importlib.import_module("risingbandits.reports._style")  # or says that Matplotlib is missing
        from risingbandits.reports._matplotlib_figures import plot_regret

        return plot_regret(self, ax, **options)
