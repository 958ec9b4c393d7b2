"""`simulate` and `Result`: regret against a slow account, seeds, threads, files."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from programs import PATIENCE, program, until
from risingbandits import Result, RisingBandit, RisingBanditsError, get_problem, simulate
from risingbandits.policies import Constant, REdUCB, RoundRobin
from risingbandits.problems import Bernoulli, ConstantCurve, NoNoise, Polynomial
from risingbandits.simulation._backends import Threads
from risingbandits.simulation.run import record_rounds
from risingbandits.testing import play_by_hand


def test_regret_is_the_sum_of_the_definition() -> None:
    problem = get_problem("paper-15arms")
    horizon = 600
    result = simulate(REdUCB(), problem, horizon=horizon, runs=2, seed=5, record_at=[1, 10, 599])
    means = problem.means(np.arange(1, horizon + 1))
    best = means[means.sum(axis=1).argmax()]
    for run in range(2):
        seed = np.random.SeedSequence(5, spawn_key=(run,))
        by_hand = play_by_hand(REdUCB(sigma=0.1), problem, horizon, seed)
        regret = np.cumsum(best) - by_hand.gained
        np.testing.assert_allclose(result.regret["red-ucb"][run], regret[[0, 9, 598, 599]], rtol=1e-10, atol=1e-10)
        np.testing.assert_array_equal(result.pulls["red-ucb"][run], by_hand.pulls)


def test_optimum_has_no_regret_and_a_constant_arm_the_difference_of_sums() -> None:
    problem = get_problem("paper-2arms")
    result = simulate({"best": "oracle", "first": Constant(0)}, problem, horizon=50_000)
    sums = problem.mean_sums(50_000)
    assert abs(result.final_regret["best"][0]) < 1e-6
    assert result.final_regret["first"][0] == pytest.approx(sums[1] - sums[0], rel=1e-12)


def test_results_do_not_depend_on_threads_or_company() -> None:
    alone = simulate("red-ucb", "random-3", horizon=2_000, runs=7, seed=3, jobs=1)
    crowd = simulate(["round-robin", "red-ucb", "oracle"], "random-3", horizon=2_000, runs=7, seed=3, jobs=4)
    np.testing.assert_array_equal(alone.regret["red-ucb"], crowd.regret["red-ucb"])
    np.testing.assert_array_equal(alone.pulls["red-ucb"], crowd.pulls["red-ucb"])
    other = simulate("red-ucb", "random-3", horizon=2_000, runs=7, seed=4, jobs=1)
    assert not np.array_equal(alone.regret["red-ucb"], other.regret["red-ucb"])
    assert len({tuple(run) for run in alone.regret["red-ucb"].tolist()}) == 7


def test_first_runs_are_the_same_whatever_the_number_of_runs() -> None:
    few, many = (simulate("red-ucb", "random-3", horizon=500, runs=runs, seed=1) for runs in (2, 9))
    np.testing.assert_array_equal(few.regret["red-ucb"], many.regret["red-ucb"][:2])


def test_bernoulli_regret_counts_clipped_means() -> None:
    problem = RisingBandit([ConstantCurve(1.5), Polynomial(0.9, 10.0, 1.0)], noise=Bernoulli())
    result = simulate(Constant(1), problem, horizon=100)
    clipped = 100 - problem.means(np.arange(1, 101))[1].sum()
    assert result.final_regret["constant"][0] == pytest.approx(clipped, rel=1e-12)


def test_policies_may_be_given_in_many_ways() -> None:
    ways: list[Any] = ["red-ucb", REdUCB(), ["red-ucb", RoundRobin()], {"mine": "red-ucb"}, [REdUCB(), REdUCB(eps=0.1)]]
    labels = [simulate(given, "paper-2arms", horizon=20).policies for given in ways]
    assert labels == [["red-ucb"], ["red-ucb"], ["red-ucb", "round-robin"], ["mine"], ["REdUCB()", "REdUCB(eps=0.1)"]]


def test_a_string_is_its_own_label_whatever_it_is_compared_with() -> None:
    written = "red-ucb(eps=0.1)"
    beside: list[Any] = [[], ["round-robin"], ["red-ucb"], [REdUCB(eps=0.2)], [REdUCB(), "red-ucb( eps=0.3 )"]]
    labels = [simulate([written, *others], "paper-2arms", horizon=20).policies for others in beside]
    others = [[], ["round-robin"], ["red-ucb"], ["red-ucb"], ["red-ucb", "red-ucb( eps=0.3 )"]]
    assert labels == [[written, *own] for own in others]
    mixed = simulate(["red-ucb", REdUCB(eps=0.2)], "paper-2arms", horizon=20)
    assert mixed.policies == ["red-ucb", "REdUCB(eps=0.2)"]


def test_record_points_rise_and_end_at_the_horizon() -> None:
    assert record_rounds(4, 10).tolist() == [3, 5, 8, 10]
    assert record_rounds(100, 7).tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert record_rounds([5, 2, 5], 9).tolist() == [2, 5, 9]


def test_mean_and_interval_are_students() -> None:
    result = simulate("red-ucb", "paper-2arms", horizon=500, runs=5, seed=2)
    values = result.final_regret["red-ucb"]
    half = 2.7764451051977987 * values.std(ddof=1) / np.sqrt(5)  # t quantile 0.975 with 4 degrees of freedom
    low, high = result.interval("red-ucb")
    assert low[-1] == pytest.approx(values.mean() - half, rel=1e-12)
    assert high[-1] == pytest.approx(values.mean() + half, rel=1e-12)
    assert np.isnan(simulate("red-ucb", "paper-2arms", horizon=50).half_width("red-ucb")).all()
    with pytest.raises(RisingBanditsError, match="label must be one of red-ucb"):
        result.mean("other")


def test_progress_is_reported() -> None:
    seen: list[tuple[str, int]] = []
    simulate(["red-ucb", "oracle"], "paper-2arms", horizon=50, runs=3, jobs=2, progress=lambda *step: seen.append(step))
    assert sorted(seen) == sorted((label, n) for label in ("red-ucb", "oracle") for n in (1, 2, 3))


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def fail(label: str, finished: int) -> None:
        raise RuntimeError("stop here")

    with pytest.raises(RuntimeError, match="stop here"):
        simulate("red-ucb", "paper-2arms", horizon=50, runs=50, jobs=2, progress=fail)
    assert threading.active_count() < 10


# -- files --------------------------------------------------------------------------------------------------------


@pytest.fixture
def result() -> Result:
    return simulate(["red-ucb", "round-robin"], "paper-2arms", horizon=400, runs=3, seed=9, record_at=5)


def test_saved_results_come_back_and_equal_results_give_equal_bytes(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result.save(tmp_path / "one")
    monkeypatch.setattr(time, "time", lambda: 1e9)  # at another time, which no file tells
    again = simulate(["red-ucb", "round-robin"], "paper-2arms", horizon=400, runs=3, seed=9, record_at=5, jobs=1)
    again.save(tmp_path / "two")
    for name in ("result.npz", "result.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    loaded = Result.load(tmp_path / "one")
    assert loaded.settings == result.settings
    assert loaded.summary() == result.summary()
    for label in result.policies:
        np.testing.assert_array_equal(loaded.regret[label], result.regret[label])
        np.testing.assert_array_equal(loaded.pulls[label], result.pulls[label])
        np.testing.assert_array_equal(loaded.recommended[label], result.recommended[label])


def test_damaged_results_are_refused(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    (tmp_path / "result.npz").write_bytes(b"something else")
    with pytest.raises(RisingBanditsError, match="damaged"):
        Result.load(tmp_path)
    (tmp_path / "result.json").write_text("{")
    with pytest.raises(RisingBanditsError, match="no readable result"):
        Result.load(tmp_path)
    with pytest.raises(RisingBanditsError, match="does not exist"):
        Result.load(tmp_path / "nowhere")


def test_data_of_another_result_is_refused(tmp_path: Path) -> None:
    """Whole, and of the same shape: only the header can tell."""
    one, other = (
        simulate("red-ucb", "paper-2arms", horizon=50, runs=2, seed=seed).save(tmp_path / str(seed)) for seed in (1, 2)
    )
    (one / "result.npz").write_bytes((other / "result.npz").read_bytes())
    with pytest.raises(
        RisingBanditsError, match=r"result\.npz does not belong to result\.json beside it, or is damaged\.$"
    ):
        Result.load(one)
    assert Result.load(other).seed == 2


def test_data_frame_has_a_row_for_every_policy_run_and_checkpoint(result: Result) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed: pip install 'risingbandits[pandas]'")
    frame = result.to_dataframe()
    assert list(frame.columns) == ["policy", "run", "round", "regret"]
    assert len(frame) == 2 * 3 * 5
    last = frame[(frame["policy"] == "red-ucb") & (frame["round"] == 400)]
    np.testing.assert_array_equal(last["regret"], result.final_regret["red-ucb"])


def test_interrupt_leaves_no_half_written_file(tmp_path: Path) -> None:
    script = (
        "from risingbandits import simulate\n"
        "say = lambda policy, runs: print('played', flush=True)\n"
        "simulate('red-ucb', 'paper-15arms', runs=10_000, seed=1, progress=say).save('out')\n"
    )
    command = [sys.executable, "-c", script]
    with program(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        played = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert played == "played\n"
    assert process.returncode != 0
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_runs_are_handed_out_stops_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was waited for all that had been handed out by then, minutes of work."""
    played: list[int] = []
    submit, submitted = ThreadPoolExecutor.submit, []

    def second_is_interrupted(*arguments: Any) -> Any:
        submitted.append(arguments)
        if len(submitted) == 2:
            until(lambda: played)
            raise KeyboardInterrupt
        return submit(*arguments)

    def play(item: int) -> None:
        played.append(item)
        time.sleep(0.001)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", second_is_interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(Threads(1).play(lambda label: play, {"a": range(8_000)}))
    assert len(played) < 2_000, "a quarter of the items was handed out"


def test_an_interrupted_simulation_does_not_wait_for_a_run_at_work() -> None:
    begun, go, finished = threading.Event(), threading.Event(), []

    def play(item: int) -> int:
        if item:
            begun.set()
            go.wait(10.0)
            finished.append(item)
        return item

    playing = Threads(2).play(lambda label: play, {"a": range(2)})
    assert next(playing) == ("a", 0, 0)
    begun.wait(PATIENCE)
    playing.close()  # as for a caller who is interrupted
    assert finished == []
    go.set()


def test_noise_free_problems_have_equal_runs() -> None:
    problem = get_problem("paper-2arms").with_noise(NoNoise())
    final = simulate("red-ucb", problem, horizon=1_000, runs=3).final_regret["red-ucb"]
    assert len(set(final.tolist())) == 1
