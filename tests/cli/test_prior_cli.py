"""``prior``: what earlier runs say, before anything is run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from risingbandits import Allocator
from risingbandits.cli import run

TOPS = {"good": 0.9, "fair": 0.6, "poor": 0.3}
LONG = "task,arm,step,value,lr\n" + "".join(
    f"{task},{task} {n},1,{n / 10},{n / 100}\n" for task in ("may", "june") for n in range(1, 9)
)


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = run([str(argument) for argument in arguments])
    text = capsys.readouterr()
    return code, text.out, text.err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two stores, a folder in which both are remembered, and a file in long form."""
    for name in ("may", "june"):
        given = {"store": tmp_path / f"{name}.db", "remember": tmp_path / "runs"}
        with Allocator(list(TOPS), budget=15, policy="round-robin", **given) as allocator:  # type: ignore[arg-type]
            for pull in allocator:
                allocator.tell(pull, TOPS[pull.arm] * pull.n / (pull.n + 2))
    (tmp_path / "long.csv").write_text(LONG)
    return tmp_path


def lines_of(out: str) -> list[list[str]]:
    return [line.split() for line in out.splitlines() if line.strip()]


@pytest.mark.parametrize("source", ["*.db", "runs"])
def test_prior_of_stores(capsys: pytest.CaptureFixture[str], folder: Path, source: str) -> None:
    code, out, err = outcome(capsys, "prior", folder / source, "--arms", "new, poor,good")
    assert (code, err) == (0, "")
    lines = lines_of(out)
    assert [line[0] for line in lines if line[0] in ("good", "new", "poor")] == ["good", "new", "poor"]
    assert ["new", "0.50", "1.00", "unknown"] in lines
    assert any(line[0] == "may" and line[-5:] == ["3", "15", "maximize", "good", "1.00"] for line in lines)
    assert out.splitlines()[-1] == "2 earlier runs; agreement among them 1.00 (leave one out)."


def test_one_run_is_weak(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    out = outcome(capsys, "prior", folder / "may.db")[1]
    assert out.splitlines()[-1] == "1 earlier run: weak. One run says little about the next."
    assert [line[0] for line in lines_of(out) if line[0] in TOPS][:3] == ["good", "fair", "poor"]


def test_json_and_hyperparameters_that_matter(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    plan = folder / "plan.toml"
    arm = '[[arms]]\nname = "{0}"\nconfig = {{lr = {1}}}\n'
    arms = arm.format("low", 0.02) + arm.format("high", 0.07)
    plan.write_text(f'budget = 9\n[defaults]\ncommand = ["echo", "1"]\n{arms}')

    def found(*options: str) -> dict[str, list[dict[str, object]]]:
        code, out, _ = outcome(capsys, "prior", folder / "long.csv", "--plan", plan, "--json", *options)
        assert code == 0
        return json.loads(out)  # type: ignore[no-any-return]

    assert [row["arm"] for row in found()["arms"]] == ["high", "low"]
    assert [row["arm"] for row in found("--direction", "minimize")["arms"]] == ["low", "high"]
    assert {row["from"] for row in found()["arms"]} == {"configs"}
    assert [row["hyperparameter"] for row in found()["hyperparameters"]] == ["lr"]
    text = outcome(capsys, "prior", folder / "long.csv", "--plan", plan)[1]
    assert "Hyperparameters, the one that matters most first" in text


def test_losses_are_recognised_unless_a_direction_is_given(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("good,fair,poor\n0.9,0.9,0.95\n0.5,0.7,0.9\n0.2,0.5,0.8\n")

    def order(*options: str) -> tuple[list[str], str]:
        code, out, _ = outcome(capsys, "prior", path, "--json", *options)
        assert code == 0
        found = json.loads(out)
        return [row["arm"] for row in found["arms"]], found["runs"][0]["direction"]

    assert order() == (["good", "fair", "poor"], "minimize")
    assert order("--direction", "maximize") == (["poor", "fair", "good"], "maximize")
    path.write_text("good,fair,poor\n0.8,0.5,0.3\n0.9,0.5,0.2\n")
    assert order() == (["good", "fair", "poor"], "maximize"), "where values go both ways, high is good"


def test_what_says_little(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "small.csv"
    path.write_text("a,b\n1,2\n")
    out = outcome(capsys, "prior", path)[1]
    assert out.splitlines() == [
        "Left out because they have fewer than 3 arms: small.",
        "No earlier run has the 3 arms that are needed to say anything.",
    ]
    rows = [("one", 1), ("two", -1)]
    text = "".join(f"{task},{arm},1,{sign * n},{n * sign}\n" for task, sign in rows for n, arm in enumerate("abc"))
    path.write_text("task,arm,step,value\n" + "".join(line.rsplit(",", 1)[0] + "\n" for line in text.splitlines()))
    assert outcome(capsys, "prior", path)[1].splitlines()[-1] == (
        "2 earlier runs; agreement among them -1.00 (leave one out). "
        "They contradict each other: a prior from them may hurt."
    )
    path.write_text("task,arm,step,value,lr\n" + text)
    assert "Not matched by name, because their configs differ between runs: b, c." in outcome(capsys, "prior", path)[1]
    path.write_text(
        "task,arm,step,value\n" + "".join(f"{arm}{n},{arm}{n}{x},1,{x}\n" for arm, n in rows for x in "123")
    )
    assert outcome(capsys, "prior", path)[1].splitlines()[-1] == (
        "2 earlier runs; they have too few arms in common to say how well they agree."
    )


def test_runs_of_a_plan_that_are_remembered(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    head = 'budget = 40\nobjective = "best-arm"\nprior = "kept"\nremember = "kept"\n'
    arms = "".join(f'[[arms]]\nname = "arm {i}"\ncommand = ["echo", "0.{9 - i}"]\n' for i in (5, 2, 4, 3))
    (tmp_path / "plan.toml").write_text(head + arms)
    assert outcome(capsys, "run", tmp_path / "plan.toml")[0] == 0
    [entry] = (tmp_path / "kept").iterdir()
    again = outcome(capsys, "run", tmp_path / "plan.toml", "--fresh")[1]
    assert "prior from 1 task" in again
    assert again.splitlines()[-1].startswith(f"Remembered: {tmp_path / 'kept' / 'plan 20'}")
    assert len(list((tmp_path / "kept").iterdir())) == 2, "the run that was put aside stays"
    with Allocator.open(tmp_path / "plan.db") as allocator:
        assert next(event.arm for event in allocator.store.events() if event.kind == "ask") == "arm 2"
    listed = json.loads(outcome(capsys, "prior", tmp_path / "kept", "--json")[1])
    assert [row["best arm"] for row in listed["runs"]] == ["arm 2", "arm 2"]
    assert entry.exists()
    (tmp_path / "plan.toml").write_text(head.replace('remember = "kept"', 'remember = "plan.toml"') + arms)
    code, _, err = outcome(capsys, "run", tmp_path / "plan.toml", "--fresh", "--check")
    assert code == 2
    assert "remember must be a folder" in err
    code, out, _ = outcome(capsys, "run", tmp_path / "plan.toml", "--fresh")
    assert (code, out) == (2, ""), "the earlier run is not put aside for nothing"
