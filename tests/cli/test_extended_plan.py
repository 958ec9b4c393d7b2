"""Plans that are changed and run again: what can be taken over is, and is said."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from programs import PATIENCE, program, until
from risingbandits import Allocator, Execution
from risingbandits.allocation import open_reader
from risingbandits.cli import run

ARM = '\n[[arms]]\nname = "{}"\ncommand = ["echo", "{}"]\n'
POLICY = 'policy = "round-robin"\n'


def write(folder: Path, head: str, *arms: str) -> Path:
    path = folder / "plan.toml"
    path.write_text(head + "\n" + POLICY + "".join(ARM.format(arm, 0.5) for arm in arms))
    return path


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = run([str(argument) for argument in arguments])
    text = capsys.readouterr()
    return code, text.out, text.err


def pulls(folder: Path) -> dict[str, int]:
    with open_reader(folder / "plan.db") as reader:
        return {arm.name: len(arm.rewards) for arm in reader.ledger().arms}


def test_a_plan_with_more_budget_and_arms(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert outcome(capsys, "run", write(tmp_path, "budget = 4", "a", "b"))[0] == 0
    plan = write(tmp_path, "budget = 8\nretries = 5", "a", "b", "c", "d")
    line = "budget 4 -> 8 pulls, 2 new arms: c, d, retries 3 -> 5\n"
    code, out, _ = outcome(capsys, "run", plan, "--check")
    assert code == 0
    assert f"Would change: {line}" in out
    assert pulls(tmp_path) == {"a": 2, "b": 2}, "a check changes nothing"
    code, out, _ = outcome(capsys, "run", plan)
    assert code == 0
    assert f"Changed: {line}" in out
    assert "The budget is spent." in out
    assert pulls(tmp_path) == {"a": 3, "b": 3, "c": 1, "d": 1}
    code, out, _ = outcome(capsys, "run", plan)
    assert "aken over" not in out, "it is only said once"
    out = outcome(capsys, "status", "--events", tmp_path / "plan.db")[1]
    assert next(text for text in out.splitlines() if " extend " in text).endswith(f"  extend  {line.rstrip()}")
    assert out.count(" extend ") == 1
    code, out, _ = outcome(capsys, "store", "export", tmp_path / "plan.db", "--events", "-o", tmp_path / "events.json")
    [event] = [entry for entry in json.loads((tmp_path / "events.json").read_text()) if entry["kind"] == "extend"]
    assert json.loads(event["text"])["budget"] == {"pulls": 8}
    outcome(capsys, "store", "export", tmp_path / "plan.db", "-o", tmp_path / "curves.json")
    assert json.loads((tmp_path / "curves.json").read_text())["settings"]["budget"] == {"pulls": 8}
    assert outcome(capsys, "store", "check", tmp_path / "plan.db")[0] == 0


def test_a_plan_without_an_arm_that_was_pulled(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert outcome(capsys, "run", write(tmp_path, "budget = 4", "a", "b"))[0] == 0
    code, out, _ = outcome(capsys, "run", write(tmp_path, "budget = 6", "a"))
    assert code == 0
    assert "Changed: budget 4 -> 6 pulls, no longer pulled: b (2 pulls)\n" in out
    assert "no longer named" in out, "in the table"
    assert pulls(tmp_path) == {"a": 4, "b": 2}
    code, out, _ = outcome(capsys, "run", write(tmp_path, "budget = 9", "a", "b"))
    assert "Changed: budget 6 -> 9 pulls, again: b\n" in out
    assert pulls(tmp_path) == {"a": 5, "b": 4}


def test_a_budget_that_the_store_refuses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    outcome(capsys, "run", write(tmp_path, "budget = 7", "a"))
    for wrong, said in (
        ("4", "budget is 7 pulls in the store, got 4 pulls: it must be at least the 7 that are spent."),
        ("{cost = 9}", "budget is in pulls in the store, got Budget(cost=9.0): give it in pulls."),
    ):
        plan = write(tmp_path, f"budget = {wrong}", "a")
        code, out, err = outcome(capsys, "run", plan)
        assert (code, out) == (2, "")
        assert said in err
        assert outcome(capsys, "run", plan, "--check")[2] == err


def test_earlier_rewards_in_a_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    head = "budget = 4\nwarm_start = {a = [0.25, 0.5], b = [0.5]"
    plan = write(tmp_path, head + "}", "a", "b")
    assert outcome(capsys, "run", plan)[0] == 0
    with Allocator.open(tmp_path / "plan.db") as allocator:
        assert allocator.settings.warm_start == {"a": [0.25, 0.5], "b": [0.5]}
        assert allocator.spent == 4
    text = head.replace("4", "5", 1) + ", c = [0.5]}"
    code, out, _ = outcome(capsys, "run", write(tmp_path, text, "a", "b", "c"))
    assert code == 0
    assert "Changed: budget 4 -> 5 pulls, 1 new arm: c, rewards of earlier pulls: 1 of c\n" in out
    code, _, err = outcome(capsys, "run", write(tmp_path, 'budget = 5\nwarm_start = "may.csv"', "a"), "--check")
    assert (code, "warm_start must map names of arms to rewards, got 'may.csv'." in err) == (2, True)


def test_a_run_at_work_finds_the_command_of_a_new_arm(tmp_path: Path) -> None:
    """The plan is changed while it is run, and its store by another process."""
    wait = '\n[[arms]]\nname = "a"\ncommand = ["sh", "-c", "while [ ! -e {plan}/go ]; do sleep 0.02; done; echo 0.5"]\n'
    plan = tmp_path / "plan.toml"
    plan.write_text(f"budget = 2\n{POLICY}{wait}")
    with program([sys.executable, "-m", "risingbandits", "run", str(plan)]) as process:
        until(lambda: (tmp_path / "plan.db").exists() and bool(in_flight(tmp_path)))
        plan.write_text(f"budget = 6\n{POLICY}{wait}{ARM.format('late', 0.25)}")
        with Allocator(
            ["a", "late"], 6, policy="round-robin", store=tmp_path / "plan.db", execution=Execution(lease=60.0)
        ) as other:
            assert other.taken_over == "budget 2 -> 6 pulls, 1 new arm: late"
        (tmp_path / "go").touch()
        assert process.wait(PATIENCE) == 0
    assert pulls(tmp_path) == {"a": 3, "late": 3}


def in_flight(folder: Path) -> int:
    with open_reader(folder / "plan.db") as reader:
        return len(reader.ledger().in_flight)


def test_a_mended_plan_is_told_how_its_arms_are_tried_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    missing = f"/no/such/folder/{'and-so-on/' * 12}weights.bin"
    plan = write(tmp_path, "budget = 2", "a")
    mended = plan.read_text()
    broken = f'["sh", "-c", "echo cannot open {missing}: not there >&2; exit 3"]'
    plan.write_text(mended.replace('["echo", "0.5"]', broken))
    assert f"exit code 3 ('cannot open {missing}: not there'); output in " in outcome(capsys, "run", plan)[2]
    plan.write_text(mended)
    hint = f"once their cause is fixed, retries = 6 in {plan} lets the arms be tried again."
    for options in ([], ["--for", "1h"]):
        code, out, _ = outcome(capsys, "run", *options, plan)
        assert code == 1
        assert hint in out
    code, out, _ = outcome(capsys, "run", write(tmp_path, "budget = 2\nretries = 6", "a"))
    assert code == 0
    assert "Recommended: a" in out
    assert hint not in out
