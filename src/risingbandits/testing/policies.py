"""`check_policy`: the whole contract of a policy as one call, for the policies of this package and for yours.

>>> from risingbandits.policies import RoundRobin
>>> from risingbandits.testing import check_policy
>>> check_policy(RoundRobin())
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits._core.jit import interpreted
from risingbandits._core.types import Mask
from risingbandits.policies import Policy, policy_names
from risingbandits.problems import Bernoulli, Gaussian, Polynomial, RisingBandit
from risingbandits.simulation._engine import CurveArms, Run, Runner, loop

_ROUNDS = 60
# What hardly any setting may be.
WRONG: tuple[Any, ...] = (
    *(True, -1, -0.5, 10**400, float("nan"), float("inf"), "", "no such word", b"x", object()),
    *([], [-1.0], ["a"], (1.0, 0.0), (0.0, float("inf")), {}, {"a": 1}),
)


@contextmanager
def _unheard() -> Iterator[None]:
    """What a policy says of rewards that are made up, or of a noise level that is not the problem's, is not news."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* is contradicted by the rewards")
        yield


def check_policy(policy: Policy, rounds: int = 150) -> None:
    """Raise AssertionError, with a sentence, if ``policy`` breaks the contract.

    What is checked: settings (get_params, clone, repr; what is refused is named), arms in range and masks
    respected for 1, 2 and 5 arms, runs of one round and runs that go on past the horizon, ties, seeds, copies and saved
    files that continue identically, refusal of bad input without a change, independence of policies from each other and
    from NumPy's global generator, and equality, bit for bit, of interpreted, compiled and ask/tell runs of ``rounds``
    rounds.
    """
    if not isinstance(policy, Policy):
        raise RisingBanditsError(f"policy must be a Policy, such as UCB1(), got {shown(policy)}.")
    policy = policy._for_problem(_problem(5), _ROUNDS)
    _check_settings(policy)
    _check_wrong_settings(policy)
    try:
        for n_arms in (1, 2, 5):
            _check_arms_and_masks(policy, n_arms)
    except RisingBanditsError as error:
        untagged = "rng is None" in str(error) and not (policy.randomised or policy._draws_on_tell)
        assert not untagged, f"{policy!r}: uses rng, so it must be tagged randomised or _draws_on_tell."
        raise
    _check_seeds(policy)
    # A file names its policy, which is then looked up.
    assert policy.name in policy_names(), f"{policy!r}: is not registered; put @register before the class."
    _check_copies(policy)
    _check_refusals(policy)
    _check_independence(policy)
    for problem in (_problem(5), _problem(2).with_noise(Bernoulli()), _problem(1)):
        check_same_in_all_modes(_fit(policy, problem.n_arms), problem, rounds, seed=3)


def check_same_in_all_modes(policy: Policy, problem: RisingBandit, horizon: int, seed: int) -> None:
    """Interpreted, compiled and ask/tell runs must agree in every pull and in every bit of the gains."""
    compiled_run = Runner(policy, problem, horizon, np.arange(1, horizon + 1)).play(np.random.SeedSequence(seed))
    others = {
        "interpreted": play_interpreted(policy, problem, horizon, seed),
        "ask/tell": play_by_hand(policy, problem, horizon, seed),
    }
    for mode, run in others.items():
        same = np.array_equal(run.gained, compiled_run.gained) and np.array_equal(run.pulls, compiled_run.pulls)
        assert same, f"{policy!r}: the {mode} run differs from the compiled run on {problem!r}."
        assert run.recommended == compiled_run.recommended, f"{policy!r}: the {mode} run recommends another arm."


def play_interpreted(policy: Policy, problem: RisingBandit, horizon: int, seed: int | np.random.SeedSequence) -> Run:
    """A run in plain Python, every kernel included."""
    arms = (problem.simulated_arms or CurveArms)(problem, horizon)
    slow = interpreted(loop, **policy._kernels_for(problem.n_arms, horizon)._asdict(), pull=arms.pull)
    runner = Runner(policy, problem, horizon, np.arange(1, horizon + 1), loop=slow)
    with np.errstate(all="ignore"):
        return runner.play(_sequence(seed))


@_unheard()
def play_by_hand(policy: Policy, problem: RisingBandit, horizon: int, seed: int | np.random.SeedSequence) -> Run:
    """The same run by asking and telling."""
    arms = (problem.simulated_arms or CurveArms)(problem, horizon)
    pull: Callable[..., tuple[float, float]] = interpreted(arms.pull)
    arms_seed, policy_seed = _sequence(seed).spawn(2)
    noise = arms.restart(arms_seed)
    policy = policy.clone().reset(problem.n_arms, horizon, policy_seed)
    gained = np.zeros(horizon)
    total = 0.0
    for t in range(1, horizon + 1):
        arm = policy.ask()
        mean, reward = pull(arms.state, arm, int(policy.pulls[arm]) + 1, t, noise)
        policy.tell(arm, reward)
        total += mean
        gained[t - 1] = total
    return Run(gained, policy.pulls, policy.recommend())


def _sequence(seed: int | np.random.SeedSequence) -> np.random.SeedSequence:
    return seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)


def _problem(n_arms: int) -> RisingBandit:
    curves = [Polynomial(limit=0.3 + 0.6 * i / n_arms, scale=5.0 + 10.0 * i, exponent=1.0) for i in range(n_arms)]
    return RisingBandit(curves, noise=Gaussian(0.1), horizon=_ROUNDS)


def _fit(policy: Policy, n_arms: int) -> Policy:
    """A fresh copy; a policy that is given an arm gets one that exists."""
    arm = policy.get_params().get("arm", 0)
    return policy.clone() if arm < n_arms else policy.replace(arm=n_arms - 1)


@_unheard()
def _play(policy: Policy, rounds: int, rng: np.random.Generator, mask: bool = False) -> list[int]:
    """Ask and tell with made-up rewards; the arms pulled."""
    arms = []
    for _ in range(rounds):
        available: Mask = None
        if mask:
            available = rng.random(policy.n_arms) < 0.5
            available[rng.integers(policy.n_arms)] = True
        arm = policy.ask(available)
        assert isinstance(arm, int), f"{policy!r}: ask returned {type(arm).__name__}, not int."
        assert 0 <= arm < policy.n_arms, f"{policy!r}: ask returned arm {arm} of {policy.n_arms}."
        assert available is None or available[arm], f"{policy!r}: ask returned arm {arm}, which is not available."
        policy.tell(arm, float(rng.random()) + 0.1 * arm)
        arms.append(arm)
    return arms


def _check_settings(policy: Policy) -> None:
    assert policy.name, f"{policy!r}: name must not be empty."
    assert policy.summary, f"{policy!r}: summary must not be empty."
    copy = policy.clone()
    assert copy is not policy, f"{policy!r}: clone returned the policy itself."
    assert repr(copy) == repr(policy), f"{policy!r}: clone has other settings: {copy!r}."
    for name, value in policy.get_params().items():
        assert getattr(copy, name) is value or np.all(getattr(copy, name) == value), f"{policy!r}: clone lost {name}."
    for verb in (policy.clone().ask, policy.clone().recommend, policy.clone().explain):
        _must_refuse(verb, what=f"{policy!r}: {verb.__name__} before reset")


def _check_wrong_settings(policy: Policy) -> None:
    for name in policy.get_params():
        said = refusals(policy, name)
        assert all(sentence.startswith(name) for sentence in said), f"{policy!r}: {name} is not named: {said}"


def refusals(policy: Policy, name: str) -> list[str]:
    """What `Policy._validate` says about values of a setting that make no sense, where it refuses them."""
    changed = [policy.replace(**{name: value}) for value in WRONG]
    return [said for said in map(_sentence, (wrong._validate for wrong in changed)) if said is not None]


def _check_arms_and_masks(policy: Policy, n_arms: int) -> None:
    policy = _fit(policy, n_arms)
    for horizon in (1, _ROUNDS):
        for mask in (False, True):
            assert policy.reset(n_arms, horizon, seed=1) is policy, f"{policy!r}: reset must return self."
            _play(policy, _ROUNDS + 20, np.random.default_rng(2), mask)
            assert 0 <= policy.recommend() < n_arms, f"{policy!r}: recommend is out of range."
            assert policy.pulls.sum() == policy.rounds == _ROUNDS + 20, f"{policy!r}: pulls are miscounted."
            explanation = policy.explain()
            assert str(explanation), f"{policy!r}: explain is empty."
            for column in explanation.columns.values():
                assert len(column) == n_arms, f"{policy!r}: explain has a column of the wrong length."
    policy.reset(n_arms, _ROUNDS, seed=1)
    for _ in range(_ROUNDS):  # ties: equal rewards for all
        policy.tell(policy.ask(), 0.5)
    if not policy._draws:
        only = np.zeros(n_arms, dtype=bool)
        only[-1] = True
        assert policy.ask(only) == n_arms - 1, f"{policy!r}: the only available arm must be chosen."


def _check_seeds(policy: Policy) -> None:
    def arms(seed: int) -> list[int]:
        return _play(policy.clone().reset(5, _ROUNDS, seed), _ROUNDS, np.random.default_rng(4))

    assert arms(7) == arms(7), f"{policy!r}: the same seed gives different runs."
    again = policy.clone().reset(5, _ROUNDS, 7)
    first = _play(again, _ROUNDS, np.random.default_rng(4))
    assert _play(again.reset(5, _ROUNDS, 7), _ROUNDS, np.random.default_rng(4)) == first, (
        f"{policy!r}: reset does not begin a fresh run."
    )


def _check_copies(policy: Policy) -> None:
    original = policy.clone().reset(5, 3 * _ROUNDS, seed=5)
    _play(original, _ROUNDS, np.random.default_rng(6))
    copy = original.clone()
    with tempfile.TemporaryDirectory() as folder:
        loaded = Policy.load(original.save(Path(folder) / "policy.npz"))
    arms = _play(original, 2 * _ROUNDS, np.random.default_rng(8))
    assert _play(copy, 2 * _ROUNDS, np.random.default_rng(8)) == arms, f"{policy!r}: a clone continues differently."
    assert _play(loaded, 2 * _ROUNDS, np.random.default_rng(8)) == arms, f"{policy!r}: a loaded run differs."
    assert repr(loaded) == repr(original), f"{policy!r}: a loaded policy has other settings."


def _check_refusals(policy: Policy) -> None:
    _must_refuse(lambda: policy.clone().reset(0, _ROUNDS), what=f"{policy!r}: reset with no arms")
    _must_refuse(lambda: policy.clone().reset(5, 0), what=f"{policy!r}: reset with horizon 0")
    if policy._requires_horizon():
        _must_refuse(lambda: policy.clone().reset(5), what=f"{policy!r}: reset without the horizon that it needs")
    running = policy.clone().reset(5, _ROUNDS, seed=9)
    _play(running, 20, np.random.default_rng(10))
    untouched = running.clone()
    wrong: list[tuple[Any, Any]] = [(0, np.nan), (0, np.inf), (0, "x"), (-1, 0.5), (5, 0.5), (1.5, 0.5), (None, 0.5)]
    for arm, reward in wrong:
        _must_refuse(partial(running.tell, arm, reward), what=f"{policy!r}: tell({arm}, {reward})")
    masks: list[Any] = [[True] * 4, np.zeros(5, dtype=bool), [1, 1, 1, 1, 1]]
    for mask in masks:
        _must_refuse(partial(running.ask, mask), what=f"{policy!r}: ask({mask})")
    same = _play(running, 20, np.random.default_rng(11)) == _play(untouched, 20, np.random.default_rng(11))
    assert same, f"{policy!r}: refused input changed the run."


def _check_independence(policy: Policy) -> None:
    alone = _play(policy.clone().reset(5, _ROUNDS, 12), _ROUNDS, np.random.default_rng(13))
    np.random.seed(0)  # noqa: NPY002 - the point is that policies ignore it
    before = np.random.get_state()  # noqa: NPY002
    one, other = policy.clone().reset(5, _ROUNDS, 12), policy.clone().reset(5, 99, 1)
    rng, other_rng = np.random.default_rng(13), np.random.default_rng(14)
    arms = []
    for _ in range(_ROUNDS):
        arms += _play(one, 1, rng)
        _play(other, 1, other_rng)
    after = np.random.get_state()  # noqa: NPY002
    assert arms == alone, f"{policy!r}: two policies side by side influence each other."
    unchanged = all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert unchanged, f"{policy!r}: NumPy's global generator was used."


def _must_refuse(call: Callable[[], Any], what: str) -> None:
    sentence = _sentence(call)
    assert sentence is not None, f"{what} was accepted."
    assert len(sentence) > 10, f"{what} gives no clear sentence: {sentence}"
    assert "\n" not in sentence, f"{what} gives more than one sentence: {sentence}"


def _sentence(call: Callable[[], Any]) -> str | None:
    """How a call is refused; None if it is not."""
    try:
        call()
    except RisingBanditsError as error:
        return str(error)
    return None
