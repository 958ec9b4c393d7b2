"""What the golden tests and `make.py`, which records their files, share: rewards, ways to play, and problems."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import risingbandits as rb
from risingbandits.cli import run
from risingbandits.policies import policy_class

FOLDER = Path(__file__).parent

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
_MASK = (1 << 64) - 1


def load(name: str) -> dict[str, Any]:
    """The content of a golden JSON file: the rounding of the machine, and what was played with its outcome."""
    content: dict[str, Any] = json.loads((FOLDER / name).read_text())
    return content


# -- rewards --------------------------------------------------------------------------------------------------------


def mix(*numbers: int) -> int:
    """A hash of some numbers, 64 bits (splitmix64): noise that is the same everywhere and needs no state."""
    value = 0
    for number in numbers:
        value = (value + number + 0x9E3779B97F4A7C15) & _MASK
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
        value ^= value >> 31
    return value


def reward(arm: int, n: int) -> float:
    """The reward of pull n of an arm, in [0, 1]: a rising curve and noise, by +, -, * and / alone."""
    limit = 0.3 + 0.6 * ((7 * arm + 3) % 11) / 10.0
    slow = 4.0 + 9.0 * ((5 * arm + 2) % 7)
    noise = 0.16 * (mix(arm, n) / 2.0**64 - 0.5)
    return min(1.0, max(0.0, limit * n / (n + slow) + noise))


def write_curves(path: Path) -> Path:
    """Recorded curves of six arms as a CSV file; they differ in length."""
    lengths = [120, 40, 200, 75, 160, 90]
    rows = [",".join(f"arm {arm}" for arm in range(len(lengths)))]
    for n in range(1, max(lengths) + 1):
        rows.append(",".join(repr(reward(arm, n)) if n <= length else "" for arm, length in enumerate(lengths)))
    path.write_text("\n".join(rows) + "\n")
    return path


# -- policies -------------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """How a policy is played."""

    policy: str
    params: dict[str, Any]
    n_arms: int
    horizon: int | None
    pattern: str = "plain"  # "masked": not all arms on some rounds; "foreign": now and then another arm is told

    def play(self) -> dict[str, Any]:
        """The arms that the policy asks for in its first 300 rounds, and the one that it recommends then."""
        params = {name: tuple(value) if isinstance(value, list) else value for name, value in self.params.items()}
        policy = rb.get_policy(self.policy, **params).reset(self.n_arms, self.horizon, seed=5)
        asked = []
        for t in range(1, 301):
            arm = policy.ask(self._available(t) if self.pattern == "masked" else None)
            asked.append(arm)
            if self.pattern == "foreign" and t % 7 == 5:
                arm = mix(t, 1) % self.n_arms
            policy.tell(arm, reward(arm, int(policy.pulls[arm]) + 1))
        return {"asked": encode(asked, self.n_arms), "recommended": policy.recommend()}

    def _available(self, t: int) -> npt.NDArray[np.bool_] | None:
        if t % 5 < 3:
            return None
        mask = np.array([mix(t, arm) % 3 > 0 for arm in range(self.n_arms)])
        mask[mix(t) % self.n_arms] = True
        return mask


def encode(arms: list[int], n_arms: int) -> str:
    """Arms as text: a letter each, or two hexadecimal digits where there are too many."""
    return "".join(LETTERS[arm] for arm in arms) if n_arms <= len(LETTERS) else bytes(arms).hex()


# -- simulations ----------------------------------------------------------------------------------------------------


class Simulated(NamedTuple):
    """How a policy is simulated."""

    policy: str
    params: dict[str, Any]
    problem: str
    after_end: str = "hold"

    def play(self, runs: int = 3) -> dict[str, Any]:
        """The regret, pulls and recommended arm of each run."""
        policy, problem = rb.get_policy(self.policy, **self.params), problem_of(self.problem)
        settings: dict[str, Any] = {"horizon": 2_000, "seed": 11, "record_at": 1, "after_end": self.after_end}
        result = rb.simulate({"": policy}, problem, runs=runs, jobs=1, **settings)
        return {
            "regret": [float(value).hex() for value in result.final_regret[""]],
            "pulls": result.pulls[""].tolist(),
            "recommended": result.recommended[""].tolist(),
        }


def problem_of(name: str) -> rb.RisingBandit:
    """A problem of the golden simulations."""
    if name == "15 arms":
        return rb.problems.random_problem(15, 2_000, seed=3)
    if name == "150 arms":
        return rb.problems.random_problem(150, 2_000, seed=4)
    if name == "bernoulli":
        return rb.problems.random_problem(5, 2_000, seed=6, noise=rb.problems.Bernoulli())
    if name == "ending":
        curves = rb.problems.random_problem(6, 2_000, seed=8)
        return rb.RisingBandit(curves.curves, curves.noise, 2_000, name, max_pulls=[150, 900, 400, 250, 700, 333])
    return rb.get_problem(name)


def rounding() -> str:
    """Tells machines apart whose exp, log and powers differ in the last bit; sums of rewards then do too."""
    grid = np.linspace(0.01, 5.0, 999)
    values = np.concatenate([np.exp(-grid), np.log(grid), grid**-0.4, [math.exp(-x) for x in grid]])
    return hashlib.sha256(values.tobytes()).hexdigest()[:16]


# -- commands -------------------------------------------------------------------------------------------------------


class Command(NamedTuple):
    """A command that writes a table to a folder."""

    words: list[str]
    table: str

    def play(self) -> dict[str, Any]:
        """The table. The command may read ``{folder}/curves.csv`` and must write to ``{folder}``."""
        with TemporaryDirectory() as folder:
            write_curves(Path(folder) / "curves.csv")
            assert run([word.format(folder=folder) for word in self.words]) == 0
            return {"table": (Path(folder) / self.table).read_text()}


def recorded_names() -> list[str]:
    """All policies but those in plain Python, whose linear algebra differs between processors."""
    return [name for name in rb.policy_names() if policy_class(name)._compiles]
