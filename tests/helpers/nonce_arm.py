"""Learners that draw a number at random in every pull and keep all of them: no two histories look the same.

The reward of a pull is its number, so what was told spells what the last checkpoint must hold.
"""

from __future__ import annotations

import os
from pathlib import Path

from risingbandits.allocation.pull import Pull
from stop_orders import Orders

_NUMBERS = 10**9


def reward_of(nonce: int) -> float:
    """What a pull gives that has drawn this number."""
    return nonce / _NUMBERS


def nonce_of(reward: float) -> int:
    """The number that a pull has drawn which gave this reward."""
    return round(reward * _NUMBERS)


class Nonces:
    """A learner as an object; it stops where ``orders`` say so."""

    def __init__(self, name: str, orders: Orders) -> None:
        self.name, self.orders = name, orders
        self.chain: list[int] = []

    def pull(self, pull: Pull) -> float:
        self.orders.visit("make", self.name)
        self.orders.wait(self.name, pull.n)
        self.chain.append(int.from_bytes(os.urandom(8)) % _NUMBERS)
        return reward_of(self.chain[-1])

    def save(self, path: Path) -> None:
        text = "".join(f"{nonce:09d}\n" for nonce in self.chain)
        with path.open("w") as file:
            file.write(text[: len(text) // 2])
            file.flush()
            self.orders.visit("save", self.name)
            file.write(text[len(text) // 2 :])

    def load(self, path: Path) -> None:
        self.orders.visit("load", self.name)
        self.chain = [int(line) for line in path.read_text().splitlines()]


def made_elsewhere(name: str, orders: Orders) -> Nonces:
    """A learner in a process of its own, which stops at the same places."""
    orders.watch_files()
    return Nonces(name, orders)


# The same as commands: one keeps its chain in {checkpoint}, the other in {state}. Only `od` and `cat` are processes.
_COMMON = """
visit() {
    [ -e "$ORDERS/stop-$1" ] && mv "$ORDERS/stop-$1" "$ORDERS/taken-$$" 2> /dev/null || return 0
    echo "$RISINGBANDITS_ARM $PPID $$" > "$ORDERS/taken-$$"
    mv "$ORDERS/taken-$$" "$ORDERS/stopped"
    kill -STOP $PPID $$
}
visit make
order="$ORDERS/wait-$PPID-$RISINGBANDITS_ARM-$RISINGBANDITS_PULL"
while [ -e "$order" ]; do
    : > "$ORDERS/waits-$PPID"
    sleep 0.005
done
nonce=$(printf '%09d' $(($(od -An -N4 -tu4 /dev/urandom) % 1000000000)))
"""
IN_CHECKPOINT = f"""{_COMMON}
[ -e "$RISINGBANDITS_PREVIOUS" ] && cat "$RISINGBANDITS_PREVIOUS" > "$RISINGBANDITS_CHECKPOINT"
end=${{nonce#????}}
printf %s "${{nonce%$end}}" >> "$RISINGBANDITS_CHECKPOINT"
visit save
echo "$end" >> "$RISINGBANDITS_CHECKPOINT"
echo "0.$nonce"
"""
IN_STATE = f"""{_COMMON}
echo "${{RISINGBANDITS_CHECKPOINT##*/checkpoint-}} $nonce" >> "$1/chain"
visit save
echo "0.$nonce"
"""
# The second command is given the folder by name, as its plan must say that it uses it.
PLANS = {"checkpoint": '["/bin/sh", "{plan}/learn.sh"]', "state": '["/bin/sh", "{plan}/learn.sh", "{state}"]'}


def write_plan(folder: Path, where: str, arms: list[str], orders: Path) -> Path:
    """A plan whose commands keep what they learn in "checkpoint" or in "state"."""
    (folder / "learn.sh").write_text(IN_STATE if where == "state" else IN_CHECKPOINT)
    path = folder / "plan.toml"
    lines = [
        "budget = 10",
        'store = "run.db"',
        "[defaults]",
        f"command = {PLANS[where]}",
        f'environment = {{ ORDERS = "{orders}" }}',
    ]
    path.write_text("\n".join([*lines, *(f'[[arms]]\nname = "{arm}"' for arm in arms)]))
    return path
