"""A told sigma that the rewards contradict: where it is noticed, what is said of it, and where it must not be."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_noise import Guard, estimated
from risingbandits import Policy, RisingBandit, get_problem, simulate
from risingbandits._core.jit import interpreted
from risingbandits.lab.related import RUCBE
from risingbandits.policies import CommitUCB, GaussianThompson, GaussianUCB, REdUCB, RLessUCB
from risingbandits.policies._kernels import noise
from risingbandits.problems import Bernoulli, Beta, Exponential, Gaussian, Noise, Tabulated, power_law_problem

RULES = (None, "sunk-cost", "shared")
WATCHED = [GaussianUCB(), GaussianThompson(), REdUCB(), RUCBE(), CommitUCB()]


@pytest.mark.compiled
@pytest.mark.parametrize("rule", RULES)
def test_half_of_the_noise_told_costs_commit_ucb_nothing(rule: str | None) -> None:
    """Before it was noticed, these runs cost 13,700 with "sunk-cost", and one of them 109,000."""
    with pytest.warns(UserWarning, match=r"sigma=0.05 is contradicted by .* \(in 20 of 20 runs\)"):
        half = simulate(CommitUCB(risk=rule, sigma=0.05), "paper-2arms", runs=20, seed=3).final_regret["commit-ucb"]
    free = simulate(CommitUCB(risk=rule, sigma="auto"), "paper-2arms", runs=20, seed=3).final_regret["commit-ucb"]
    assert half.mean() < 1.1 * free.mean()
    assert half.max() < 1.2 * free.max()


@pytest.mark.parametrize("changes", [{}, {"recheck": 0.03}, {"risk": "shared"}, {"widths": "kl"}], ids=str)
def test_sigma_is_kept_only_where_a_bound_is_promised(changes: dict[str, Any]) -> None:
    said = "it is estimated from now on" if changes else "kept, because the bound on the regret is about it"
    with pytest.warns(UserWarning, match=f"sigma=0.02 is contradicted .*{said}"):
        simulate(
            CommitUCB(**{"risk": None, "recheck": 0.0, "sigma": 0.02, **changes}), "paper-2arms", horizon=2_000, seed=3
        )


def jumps(sigma: float) -> RisingBandit:
    """Arms that rise by 0.3 from one pull to the next, two of them twice."""
    curves = [Tabulated([0.2] * (12 + 3 * arm) + [0.5] * (40 + arm) + [0.5 + 0.3 * (arm < 2)]) for arm in range(5)]
    return RisingBandit(curves, noise=Gaussian(sigma), horizon=5_000)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "noise",
    [*map(Gaussian, (0.1, 0.01, 0.001)), Bernoulli(), pytest.param(Beta(), marks=pytest.mark.slow)],
    ids=repr,
)
def test_what_is_told_rightly_is_not_contradicted(noise: Noise) -> None:
    """Curves that bend, quick ones too; where none bends the chance is e^-20 a run. A remark would be an error."""
    quick = [Exponential(0.2 + 0.07 * arm, 0.02 + 0.02 * arm) for arm in range(10)]
    for problem in (get_problem("paper-15arms"), RisingBandit(quick), power_law_problem(20, 5_000, seed=3)):
        result = simulate(WATCHED, problem.with_noise(noise), horizon=5_000, runs=70, seed=12)
        for policy in WATCHED:
            assert (result.pulls[policy.name].sum(axis=1) == 5_000).all()


@pytest.mark.compiled
def test_curves_that_jump_do_not_contradict_sigma() -> None:
    result = simulate(WATCHED, jumps(0.05), runs=50, seed=12)
    for policy in WATCHED:
        assert (result.pulls[policy.name].sum(axis=1) == 5_000).all()


@pytest.mark.filterwarnings("ignore:sigma=0.0 is below the problem's noise")
def test_no_noise_told_is_never_contradicted() -> None:
    """sigma = 0 says that there is none: then nothing is asked of the rewards."""
    problem = get_problem("paper-2arms").with_noise(Gaussian(0.15))
    result = simulate(CommitUCB(sigma=0.0), problem, horizon=2_000, runs=5, seed=3)
    assert (result.pulls["commit-ucb"].sum(axis=1) == 2_000).all()


# -- policies that keep what they were told ----------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), sigma=st.sampled_from([0.05, 0.1, 0.2]), scale=st.sampled_from([0.05, 0.1, 0.4]))
def test_the_guard_is_that_of_the_definition(seed: int, sigma: float, scale: float) -> None:
    """Evidence of both signs, its lower limit, and what is found."""
    rng = np.random.default_rng(seed)
    policy, guard, add = GaussianUCB(sigma=sigma), Guard(sigma), interpreted(noise.add)
    state = policy._new_state(3, None, 10)
    rewards: list[list[float]] = [[], [], []]
    for _ in range(400):
        arm, reward = int(rng.integers(3)), float(rng.normal(0.5, scale))
        add(state, arm, reward)
        rewards[arm].append(reward)
        n = len(rewards[arm])
        if n % 5 == 0 and n > 5:
            guard.look(rewards[arm][-5:])
        evidence = state.noise["evidence"][0]
        assert (evidence == np.inf) == guard.contradicted
        if not guard.contradicted:
            assert evidence == pytest.approx(guard.evidence, abs=1e-9)
    found = float(np.sqrt(estimated(rewards)))
    said = policy._remark(state)
    assert (said is not None) == (guard.contradicted and found > 1.2 * sigma)
    assert said is None or f"whose noise is about {found:.2g}, but it is kept" in said
    assert guard.contradicted == (sigma < 0.6 * scale)


def test_only_the_first_pulls_of_an_arm_are_watched() -> None:
    policy = GaussianUCB(sigma=0.01).reset(1)
    for n in range(600):
        policy.tell(0, float(n >= 500 and n % 2))
    assert policy._remark(policy._state) is None


def play_noise(run: Policy, rounds: int) -> None:
    """Rewards of constant arms with noise 0.1."""
    rng = np.random.default_rng(1)
    for _ in range(rounds):
        run.tell(run.ask(), 0.5 + 0.1 * float(rng.standard_normal()))


@pytest.mark.parametrize("policy", [GaussianUCB(), GaussianThompson(), REdUCB(), RUCBE()], ids=repr)
def test_index_policies_say_that_sigma_is_too_small_and_keep_it(policy: Policy) -> None:
    told = policy.replace(sigma=0.05)
    said = rf"{policy.name}: sigma=0.05 is contradicted by the rewards, whose noise is about 0.\d+, but it is kept: "
    with pytest.warns(UserWarning, match=said):
        simulate(told, "paper-2arms", horizon=2_000, runs=3, seed=3)
    with pytest.warns(UserWarning, match=said) as caught:
        play_noise(told.reset(40, 2_000, seed=2), 2_000)  # so many arms that R-ed-UCB has its other kernels
    assert len(caught) == 1


@pytest.mark.parametrize("policy", [GaussianUCB(sigma=0.01), CommitUCB(sigma=0.01)], ids=repr)
def test_what_was_said_is_not_said_again_by_copies(policy: Policy, tmp_path: Path) -> None:
    """A remark would be an error. A new run has its own."""
    run = policy.reset(2, 2_000)
    with pytest.warns(UserWarning, match="sigma=0.01 is contradicted"):
        play_noise(run, 500)
    for copy in (run.clone(), Policy.load(run.save(tmp_path / "run.npz")), pickle.loads(pickle.dumps(run))):
        play_noise(copy, 200)
        assert copy.rounds == 700
    with pytest.warns(UserWarning, match="sigma=0.01 is contradicted"):
        play_noise(run.reset(2, 2_000), 500)


def test_noise_of_any_size_is_found() -> None:
    with pytest.warns(UserWarning, match=r'whose noise is about [12]\S*, but it is kept: sigma="auto" estimates it'):
        simulate(GaussianUCB(sigma=0.5), get_problem("paper-2arms").with_noise(Gaussian(2.0)), horizon=2_000, seed=3)


@pytest.mark.parametrize("policy", [GaussianUCB(), GaussianUCB(sigma=0.0), RLessUCB(sigma=0.01)], ids=repr)
def test_nothing_is_checked_where_nothing_is_given_or_nothing_follows(policy: Policy) -> None:
    """Between two pulls of a restless arm it may have risen by any amount."""
    policy.reset(2)
    for n in range(400):
        policy.tell(n % 2, float(n % 3))
    assert policy._remark(policy._state) is None
