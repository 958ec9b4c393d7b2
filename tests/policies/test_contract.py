"""The contract, over every registered policy, and the parts of it that are the base class's own."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from risingbandits import Policy, RisingBanditsError, get_policy, get_problem, policy_names
from risingbandits._core.jit import kernel
from risingbandits.policies import Kernels, OracleConstant, REdUCB, policy_class, register
from risingbandits.problems import random_problem
from risingbandits.testing import check_policy, check_same_in_all_modes
from risingbandits.testing.policies import WRONG, refusals


@pytest.mark.parametrize("name", policy_names())
def test_every_registered_policy_keeps_the_contract(name: str) -> None:
    check_policy(get_policy(name))


@pytest.mark.parametrize("name", policy_names())
def test_a_setting_takes_hardly_any_value_that_makes_no_sense(name: str) -> None:
    policy = get_policy(name)
    taken = {setting: len(WRONG) - len(refusals(policy, setting)) for setting in policy.get_params()}
    assert {setting: number for setting, number in taken.items() if number > len(WRONG) - 10} == {}


def test_policies_show_what_users_call_and_their_settings() -> None:
    calls = {"ask", "clone", "expect_workers", "explain", "get_params", "inform", "load", "pulls", "recommend"}
    calls |= {"replace", "reset", "restore", "save", "state_dict", "tell"}
    tags = {"kernels", "name", "needs_horizon", "objective", "randomised", "reward_range", "summary", "verified"}
    more = {"auto": {"chosen"}, "config-model": {"predicted", "what_matters"}}
    for name in policy_names():
        shown = {word for word in dir(get_policy(name)) if word[0] != "_"}
        assert shown <= calls | tags | get_policy(name).get_params().keys() | more.get(name, set()), name


@pytest.mark.parametrize("policy", [REdUCB(sigma=0.0), REdUCB(ties="random"), REdUCB(eps=1 / 3)], ids=repr)
def test_settings_keep_the_contract(policy: Policy) -> None:
    check_policy(policy)


def test_many_arms_are_the_same_in_all_modes() -> None:
    problem = random_problem(150, horizon=1_500, seed=2)
    check_same_in_all_modes(REdUCB(sigma=0.05), problem, 1_500, seed=1)


def test_a_pickled_run_can_grow() -> None:
    """Arrays from a pickle may not own their memory; 500 pulls are more than the copy has room for."""
    policy = REdUCB().reset(3)
    for n in range(100):
        policy.tell(n % 3, 0.01 * n)
    copy = pickle.loads(pickle.dumps(policy))
    for one in (policy, copy):
        for n in range(500):
            one.tell(n % 3, 0.5)
    assert copy.pulls.tolist() == policy.pulls.tolist()
    assert str(copy.explain()) == str(policy.explain())


# -- check_policy finds what is wrong -----------------------------------------------------------------------------


class CountState(NamedTuple):
    told: np.ndarray
    n_arms: int


@kernel
def select_any(state: CountState, t: int, available: Any, rng: Any) -> int:
    return int(state.told[0]) % state.n_arms


@kernel
def select_beyond(state: CountState, t: int, available: Any, rng: Any) -> int:
    return t // 3


@kernel
def update_count(state: CountState, t: int, arm: int, reward: float, rng: Any) -> None:
    state.told[0] += 1


class Broken(Policy):
    """Ignores masks."""

    name = "broken"
    summary = "a policy with a fault"
    kernels = Kernels(select=select_any, update=update_count)

    def __init__(self) -> None:
        pass

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> CountState:
        return CountState(np.zeros(1, dtype=np.int64), n_arms)


class OutOfRange(Broken):
    kernels = Kernels(select=select_beyond, update=update_count)


@pytest.mark.parametrize(("policy", "fault"), [(Broken(), "not available"), (OutOfRange(), "returned arm")])
def test_check_policy_finds_faults(policy: Policy, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        check_policy(policy)


# -- settings, files, registry ------------------------------------------------------------------------------------


def test_settings_are_kept_as_given_and_shown_where_they_differ() -> None:
    policy = REdUCB(eps=0.1, sigma=2)
    assert policy.get_params()["sigma"] == 2
    assert repr(policy) == "REdUCB(eps=0.1, sigma=2)"
    assert repr(policy.replace(eps=0.25)) == "REdUCB(sigma=2)"
    assert repr(get_policy("constant", arm=3)) == "Constant(arm=3)"


@pytest.mark.parametrize("name", policy_names())
def test_the_tag_of_a_class_is_what_its_default_settings_need(name: str) -> None:
    assert bool(policy_class(name).needs_horizon) is get_policy(name)._requires_horizon()


def test_a_setting_that_is_given_needs_no_horizon() -> None:
    assert get_policy("exp3-s", gamma=0.1)._requires_horizon()
    assert not get_policy("exp3-s", gamma=0.1, alpha=0.01)._requires_horizon()


def test_a_policy_is_found_by_the_name_of_its_class_too() -> None:
    assert [repr(get_policy(name)) for name in ("REdUCB", "red-ucb")] == ["REdUCB()"] * 2


def test_a_name_belongs_to_one_class() -> None:
    with pytest.raises(RisingBanditsError, match="taken by REdUCB"):

        @register
        class Other(Broken):
            name = "red-ucb"


def test_oracle_needs_the_truth() -> None:
    with pytest.raises(RisingBanditsError, match="arm must be given to the oracle"):
        OracleConstant().reset(2)
    assert OracleConstant()._for_problem(get_problem("paper-15arms"), 200_000).arm == 12


def saved(tmp_path: Path) -> Path:
    policy = REdUCB(sigma=0.1, ties="random").reset(3, horizon=50, seed=1)
    for _ in range(20):
        policy.tell(policy.ask(), 0.5)
    return policy.save(tmp_path / "run.npz")


def test_a_policy_without_a_run_can_be_saved(tmp_path: Path) -> None:
    loaded = Policy.load(REdUCB(eps=0.2).save(tmp_path / "settings.npz"))
    assert repr(loaded) == "REdUCB(eps=0.2)"
    assert list(tmp_path.iterdir()) == [tmp_path / "settings.npz"]


@pytest.mark.parametrize(("shape", "written"), [((10**13,), 100), ((3 * 10**7,), 3 * 10**7)])
def test_a_file_that_would_fill_the_memory_is_refused(tmp_path: Path, shape: tuple[int, ...], written: int) -> None:
    """An array of 100 bytes that claims to be endless, and one of 30 MB of nothing, compressed to 30 kB."""
    right = saved(tmp_path)
    bomb = tmp_path / "bomb.npz"
    with zipfile.ZipFile(right) as whole, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        for name in whole.namelist():
            file.writestr(name, whole.read(name))
        array = io.BytesIO()
        np.lib.format.write_array_header_1_0(array, {"descr": "|u1", "fortran_order": False, "shape": shape})
        file.writestr("state.more.npy", array.getvalue() + bytes(written))
    with pytest.raises(RisingBanditsError, match="is not a saved policy, or is damaged"):
        Policy.load(bomb)


def test_damaged_and_foreign_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = saved(tmp_path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    sentences = []
    for _ in range(200):
        broken = bytearray(whole)
        for _ in range(int(rng.integers(1, 20))):
            broken[int(rng.integers(len(broken)))] = int(rng.integers(256))
        path.write_bytes(bytes(broken[: int(rng.integers(1, len(broken) + 1))]))
        try:
            Policy.load(path)
        except RisingBanditsError as error:
            sentences.append(str(error))
    assert len(sentences) > 150
    assert not any("\n" in sentence for sentence in sentences)
    for content in (b"", b"PK", b"not a file of ours"):
        path.write_bytes(content)
        with pytest.raises(RisingBanditsError, match="not a saved policy"):
            Policy.load(path)
    with pytest.raises(RisingBanditsError, match="does not exist"):
        Policy.load(tmp_path / "nothing.npz")


def test_a_file_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(arrays.pop("header").tobytes())
    header["format"] = 99
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)
    with pytest.raises(RisingBanditsError, match="format 99"):
        Policy.load(path)


def test_a_run_of_another_policy_is_refused_and_changes_nothing() -> None:
    running = REdUCB(sigma=0.1).reset(3)
    running.tell(2, 0.5)
    for run in (get_policy("ucb1").reset(3).state_dict(), {}, {**running.state_dict(), "pulls": [1]}):
        with pytest.raises(RisingBanditsError, match=r"run must be what state_dict of REdUCB\(sigma=0.1\) gave"):
            running.restore(run)
    assert running.pulls.tolist() == [0, 0, 1]
    with pytest.raises(RisingBanditsError, match="state_dict needs a run"):
        REdUCB().state_dict()


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.Philox])
def test_copies_and_files_keep_the_kind_of_generator(kind: Any, tmp_path: Path) -> None:
    policy = get_policy("exp3").reset(4, horizon=100, seed=np.random.Generator(kind(3)))
    copies = [policy.clone(), Policy.load(policy.save(tmp_path / "run.npz"))]
    arms = [policy.ask() for _ in range(20)]
    assert [[copy.ask() for _ in range(20)] for copy in copies] == [arms, arms]


def test_explanation_reads_well() -> None:
    policy = REdUCB(sigma=0.1).reset(2)
    for reward in (0.1, 0.2, 0.3, 0.4):
        policy.tell(0, reward)
    text = str(policy.explain())
    assert text.splitlines()[0] == "REdUCB(sigma=0.1), round 5"
    assert text.splitlines()[1].split() == [
        *("arm", "pulls", "estimate", "lcb", "predicted", "interval", "p_best", "level", "trend", "width", "value")
    ]
    assert text.splitlines()[3].split() == ["1", "0", "-", "-", "-", "-", "to", "-", "-", "-", "-", "-", "inf"]
    why = "best recent level less its standard error, 0.4 (estimate 0.4)"
    end = "at 4 pulls of each arm, what the oldest arm has had, as the horizon is unknown"
    assert text.splitlines()[4:] == [
        "next: 1, never pulled",
        f"recommended: 0, {why}",
        f"predicted, interval and p_best: {end}",
    ]
