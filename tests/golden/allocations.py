"""Golden allocations: what they are made with, what happens to them, and how their decisions are written down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from frozen import LETTERS, mix, reward

from risingbandits import Allocator, Budget, NoArmAvailable, Pull, RisingBanditsError
from risingbandits.allocation import Belief, Prior
from risingbandits.allocation.settings import as_arguments
from risingbandits.allocation.stores._memory import MemoryStore
from risingbandits.allocation.stores._sqlite import SqliteStore

# -- what they are made with ----------------------------------------------------------------------------------------


def name(arm: int) -> str:
    return f"arm {arm}"


def number(arm: str) -> int:
    return int(arm.removeprefix("arm "))


def believed(factor: float) -> Prior:
    """Beliefs about 20 arms but two, which come true if the factor is positive."""
    tops = {arm: (7 * arm + 3) % 11 - 5 for arm in range(20) if arm not in (4, 9)}
    return Prior({name(arm): Belief(factor * top, 0.5, "3 tasks") for arm, top in tops.items()}, 3, 0.5)


def warm(*arms: int) -> dict[str, list[float]]:
    """Rewards of 2, 3, ... earlier pulls of these arms."""
    return {name(arm): [reward(arm, n) for n in range(1, i + 1)] for i, arm in enumerate(arms, start=2)}


def described(n_arms: int) -> dict[str, dict[str, float | str]]:
    """What arms are, from which it can be learnt what they reach."""
    return {
        name(arm): {"lr": (7 * arm + 3) % 11 + arm / 1000, "depth": (5 * arm + 2) % 7, "kind": "ab"[arm % 2]}
        for arm in range(n_arms)
    }


COST, SECONDS = Budget(cost=400.0), Budget(seconds=500.0)
EARN: dict[str, Any] = {"objective": "cumulative"}
LEARNT = {"n_arms": 500, "configs": described(500), "budget": 150, "max_pulls": 20}
TO_EARN = ("red-ucb", "commit-ucb", "kl-ucb", "epsilon-greedy", "round-robin", "beta-ts")
TO_KEEP = ("successive-halving", "hyperband", "asha", "auto", "r-sr", "sequential-halving")

# By default 6 arms ("n_arms") and 50 pulls; "prices" are what a pull of arms 0, 1, ... costs, about.
SETTINGS: dict[str, dict[str, Any]] = {
    "keep": {},
    "earn": EARN,
    "one arm": {"n_arms": 1, "budget": 12},
    "one attempt": {"n_arms": 12, "policy": "round-robin", "budget": 20, "retries": 1},
    **{
        policy: {"policy": policy}
        for policy in ("gaussian-ucb", *TO_EARN, *TO_KEEP)
        if policy != "auto"  # "keep"
    },
    "keep, many arms": {"n_arms": 40, "budget": 60},
    "up to 9 pulls": {"max_pulls": 9},
    "limits by arm": {**EARN, "max_pulls": {name(0): 4, name(3): 20, name(5): 1}},
    "warm": {"warm_start": warm(1, 3)},
    "warm, earn": {**EARN, "warm_start": warm(5, 0, 2)},
    "losses": {"direction": "minimize", "reward_range": (-2.0, 5.0)},
    "losses, earn": {**EARN, "direction": "minimize"},
    "losses, commit-ucb": {"policy": "commit-ucb", "direction": "minimize", "reward_range": (0.0, 3.0)},
    "range": {"reward_range": (10.0, 30.0), "policy": "auto(sigma=0.025)"},
    "range, commit-ucb": {"policy": "commit-ucb(sigma=0.02)", "reward_range": (-50.0, 50.0)},
    "no range": {"reward_range": None},
    "no range, earn": {**EARN, "reward_range": None, "direction": "minimize"},
    "no range, cost": {**EARN, "reward_range": None, "policy": "red-ucb(sigma=0.1)", "budget": COST},
    "cost": {"budget": COST},
    "cost, earn": {**EARN, "budget": COST},
    "cost, gaussian-ucb": {"policy": "gaussian-ucb", "budget": COST},
    "cost, hyperband": {"policy": "hyperband", "budget": COST},
    "cost, warm": {**EARN, "budget": COST, "warm_start": warm(2, 4)},
    "cost, some free": {"budget": COST, "prices": (0.0, 5.0, 9.0)},
    "cost, wide": {**EARN, "budget": Budget(cost=9_000.0), "prices": (0.01, 300.0, 7.0, 40.0)},
    "seconds": {"budget": SECONDS},
    "seconds, earn": {**EARN, "budget": SECONDS},
    "seconds, commit-ucb": {"budget": SECONDS, "policy": "commit-ucb"},
    "prior": {"n_arms": 12, "prior": believed(0.3)},
    "prior, earn": {**EARN, "n_arms": 12, "prior": believed(0.3)},
    "prior, wrong": {"n_arms": 12, "prior": believed(-1.0), "policy": "round-robin"},
    "prior, wrong, earn": {**EARN, "n_arms": 14, "prior": believed(-1.0)},
    "prior, losses": {"n_arms": 12, "prior": believed(0.3), "direction": "minimize"},
    "prior, warm": {"n_arms": 12, "prior": believed(0.3), "warm_start": warm(6)},
    "prior, cost": {**EARN, "n_arms": 9, "prior": believed(0.3), "budget": COST},
    "configs": LEARNT,
    "configs, losses": {**LEARNT, "direction": "minimize", "warm_start": warm(7, 8)},
    "configs, earn": {**LEARNT, **EARN},
    "few configs": {"n_arms": 12, "configs": described(12)},
}

# -- what happens to them -------------------------------------------------------------------------------------------

TROUBLE = ("fail", "fail", "release", "renew", "late", "late", "sleep", "rest", "rest")
ARMS = ("add", "retire", "mask", "unmask", "fail", "late", "rest", "rest", "rest")
GROWTH = ("extend", "extend", "extend", "reopen", "restart", "fail", "fail", "sleep")


class Script(NamedTuple):
    """Steps in a random order; most are work."""

    workers: int
    rare: tuple[str, ...] = ()
    usual: int = 1  #: steps of work for one of each that is rare

    def steps(self, seed: int) -> Iterator[tuple[str, int]]:
        """What to do, and a random number for it."""
        actions = ("work",) * self.usual + self.rare
        return ((actions[mix(seed, step) % len(actions)], mix(seed, step, 1) >> 32) for step in range(160))


SCRIPTS = {
    "alone": Script(1),
    "crew": Script(4),
    "trouble": Script(3, TROUBLE, 30),
    "arms": Script(2, ARMS, 50),
    "growth": Script(3, GROWTH, 60),
    "file": Script(3, (*TROUBLE, *ARMS, *GROWTH, "swap", "swap"), 60),  # the only one in SQLite
}
IN_FILES = (
    "keep",
    "earn",
    "beta-ts",
    "commit-ucb",
    "cost, earn",
    "seconds",
    "prior, earn",
    "few configs",
)


class Allocation(NamedTuple):
    """How an allocator is played: the names of its settings and of a script."""

    settings: str
    script: str

    def play(self) -> dict[str, Any]:
        """What was decided, as `Player` writes it; in the end the pulls of arms that had any, and what was spent."""
        with TemporaryDirectory() as folder:
            player = Player(self, Path(folder) / "run.db" if self.script == "file" else None)
            try:
                return player.play()
            finally:
                player.allocator.close()
                player.other.close()


def cases() -> list[Allocation]:
    """All that are recorded."""
    every = [Allocation(settings, script) for settings in SETTINGS for script in SCRIPTS]
    return [case for case in every if case.script != "file" or case.settings in IN_FILES]


class Player:
    """Plays a script on an allocator and writes down its answers.

    An arm that is asked for is a letter, or two if there are many, and a ' for each earlier attempt. The rest is
    ``.`` all arms are in flight, ``:`` the rest of the budget is, ``|`` no pull will follow,
    ``~`` a reward or renewal did not count, ``+`` a late reward did, ``=`` before what is recommended, ``!`` refused.
    """

    def __init__(self, case: Allocation, path: Path | None) -> None:
        self.given = {"n_arms": 6, "budget": 50, "lease": 100.0, "retries": 2, **SETTINGS[case.settings]}
        self.script, self.seed = SCRIPTS[case.script], mix(*" ".join(case).encode())
        self.prices = self.given.pop("prices", (1.0, 8.0, 2.5, 1.0, 20.0))
        n_arms = self.given.pop("n_arms")
        self.letters = 1 if n_arms <= 50 else 2
        self.time, self.text = 1000.0, ""
        self.running: list[Pull] = []
        self.past: list[Pull] = []
        self.path, self.memory = path, MemoryStore(lambda: self.time)
        self.given |= {"arms": [name(arm) for arm in range(n_arms)], "seed": self.seed % 1000}
        self.allocator, self.other = self.made(self.given), self.made(self.given)

    def store(self) -> MemoryStore | SqliteStore:
        return self.memory if self.path is None else SqliteStore(self.path, clock=lambda: self.time)

    def made(self, given: dict[str, Any]) -> Allocator:
        return Allocator(**as_arguments({**given, "arms": list(given["arms"])}), store=self.store())

    def play(self) -> dict[str, Any]:
        for step, (action, draw) in enumerate(self.script.steps(self.seed)):
            self.time += 0.25
            if step % 25 == 0:
                self.recommend()
            try:
                self.act(action, draw)
            except RisingBanditsError:
                self.text += "!"
            if self.text.endswith("|||"):
                break
        self.recommend()
        pulls = [len(arm.rewards) for arm in self.allocator.ledger.arms if arm.rewards]
        return {"decided": self.text, "pulls": pulls, "spent": round(self.allocator.spent, 6)}

    def letter(self, arm: str) -> str:
        high, low = divmod(number(arm), len(LETTERS))
        return (LETTERS[high] + LETTERS[low])[-self.letters :]

    def recommend(self) -> None:
        best = self.allocator.ledger.recommend()
        self.text += "=" + ("-" if best is None else self.letter(best))

    def act(self, action: str, draw: int) -> None:
        allocator, arms = self.allocator, self.allocator.arms
        if action == "work" and len(self.running) < self.script.workers and self.ask():
            return
        if action in ("work", "rest", "fail", "release") and self.running:
            pull = self.running.pop(draw % len(self.running))
            self.past += [pull] if action in ("fail", "release") or draw & 16 else []
            if action == "fail":
                allocator.fail(pull, retry=draw % 7 > 0)
            elif action == "release":
                allocator.release(pull)
            else:
                self.text += "" if self.tell(pull) else "~"
        elif action == "renew" and self.running:
            self.text += "" if allocator.renew(self.running[draw % len(self.running)]) else "~"
        elif action == "late" and self.past:  # one of the last, which was given back or is known
            self.text += "+" if self.tell(self.past[-1 - draw % min(4, len(self.past))]) else "~"
        elif action == "sleep":
            self.time += (30.0, 60.0, 100.0)[draw % 3]  # the last is a lease
        elif action == "add":
            allocator.add(name(len(arms)))
        elif action in ("retire", "mask"):
            getattr(allocator, action)(arms[draw % len(arms)])
        elif action == "unmask":
            for arm in arms:
                allocator.unmask(arm)
        elif action == "extend":
            allocator.extend(**self.change(draw))
        elif action == "swap":  # another process goes on, which is to learn what happened meanwhile
            self.allocator, self.other = self.other, allocator
        elif action == "reopen":  # as after a kill: nothing is handed back
            allocator.close()
            self.allocator = Allocator.open(self.store())
        elif action == "restart":  # a program is started again without one arm, perhaps with another budget
            arms.remove(arms[draw % len(arms)])
            given = {**self.given, "arms": arms, **({"budget": self.grown(1.2)} if draw & 16 else {})}
            self.allocator, self.given = self.made(given), given
            allocator.close()

    def ask(self) -> bool:
        try:
            pull = self.allocator.ask()
        except NoArmAvailable as error:
            self.text += {"arms": ".", "last": ":"}[str(error).split()[1]]
            return False
        self.text += "|" if pull is None else self.letter(pull.arm) + "'" * (pull.attempt - 1)
        self.running += [] if pull is None else [pull]
        return pull is not None

    def tell(self, pull: Pull) -> bool:
        arm, settings = number(pull.arm), self.allocator.settings
        cost = self.prices[arm % len(self.prices)] * (0.8 + 0.4 * mix(arm, pull.n, 1) / 2.0**64)
        value = reward(arm, pull.n)
        value = self.in_range(value if settings.direction == "maximize" else 1.0 - value)
        if settings.budget.seconds is None:
            return self.allocator.tell(pull, value, cost)
        self.time += cost
        return self.allocator.tell(pull, value)

    def in_range(self, value: float) -> float:
        low, high = self.given.get("reward_range", (0.0, 1.0)) or (-3.0, 7.0)
        return float(low + (high - low) * value)

    def grown(self, factor: float) -> Budget:
        """The budget with another multiple of what is left."""
        budget, spent = self.allocator.settings.budget, self.allocator.spent
        amount = spent + factor * (budget.amount - spent)
        return Budget(int(amount)) if budget.pulls else Budget(**{budget.unit: amount})  # type: ignore[arg-type]

    def change(self, draw: int) -> dict[str, Any]:
        """Something to extend."""
        arms = self.allocator.arms
        new, some = name(len(arms)), arms[draw // 16 % len(arms)]
        policies = TO_EARN if self.allocator.settings.objective == "cumulative" else TO_KEEP
        changes: tuple[dict[str, Any], ...] = (
            {"budget": self.grown(1.5)},
            {"budget": self.grown(0.5)},
            {"arms": [name(len(arms) + i) for i in range(3)]},
            {"arms": [new], "warm_start": {new: [self.in_range(0.7), self.in_range(0.8)]}},
            {"warm_start": {some: [self.in_range(0.4)]}},
            {"max_pulls": 10 + draw // 16 % 15},
            {"max_pulls": {some: 6, new: 15}, "arms": [new]},
            {"retries": 3 + draw // 16 % 5},
            {"policy": policies[draw // 16 % len(policies)]},
            {"reward_range": (self.in_range(-0.5), self.in_range(1.5))},
            {"retries": 1 + draw // 16 % 4, "lease": 50.0},
        )
        return changes[draw % len(changes)]
