"""Online model selection: which of several online learners should see the next review.

The paper's real-world experiment, on the IMDB reviews or, for everyone, on the digits of scikit-learn: seven learners,
each trained only when it is chosen; and the pair of logistic regressions alone. Regret is counted against averaged
learning curves, as in the paper, and right predictions are counted as they come.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from risingbandits._core.errors import check_choice, check_positive_int
from risingbandits._core.progress import Advance
from risingbandits.lab.paper._stored_results import kept_in, kept_result
from risingbandits.lab.paper.imdb import Learner, LiveArms, Rows, load_digits, load_imdb
from risingbandits.lab.paper.imdb._averages import Averages
from risingbandits.lab.paper.published import ProgramREdUCB, program_policies
from risingbandits.policies import REdUCB
from risingbandits.policies.base import Policy
from risingbandits.policies.registry import get_policy
from risingbandits.reports.study import Study
from risingbandits.simulation import Result, simulate
from risingbandits.simulation._backends import Backend

DATASETS = ("imdb", "digits")
HORIZONS = {"imdb": 50_000, "digits": 10_000}
COMPARED = "commit-ucb"  # whose lead the tables show
AS_PRINTED = "red-ucb, sigma 0.1"  # R-ed-UCB with the paper's eps for this experiment and the sigma of its others
_EPS = 1 / 32
_PAPER = ("rexp3", "kl-ucb", "ser4", "sw-ucb", "sw-kl-ucb", "sw-ts")


def load_rows(dataset: str, data: Path | None, features: int) -> Rows:
    """The rows of a named data set."""
    check_choice("dataset", dataset, DATASETS)
    return load_imdb(data, features) if dataset == "imdb" else load_digits()


def study_policies(published: bool = False) -> dict[str, Policy]:
    """The paper's seven policies with its settings, CommitUCB and round robin; or those of the published program.

    R-ed-UCB has eps = 1/32 and plays twice: with sigma = 1/2, which 0/1 rewards have, and with sigma = 0.1, which the
    paper's other experiments have (it names none for this one). In the program it has sigma = 0.1 and a bonus that is
    never above 1.
    """
    if published:
        return {**program_policies(), "red-ucb": ProgramREdUCB(eps=_EPS, clip_bonus=True)}
    chosen: dict[str, Policy] = {COMPARED: get_policy(COMPARED), "red-ucb": REdUCB(eps=_EPS, sigma=0.5)}
    chosen[AS_PRINTED] = REdUCB(eps=_EPS, sigma=0.1)
    chosen.update({name: get_policy(name) for name in _PAPER})
    chosen["round-robin"] = get_policy("round-robin")
    return chosen


def play_studies(
    rows: Rows,
    averages: Averages,
    learners: Sequence[Learner],
    policies: dict[str, Policy],
    runs: int,
    seed: int,
    numbers: Sequence[int],
    progress: Advance | None = None,
    backend: str | Backend = "local",
    folder: Path | None = None,
) -> list[Study]:
    """Play the policies with the first ``n`` learners, for each n of ``numbers``; the rest as for `simulate`.

    With a ``folder`` the result of every policy is kept there as soon as all its runs are played, and not played again.
    """
    studies = []
    for number in numbers:
        check_positive_int("arms", number)
        own = Averages(averages.learners[:number])
        curves = own.problem(f"{rows.name}-{number}arms")
        arms = partial(LiveArms, rows, tuple(learners[:number]))
        played = []
        for label, policy in policies.items():
            causes = (own.fingerprint(), curves.name, learners[:number], label, policy, runs, seed)
            place = None if folder is None else kept_in(folder, *causes)
            kept = None if place is None else kept_result(place)
            if kept is None:
                with warnings.catch_warnings():
                    if label == AS_PRINTED:  # its sigma is known to be too small
                        warnings.filterwarnings("ignore", message=f"{label}: sigma=0.1 is contradicted")
                    kept = simulate(
                        {label: policy},
                        curves,
                        horizon=averages.horizon,
                        runs=runs,
                        seed=seed,
                        progress=progress or False,
                        backend=backend,
                        arms=arms,
                    )
                if place is not None:
                    kept.save(place)
            played.append(kept)
        studies.append(Study(curves, _side_by_side(played)))
    return studies


def _side_by_side(results: Sequence[Result]) -> Result:
    """Results of several policies on one problem as one."""
    whole = replace(results[0], settings={}, regret={}, pulls={}, recommended={}, reward={})
    for result in results:
        assert whole.reward is not None
        assert result.reward is not None, "live learners count their rewards"
        whole.settings.update(result.settings)
        whole.regret.update(result.regret)
        whole.pulls.update(result.pulls)
        whole.recommended.update(result.recommended)
        whole.reward.update(result.reward)
    return whole
