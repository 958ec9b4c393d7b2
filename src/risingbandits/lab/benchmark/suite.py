"""Which rows are played: all, or those of some regimes or kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from risingbandits._core.errors import RisingBanditsError, check_choice
from risingbandits.lab.benchmark import synthetic
from risingbandits.lab.benchmark.curve_tasks import BUDGETS, CurveTask
from risingbandits.lab.benchmark.first_families import first_families
from risingbandits.lab.benchmark.made_families import made_families
from risingbandits.lab.benchmark.rows import KINDS, Problem, ReplayedProblem, Row, seed_of
from risingbandits.lab.benchmark.second_families import second_families
from risingbandits.lab.benchmark.synthetic import Sizes
from risingbandits.policies.base import OBJECTIVES

_QUICK_BUDGETS, _QUICK_TASKS = BUDGETS[:2], 2
_MANY_ARMS, _MANY_BUDGETS = 200, BUDGETS[:3]  # from this many arms on, fewer pulls for each

_OF_DATA = (  # rows that need files; known also where these are missing
    *("metaqnn_cifar10", "deep_resnets_tinyimagenet", "lstm_ptb", "atari", "lcdb", "scikit-learn", "taskset"),
    *("algoperf-fastmri", "algoperf-librispeech", "algoperf-ogbg", "tdmpc2", "dmc-proprio", "dmc-vision"),
    *("flat-starts", "late-bloomers", "sorted-worst-first", "sorted-best-first", "sorted-by-setting"),
    "many-arms-real",
)

_SYNTHETIC: dict[str, Callable[[int, Sizes], Iterator[Row]]] = {
    "presets": synthetic.presets,
    "families": synthetic.families,
    "random": synthetic.random_instances,
    "misspecified": synthetic.bent,
    "pairs": synthetic.pairs,
    "noisy-short": partial(synthetic.noisy_short, "cumulative"),
    "stationary": synthetic.stationary,
    "many-arms": synthetic.many_arms,
    "misjudged-sigma": partial(synthetic.misjudged, "sigma", (0.5, 2.0)),
    "misjudged-cap": partial(synthetic.misjudged, "cap", (0.8, 1.2)),
}
_SYNTHETIC_BEST_ARM: dict[str, Callable[[int, Sizes], Iterator[Row]]] = {
    "noisy-short": partial(synthetic.noisy_short, "best-arm"),
}


def suite(
    names: Sequence[str] | None, objectives: Sequence[str], seed: int, sizes: Sizes, data: str | None
) -> tuple[list[Row], list[str]]:
    """All rows of the named regimes or kinds, in a fixed order, and sentences on what was left out.

    ``data`` is the folder that holds ``curves/``; without it, or where files are missing, the others are played.
    """
    for objective in objectives:
        check_choice("objective", objective, OBJECTIVES)
    left_out: list[str] = []
    try:
        real, made = load_tasks(data)
    except RisingBanditsError as error:
        real, made = {}, {}
        left_out.append(f"real curves left out: {error}")
    known = dict.fromkeys([*KINDS, *_SYNTHETIC, *_OF_DATA, *real, *made])
    wanted = [check_choice("rows", name, known) for name in names or KINDS]
    rows: list[Row] = []
    for objective in OBJECTIVES:
        if objective not in objectives:
            continue
        for kind, families in (("real", real), ("made", made)):
            for family, tasks in families.items():
                if {kind, family} & set(wanted):
                    rows.append(replayed_row(family, kind, objective, tasks, seed, sizes))
        makers = _SYNTHETIC if objective == "cumulative" else _SYNTHETIC_BEST_ARM
        for regime, maker in makers.items():
            if {_kind(regime), regime} & set(wanted):
                rows.extend(maker(seed, sizes))
    return [row for row in rows if row.problems], left_out


def _kind(regime: str) -> str:
    return "misjudged" if regime.startswith("misjudged") else "synthetic"


def replayed_row(family: str, kind: str, objective: str, tasks: Sequence[CurveTask], seed: int, sizes: Sizes) -> Row:
    """A family of real curves: its tasks, each with several budgets and orders of the arms."""
    problems: list[Problem] = []
    for task in tasks[:_QUICK_TASKS] if sizes.quick else tasks:
        per_arm = _QUICK_BUDGETS if sizes.quick else _MANY_BUDGETS if task.n_arms >= _MANY_ARMS else BUDGETS
        for budget in task.budgets(objective, per_arm):
            number = seed_of(seed, f"{family} {task.name}", budget)
            problems.append(ReplayedProblem(task, budget, sizes.orders, objective, number))
    return Row(family, family, kind, objective, "share", tuple(problems))


def load_tasks(data: str | None) -> tuple[dict[str, list[CurveTask]], dict[str, list[CurveTask]]]:
    """The families of real curves and those made from them; an error in one sentence if there are no data."""
    if not data:
        raise RisingBanditsError("set RISINGBANDITS_DATA to the folder that holds curves/.")
    folder = Path(data) / "curves"
    if not any(folder.glob("*.npz")):
        raise RisingBanditsError("the folder that RISINGBANDITS_DATA names has no curves/*.npz.")
    try:
        return _load(folder)
    except (OSError, KeyError, ValueError) as error:
        raise RisingBanditsError(f"curves/ cannot be read ({type(error).__name__}: {error}).") from error


@cache
def _load(folder: Path) -> tuple[dict[str, list[CurveTask]], dict[str, list[CurveTask]]]:
    more, many = second_families(folder)
    real = first_families(folder) | more
    return real, made_families(real, many)
