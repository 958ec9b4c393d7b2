"""The frame of a regret study: panels of policies on one problem, its tables and its figures.

The result of a panel is kept (`paper.kept`), and never played twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from risingbandits._core.tables import TextTable
from risingbandits.lab.paper import _paper_figures as paper_figures
from risingbandits.lab.paper._csv_tables import RegretData, with_numbers, write_regret
from risingbandits.lab.paper._stored_results import kept_in, kept_result
from risingbandits.lab.paper.published import program_policies, starting_at_zero
from risingbandits.lab.paper.published.red_ucb import PublishedREdUCB
from risingbandits.policies import Policy, get_policy
from risingbandits.problems import Bernoulli, Beta, Noise, RisingBandit, get_problem
from risingbandits.reports.study import Study
from risingbandits.simulation import Result, simulate
from risingbandits.simulation._backends import Backend

PAPER_POLICIES = ("red-ucb", "kl-ucb", "sw-ucb", "sw-kl-ucb", "sw-ts", "rexp3", "ser4")
POLICIES = (*PAPER_POLICIES, "commit-ucb", "round-robin")

_CURVE_POINTS = 120
_BESIDE_THE_PAPER = 30  # runs of panels that the paper does not have, so that the whole study stays short


@dataclass(frozen=True)
class Panel:
    """A problem and the policies that play it."""

    name: str  # for files and tables
    problem: RisingBandit  # one with a name
    policies: dict[str, Policy]  # who plays
    horizon: int  # this and what follows as for `simulate`
    runs: int
    seed: int
    record_at: int

    def kept_in(self, folder: Path) -> Path:
        """Where the result is kept below the folder of a study."""
        numbers = (self.horizon, self.runs, self.seed, self.record_at)
        return kept_in(folder, self.problem.name, self.problem.noise, self.policies, numbers)

    def kept(self, folder: Path) -> Result | None:
        """The result that is there already; None where there is none, or a damaged one."""
        return kept_result(self.kept_in(folder))

    def play(self, folder: Path, backend: Backend, progress: bool = False) -> Result:
        """Play all runs, and keep the result."""
        result = simulate(
            self.policies,
            self.problem,
            horizon=self.horizon,
            runs=self.runs,
            seed=self.seed,
            record_at=self.record_at,
            progress=progress,
            backend=backend,
        )
        result.save(self.kept_in(folder))
        return result


@dataclass(frozen=True)
class Size:
    """How much is played."""

    runs: int = 100  # of each policy
    seed: int = 0
    horizon: int | None = None  # rounds; None for the experiment's own
    record_at: int = 80  # rounds at which regret is recorded, evenly spaced
    extra: bool = True  # whether the panels that the paper does not have are played too


class Experiment(Protocol):
    """A part of the reproduction: what is played, what is written, and what is drawn from that."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    def panels(self, size: Size) -> list[Panel]:
        """What must be played."""

    def write(self, results: Mapping[str, Result], size: Size, folder: Path) -> None:
        """Write the CSV files."""

    def draw(self, folder: Path) -> list[str]:
        """Draw all figures from the CSV files; return their stems."""

    def tables(self, folder: Path) -> list[TextTable]:
        """The tables of the summary, from the CSV files."""


class PanelSpec(NamedTuple):
    """One panel of a regret study: noise (None: the problem's own), policies, and where arms start."""

    name: str
    title: str
    noise: Noise | None
    policies: Callable[[], dict[str, Policy]]
    from_zero: bool = False  # whether the first pull pays mu(0), as in the published program
    most_runs: int | None = None  # for panels that no sentence of the paper is judged by
    runs_factor: int = 1  # for panels whose means need more runs than the others

    def played_on(self, problem: RisingBandit, horizon: int) -> RisingBandit:
        """The problem as this panel has it."""
        if self.from_zero:
            return starting_at_zero(problem, horizon)
        return problem if self.noise is None else problem.with_noise(self.noise)


def definitions() -> dict[str, Policy]:
    """The paper's policies as defined, CommitUCB and round robin."""
    return {name: get_policy(name) for name in POLICIES}


def single_deviations() -> dict[str, Policy]:
    """R-ed-UCB as defined and with single deviations of the published program, beside the paper's other policies."""
    sigma = 0.1  # as in the Gaussian study, whatever the noise
    return {
        "red-ucb": get_policy("red-ucb", sigma=sigma),
        "red-ucb, index 1": PublishedREdUCB(first_index=1.0, sigma=sigma),
        "red-ucb, index 1, random ties": PublishedREdUCB(first_index=1.0, sigma=sigma, ties="random"),
        "red-ucb, published": PublishedREdUCB(first_index=1.0, refresh=False, sigma=sigma, alpha=4.0),
        **{name: get_policy(name) for name in PAPER_POLICIES[1:]},
    }


PANELS = (
    PanelSpec("gaussian", "Gaussian noise 0.1", None, definitions),
    PanelSpec("bernoulli", "Bernoulli rewards", Bernoulli(), definitions, most_runs=_BESIDE_THE_PAPER),
    PanelSpec(
        "deviations",
        "Beta noise, single deviations",
        Beta(),
        single_deviations,
        most_runs=_BESIDE_THE_PAPER,
    ),
    PanelSpec("program", "the published program", Beta(), program_policies, from_zero=True),
)


@dataclass(frozen=True)
class RegretStudy:
    """A study of cumulative regret."""

    name: str  # for files
    title: str  # for the summary
    problem: str  # named problem
    curves_until: float  # share of the horizon up to which reward curves are shown
    specs: tuple[PanelSpec, ...] = PANELS  # the first is the paper's study, the others are extra

    def panels(self, size: Size) -> list[Panel]:
        found = []
        for spec in self.specs if size.extra else self.specs[:1]:
            problem = get_problem(self.problem)
            assert problem.horizon is not None
            horizon = problem.horizon if size.horizon is None else size.horizon
            problem = spec.played_on(problem, horizon)
            runs = spec.runs_factor * size.runs if spec.most_runs is None else min(size.runs, spec.most_runs)
            found.append(Panel(spec.name, problem, spec.policies(), horizon, runs, size.seed, size.record_at))
        return found

    def write(self, results: Mapping[str, Result], size: Size, folder: Path) -> None:
        problem = get_problem(self.problem)
        horizon = next(iter(results.values())).horizon
        last = max(2, round(self.curves_until * horizon))
        pulls = np.unique(np.linspace(1, last, _CURVE_POINTS + 1).round().astype(np.int64))
        means = problem.means(pulls)
        rows = [
            (name, int(n), f"{value:.6g}")
            for name, values in zip(problem.arm_names, means, strict=True)
            for n, value in zip(pulls, values, strict=True)
        ]
        write_regret(folder, self.name, results, rows)
        specs = {spec.name: spec for spec in self.specs}
        for panel, result in results.items():
            Study(specs[panel].played_on(problem, horizon), result).save(folder / self.name / panel)

    def draw(self, folder: Path) -> list[str]:
        data = RegretData.read(folder, self.name)
        runs = {row["panel"]: row["runs"] for row in data.final}
        titles = {spec.name: f"{self.title}, {spec.title}" for spec in self.specs}
        with_runs = {panel: f"{titles[panel]}, {count} runs" for panel, count in runs.items()}
        first, *extra = data.lines
        best = get_problem(self.problem).oracle_arm()
        figures = {
            "curves": paper_figures.curves_figure(data, f"{self.title}: mean reward of the arms", best),
            "regret": paper_figures.regret_figure(data, [first], with_runs),
            "pulls": paper_figures.pulls_figure(data, [first], titles, best),
        }
        if extra:
            figures["regret-extra"] = paper_figures.regret_figure(data, extra, with_runs)
            figures["pulls-extra"] = paper_figures.pulls_figure(data, extra, titles, best)
        return paper_figures.save_all(figures, folder, self.name)

    def tables(self, folder: Path) -> list[TextTable]:
        data = RegretData.read(folder, self.name)
        tables = []
        for spec in (spec for spec in self.specs if spec.name in data.lines):
            own = [row for row in data.final if row["panel"] == spec.name]
            rows = [
                (
                    row["policy"],
                    f"{float(row['regret']):,.0f}" + (f" ± {float(row['half_width']):,.0f}" if row["sd"] else ""),
                    f"{float(row['sd']):,.0f}" if row["sd"] else "-",
                    f"{float(row['percent_of_best']):.1f} %",
                )
                for row in own
            ]
            header = ("policy", "final regret ± 95 %", "sd of a run", "of J*")
            title, records = f"{self.title}: {spec.title}, {own[0]['runs']} runs", list(map(with_numbers, own))
            tables.append(TextTable(header, rows, frozenset({1, 2, 3}), title, records))
        return tables


FIFTEEN_ARMS = RegretStudy(
    "15arms",
    "15 arms",
    "paper-15arms",
    curves_until=6_000 / 200_000,  # the paper's 6,000 pulls
    # A run of the program's R-ed-UCB has a standard deviation of 30,000: 100 runs leave its place open.
    specs=tuple(spec._replace(runs_factor=10) if spec.name == "program" else spec for spec in PANELS),
)
TWO_ARMS = RegretStudy("2arms", "2 arms", "paper-2arms", curves_until=1 / 4)
