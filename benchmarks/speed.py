"""How fast: every policy's loop beside a C loop, ask and tell beside River, many arms, threads, and a warm start.

    python benchmarks/speed.py            # everything, about two minutes with a warm cache
    python benchmarks/speed.py --quick    # small sizes, to see that it works

Other load moves all figures; the ratios, measured side by side in one run, are what counts.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from rich.console import Console
from rich.table import Table

from risingbandits import Policy, RisingBandit, get_policy, get_problem, policy_names
from risingbandits.policies import REdUCB
from risingbandits.problems import random_problem
from risingbandits.simulation._engine import Runner
from yardstick import c_loop

WARM_START = (
    "import time; start = time.perf_counter(); from risingbandits import simulate; "
    "simulate('red-ucb', 'paper-15arms', horizon=100, jobs=1); print(time.perf_counter() - start)"
)


def interleaved(tasks: dict[str, Callable[[int], object]], repeats: int) -> dict[str, list[float]]:
    """Seconds of each task, all tasks taking turns so that other load hits them alike; the first turn is dropped."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for repeat in range(repeats + 1):
        for name, task in tasks.items():
            start = time.perf_counter()
            task(repeat)
            if repeat:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def runner_of(policy: Policy, problem: RisingBandit, horizon: int) -> Runner:
    policy = policy._for_problem(problem, horizon)
    return Runner(policy, problem, horizon, np.array([horizon], dtype=np.int64))


def play_of(policy: Policy, problem: RisingBandit, horizon: int) -> Callable[[int], object]:
    runner = runner_of(policy, problem, horizon)
    return lambda seed: runner.play(np.random.SeedSequence(seed))


def loops(console: Console, horizon: int, repeats: int) -> float:
    """ns per round of every registered policy on paper-15arms; returns that of R-ed-UCB."""
    problem = get_problem("paper-15arms")
    tasks: dict[str, Callable[[int], object]] = {}
    yardstick = c_loop(problem, horizon)
    if yardstick is not None:
        tasks["C loop (R-ed-UCB)"] = yardstick
    tasks |= {name: play_of(get_policy(name), problem, horizon) for name in policy_names()}
    seconds = interleaved(tasks, repeats)
    ns = {name: 1e9 * min(values) / horizon for name, values in seconds.items()}
    base = ns.get("C loop (R-ed-UCB)")
    table = Table("loop, paper-15arms", "ns a round (best)", "ns (median)", "ratio to C", title=f"T = {horizon:,}")
    for name in sorted(ns, key=lambda name: ns[name]):
        ratio = "no compiler" if base is None else f"{ns[name] / base:.2f}"
        table.add_row(name, f"{ns[name]:.1f}", f"{1e9 * statistics.median(seconds[name]) / horizon:.1f}", ratio)
    console.print(table)
    return ns["red-ucb"]


def ask_and_tell(console: Console, calls: int) -> None:
    """us per ask+tell of every policy at K = 15, beside River's policies where it is installed."""
    table = Table("ask + tell, K = 15", "us a round (best of 5)")
    us: dict[str, float] = {}
    for name in policy_names():
        policy = get_policy(name)._for_problem(get_problem("paper-15arms"), 200_000).reset(15, 200_000, seed=0)

        def ours(policy: Policy = policy) -> None:
            policy.tell(policy.ask(), 0.5)

        us[name] = _best_us(ours, calls)
    for name, step in {**river_steps(console), **mabwiser_steps(console)}.items():
        us[name] = _best_us(step, calls // 10)
    for name in sorted(us, key=lambda name: us[name]):
        table.add_row(name, f"{us[name]:.2f}")
    console.print(table)


def river_steps(console: Console) -> dict[str, Callable[[], None]]:
    """One pull and one update of River's policies, where it is installed."""
    try:
        from river import bandit, proba, stats
    except ImportError:
        console.print("River is not installed (pip install 'risingbandits\\[bench]'): its rows are left out.")
        return {}
    arms = list(range(15))
    peers = {
        "River UCB": bandit.UCB(delta=1, reward_obj=stats.Mean(), seed=0),
        "River EpsilonGreedy": bandit.EpsilonGreedy(epsilon=0.1, seed=0),
        "River ThompsonSampling": bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=0),
    }
    return {name: lambda peer=peer: peer.update(peer.pull(arms), 1) for name, peer in peers.items()}  # type: ignore[misc]


def mabwiser_steps(console: Console) -> dict[str, Callable[[], None]]:
    """One prediction and one partial fit of MABWiser's policies, where it is installed."""
    try:
        from mabwiser.mab import MAB, LearningPolicy
    except ImportError:
        console.print("MABWiser is not installed (pip install 'risingbandits\\[bench]'): its rows are left out.")
        return {}
    policies = {
        "MABWiser UCB1": LearningPolicy.UCB1(),
        "MABWiser EpsilonGreedy": LearningPolicy.EpsilonGreedy(),
        "MABWiser ThompsonSampling": LearningPolicy.ThompsonSampling(),
    }
    steps: dict[str, Callable[[], None]] = {}
    for name, policy in policies.items():
        peer = MAB(list(range(15)), policy)
        peer.fit(list(range(15)), [1] * 15)

        def step(peer: MAB = peer) -> None:
            peer.partial_fit([peer.predict()], [1])

        steps[name] = step
    return steps


def _best_us(call: Callable[[], None], calls: int) -> float:
    call()
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / calls


def many_arms(console: Console, horizon: int, repeats: int) -> None:
    """Cost of a round with 10,000 arms, pruned and scanned in full, beside 15 arms."""
    few, many = get_problem("paper-15arms"), random_problem(10_000, horizon=horizon, seed=1)
    tasks = {
        "K = 15": play_of(REdUCB(), few, horizon),
        "K = 10,000": play_of(REdUCB(), many, horizon),
    }
    ns = {name: 1e9 * min(values) / horizon for name, values in interleaved(tasks, repeats).items()}
    table = Table("R-ed-UCB, many arms", "ns a round", "ratio to K = 15", title=f"T = {horizon:,}")
    for name, value in ns.items():
        table.add_row(name, f"{value:.1f}", f"{value / ns['K = 15']:.1f}")
    console.print(table)


def threads(console: Console, horizon: int, pairs: int, leg: float) -> None:
    """Two threads against one, R-ed-UCB on paper-15arms: legs of at least ``leg`` seconds, buffers reused in both."""
    problem = get_problem("paper-15arms")
    runners = [runner_of(REdUCB(), problem, horizon) for _ in range(2)]
    start = time.perf_counter()
    runners[0].play(np.random.SeedSequence(0))
    runners[1].play(np.random.SeedSequence(0))
    per_run = (time.perf_counter() - start) / 2
    runs = 2 * max(1, int(np.ceil(leg / per_run)))

    def play(runner: Runner, count: int) -> None:
        for seed in range(count):
            runner.play(np.random.SeedSequence(seed))

    def leg_of(workers: int) -> tuple[float, float]:
        wall, cpu = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(workers) as pool:
            for future in [pool.submit(play, runner, runs // workers) for runner in runners[:workers]]:
                future.result()
        return time.perf_counter() - wall, time.process_time() - cpu

    table = Table("pair", "1 thread, s (CPU)", "2 threads, s (CPU)", "speed-up", title=f"{runs} runs a leg")
    ratios = []
    for pair in range(pairs):
        (before, cpu_before), (two, two_cpu), (after, cpu_after) = leg_of(1), leg_of(2), leg_of(1)
        one, one_cpu = (before + after) / 2, (cpu_before + cpu_after) / 2  # around the other leg, against drifting load
        ratios.append(one / two)
        table.add_row(f"{pair + 1}", f"{one:.2f} ({one_cpu:.2f})", f"{two:.2f} ({two_cpu:.2f})", f"{one / two:.2f}")
    console.print(table)
    console.print(f"best of {pairs} pairs: {max(ratios):.2f} times one thread")


def warm_start(console: Console, repeats: int) -> None:
    """Seconds from the start of a new process's imports to the end of a short simulation, cache warm."""
    command = [sys.executable, "-c", WARM_START]
    subprocess.run(command, check=True, capture_output=True)
    seconds = [float(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(repeats)]
    console.print(
        f"import and first simulation in a new process: best {min(seconds):.2f} s, all {np.round(seconds, 2)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes: figures mean nothing")
    quick = parser.parse_args().quick
    console = Console()
    loops(console, 5_000 if quick else 200_000, 2 if quick else 15)
    ask_and_tell(console, 100 if quick else 5_000)
    many_arms(console, 20_000 if quick else 200_000, 1 if quick else 5)
    threads(console, 20_000 if quick else 200_000, 1 if quick else 7, 0.05 if quick else 1.0)
    warm_start(console, 1 if quick else 5)


if __name__ == "__main__":
    main()
