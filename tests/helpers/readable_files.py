"""Small files that each reader can read, for tests that damage them."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
import zlib
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from risingbandits import Allocator, simulate
from risingbandits.allocation._snapshot import pack
from risingbandits.allocation.starting._memory import remember
from risingbandits.policies import EpsilonGreedy


def curves_csv() -> bytes:
    return b"small,large\n0.3,0.1\n0.35,0.3\n0.36,0.5\n,0.6\n"


PLAN = """\
budget = { cost = 12.5 }
objective = "best-arm"
direction = "minimize"
policy = "commit-ucb(sigma=0.1)"
reward_range = [-1, 3]
max_pulls = 7
durability = "power"
retries = 4
seed = 3
jobs = 2
lease = 90
store = "sub/run.db"

[defaults]
command = ["sh", "-c", "echo {n}"]
environment = { A = "1", B = 2 }
timeout = 5

[[arms]]
name = "a"
environment = { B = "{state}", C = 0.5 }
max_pulls = 3

[[arms]]
name = "b b"
command = "echo $RISINGBANDITS_PULL | cat"
shell = true
timeout = 1.5
directory = "/"
"""


def plan_file() -> bytes:
    return PLAN.encode()


def long_csv() -> bytes:
    return b"task,arm,step,value,lr\nt,a,1,0.5,0.1\nt,a,2,0.6,0.1\nt,b,1,0.25,sgd\nu,a,1,1,2\n"


def log_csv() -> bytes:
    return b"run,step,acc\na,1,0.1\na,2,0.2\nb,1,0.3\n"


def log_lines() -> bytes:
    rows = ({"training_iteration": n, "acc": n / 9, "config": {"lr": 0.1}} for n in range(4))
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def trainer_state() -> bytes:
    return json.dumps({"log_history": [{"step": n, "loss": 1 / n} for n in range(1, 5)], "epoch": 2}).encode()


def optuna_journal() -> bytes:
    rows = [
        {"op_code": 0, "worker_id": "w", "study_name": "s", "directions": [2]},
        {"op_code": 4, "worker_id": "w", "study_id": 0, "datetime_start": "2024-01-01T00:00:00"},
        {"op_code": 7, "worker_id": "w", "trial_id": 0, "step": 0, "intermediate_value": 0.5},
        {"op_code": 7, "worker_id": "w", "trial_id": 0, "step": 1, "intermediate_value": 0.75},
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def wandb_file() -> bytes:
    """The head, then a record for each of three steps: a history with two items, each a key and its value as JSON."""
    content = b":W&B" + struct.pack("<HB", 0xBEE1, 0)
    for n in range(3):
        items = b"".join(_field(1, _field(1, key) + _field(16, b"%d" % n)) for key in (b"_step", b"acc"))
        record = _field(2, items)
        content += struct.pack("<IHB", zlib.crc32(record, zlib.crc32(b"\x01")), len(record), 1) + record
    return content


def _field(number: int, content: bytes) -> bytes:
    """Of a message of protocol buffers: bytes, fewer than 128."""
    key = number << 3 | 2
    return bytes([key] if key < 128 else [key & 127 | 128, key >> 7]) + bytes([len(content)]) + content


@cache
def store_file() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        with Allocator(["a", "b"], 20, policy="round-robin", store=path) as allocator:
            for _ in range(6):
                pull = allocator.ask()
                assert pull is not None
                allocator.tell(pull, 0.5)
        return path.read_bytes()


@cache
def allocator_in_memory() -> Allocator:
    allocator = Allocator(["a", "b"], 20, policy="round-robin")
    for _ in range(4):
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, 0.5)
    return allocator


def settings_json() -> bytes:
    return allocator_in_memory().settings.to_json().encode()


@cache
def snapshot_file() -> bytes:
    return pack(allocator_in_memory().ledger)


@cache
def policy_file() -> bytes:
    with TemporaryDirectory() as folder:
        policy = EpsilonGreedy().reset(3, 20, seed=1)
        for _ in range(5):
            policy.tell(policy.ask(), 0.5)
        return policy.save(Path(folder) / "policy.npz").read_bytes()


@cache
def is_header(name: str) -> bool:
    return not name.startswith(("state.", "levels"))


def policy_header() -> bytes:
    with np.load(io.BytesIO(policy_file()), allow_pickle=False) as file:
        return bytes(file[next(name for name in file.files if is_header(name))])


def with_policy_header(header: bytes) -> bytes:
    """The file of a policy with another header, whose checksums are right."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(policy_file())) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            content = io.BytesIO()
            if not is_header(name):
                content.write(old.read(name))
            else:
                np.save(content, np.frombuffer(header, dtype=np.uint8))
            new.writestr(name, content.getvalue())
    return made.getvalue()


@cache
def result_header() -> bytes:
    with TemporaryDirectory() as folder:
        return (simulate("round-robin", "paper-2arms", horizon=20, runs=2).save(folder) / "result.json").read_bytes()


@cache
def result_data() -> bytes:
    with TemporaryDirectory() as folder:
        return (simulate("round-robin", "paper-2arms", horizon=20, runs=2).save(folder) / "result.npz").read_bytes()


def remembered_run() -> bytes:
    allocator = allocator_in_memory()
    with TemporaryDirectory() as folder:
        path = remember(folder, allocator.store, allocator.settings.to_json())
        return gzip.decompress(path.read_bytes())
