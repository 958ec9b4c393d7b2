"""``prior`` and ``memory``: what earlier runs say, before anything is run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from risingbandits import Allocator
from risingbandits.allocation.prior.memory import remember
from risingbandits.allocation.prior.sources import read_sources
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
    """Two stores, a memory of both, and a file in long form."""
    return fill(tmp_path, str(tmp_path / "memory"))


def fill(tmp_path: Path, memory: str) -> Path:
    for name in ("may", "june"):
        with Allocator(list(TOPS), budget=15, policy="round-robin", store=tmp_path / f"{name}.db") as allocator:
            for pull in allocator:
                allocator.tell(pull, TOPS[pull.arm] * pull.n / (pull.n + 2))
            remember(memory, allocator.ledger, name=name)
    (tmp_path / "long.csv").write_text(LONG)
    return tmp_path


def lines_of(out: str) -> list[list[str]]:
    return [line.split() for line in out.splitlines() if line.strip()]


def test_prior_of_stores(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    code, out, err = outcome(capsys, "prior", "compare", folder / "*.db", "--arms", "new, poor,good")
    assert (code, err) == (0, "")
    lines = lines_of(out)
    assert [line[:2] for line in lines if line[0].isdigit()][:3] == [["1", "good"], ["2", "new"], ["3", "poor"]]
    assert ["2", "new", "0.50", "1.00", "unknown"] in lines
    assert ["may", "3", "15", "1.00"] in lines
    assert out.splitlines()[-1] == "2 earlier tasks; agreement among them 1.00 (leave one out)."


def test_one_task_is_weak(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    out = outcome(capsys, "prior", "compare", folder / "may.db")[1]
    assert out.splitlines()[-1] == "1 earlier task: weak. One task says little about the next."
    assert [line[1] for line in lines_of(out) if line[0] in "123"][:3] == ["good", "fair", "poor"]


def test_json_and_settings_that_matter(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    found = json.loads(outcome(capsys, "prior", "compare", folder / "long.csv", "--json")[1])
    assert found["arms"][0]["arm"] in ("may 8", "june 8")
    assert found["arms"][0]["prior"] > 0.5
    assert list(found["settings"]) == ["lr"]
    turned = json.loads(
        outcome(capsys, "prior", "compare", folder / "long.csv", "--json", "--direction", "minimize")[1]
    )
    assert turned["arms"][0]["arm"] in ("may 1", "june 1")
    out = outcome(capsys, "prior", "compare", folder / "long.csv")[1]
    assert "Settings that matter" in out
    assert ["lr", "1.00"] in lines_of(out)


def test_losses_are_recognised_as_replay_does_unless_a_direction_is_given(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "c.csv"
    path.write_text("good,fair,poor\n0.9,0.9,0.95\n0.5,0.7,0.9\n0.2,0.5,0.8\n")

    def order(*options: str) -> tuple[list[str], str]:
        code, out, err = outcome(capsys, "prior", "compare", path, "--json", *options)
        assert code == 0
        return [row["arm"] for row in json.loads(out)["arms"]], err

    line = "minimize (falls in 100% of the runs); 3 runs."
    assert order() == (["good", "fair", "poor"], f"c: {line}\n")
    assert f"value: {line}" in outcome(capsys, "logs", "replay", path, "--budget", "6", "--policies", "round-robin")[2]
    assert order("--direction", "maximize") == (["poor", "fair", "good"], "")
    assert order("--direction", "minimize") == (["good", "fair", "poor"], "")
    path.write_text("good,fair,poor\n0.1,0.1,0.05\n0.5,0.3,0.1\n0.8,0.5,0.2\n")
    assert order() == (["good", "fair", "poor"], "")
    path.write_text("good,fair,poor\n0.8,0.5,0.3\n0.9,0.5,0.2\n")
    assert order() == (["good", "fair", "poor"], ""), "where values go both ways, high is good"


def test_of_logs_too_a_given_direction_counts_even_if_their_metric_is_called_a_loss(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name, values in {"good": (0.9, 0.2), "fair": (0.9, 0.5), "poor": (0.9, 0.8)}.items():
        (tmp_path / name).mkdir()
        rows = [f"{step},{value}" for step, value in enumerate(values)]
        (tmp_path / name / "metrics.csv").write_text("\n".join(["step,val_loss", *rows]))

    def order(*options: str) -> tuple[list[str], str]:
        code, out, err = outcome(capsys, "prior", "compare", tmp_path, "--json", *options)
        assert code == 0
        return [row["arm"] for row in json.loads(out)["arms"]], err

    best_first = ["good", "fair", "poor"]
    assert order() == (best_first, f"{tmp_path.stem}: minimize (val_loss, by the word 'loss' in its name); 3 runs.\n")
    assert order("--direction", "maximize") == (best_first[::-1], "")
    assert order("--direction", "minimize") == (best_first, "")
    assert [task.direction for task in read_sources(tmp_path, "maximize").tasks] == ["minimize"], "that of a new run"


def test_many_files_of_losses_are_not_all_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = [f"t{task},{arm},{step},{1 / (step + arm)}" for task in range(7) for arm in (1, 2, 3) for step in (1, 2)]
    rows += ["t6,diverged,1,0.5", "t6,diverged,2,0.4", "t6,diverged,3,nan", "t6,never trained,1,nan"]
    (tmp_path / "long.csv").write_text("\n".join(["task,arm,step,value", *rows]))
    code, _, err = outcome(capsys, "prior", "compare", tmp_path / "long.csv")
    assert code == 0
    assert err.splitlines()[0] == "t0: minimize (falls in 100% of the runs); 3 runs."
    assert err.splitlines()[5:] == ["The same holds for 2 more."]


def test_arms_of_a_plan_and_its_own_store(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    plan = folder / "plan.toml"
    plan.write_text('budget = 9\nstore = "may.db"\n[defaults]\ncommand = ["echo", "1"]\n[[arms]]\nname = "poor"\n')
    code, out, _ = outcome(capsys, "prior", "compare", folder / "june.db", "--plan", plan)
    assert code == 0
    assert next(line[1] for line in lines_of(out) if line[0] == "1") == "poor"
    code, _, err = outcome(capsys, "prior", "compare", folder / "may.db", "--plan", plan)
    assert (code, err) == (2, "risingbandits: prior must not be the store of this run or a copy of it, got may.\n")


def test_what_says_little(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "small.csv"
    path.write_text("a,b\n1,2\n")
    out = outcome(capsys, "prior", "compare", path)[1]
    assert out.splitlines() == [
        "Left out because they have fewer than 3 arms: small.",
        "No earlier task has the 3 arms that are needed to say anything.",
    ]
    rows = [("one", 1), ("two", -1)]
    text = "".join(f"{task},{arm},1,{sign * n},{n * sign}\n" for task, sign in rows for n, arm in enumerate("abc"))
    path.write_text("task,arm,step,value\n" + "".join(line.rsplit(",", 1)[0] + "\n" for line in text.splitlines()))
    assert outcome(capsys, "prior", "compare", path)[1].splitlines()[-1] == (
        "2 earlier tasks; agreement among them -1.00 (leave one out). "
        "They contradict each other: a prior from them may hurt."
    )
    path.write_text("task,arm,step,value,lr\n" + text)
    assert (
        "Not matched by name, because their settings differ between tasks: b, c."
        in outcome(capsys, "prior", "compare", path)[1]
    )
    path.write_text(
        "task,arm,step,value\n" + "".join(f"{arm}{n},{arm}{n}{x},1,{x}\n" for arm, n in rows for x in "123")
    )
    assert outcome(capsys, "prior", "compare", path)[1].splitlines()[-1] == (
        "2 earlier tasks; they have too few arms in common to say how well they agree."
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["may.db", "--plan", "p.toml", "--arms", "a"], "only one of plan and arms may be given"),
        (["may.db", "--arms", " , "], "arms must be names separated by commas, got ' , '."),
        (["may.db", "--direction", "up"], "direction must be one of maximize, minimize; got 'up'."),
        (["none.db"], "none.db does not exist."),
    ],
)
def test_mistakes(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(folder)
    code, out, err = outcome(capsys, "prior", "compare", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err


def test_memory(capsys: pytest.CaptureFixture[str], tmp_path: Path, memory: str) -> None:
    fill(tmp_path, memory)
    assert ["may", "3", "15", "maximize", "good"] in lines_of(outcome(capsys, "prior", "list", memory)[1])
    listed = json.loads(outcome(capsys, "prior", "list", memory, "--json")[1])
    assert [row["run"] for row in listed] == ["june", "may"]
    shown = outcome(capsys, "prior", "show", memory)[1]
    assert shown.splitlines()[-1] == "2 earlier tasks; agreement among them 1.00 (leave one out)."
    assert outcome(capsys, "prior", "compare", memory)[1] == shown
    one = json.loads(outcome(capsys, "prior", "show", memory, "may", "--json")[1])
    assert [row["arm"] for row in one] == ["good", "fair", "poor"]
    assert ["good", "0.83", "5", "0.6429"] in lines_of(outcome(capsys, "prior", "show", memory, "may")[1])
    assert outcome(capsys, "prior", "forget", memory, "may") == (0, "Forgotten: may\n", "")
    for command in ("show", "forget"):
        code, _, err = outcome(capsys, "prior", command, memory, "may")
        assert code == 2
        assert err.endswith("one of ['june'], got 'may'.\n")


def test_a_plan_with_a_memory_on_a_server(capsys: pytest.CaptureFixture[str], tmp_path: Path, memory: str) -> None:
    arms = "".join(f'[[arms]]\nname = "arm {i}"\ncommand = ["echo", "0.{9 - i}"]\n' for i in (5, 2, 4, 3))
    (tmp_path / "plan.toml").write_text(f'budget = 20\nobjective = "best-arm"\nmemory = "{memory}"\n{arms}')
    assert "prior from" not in outcome(capsys, "run", tmp_path / "plan.toml")[1]
    again = outcome(capsys, "run", tmp_path / "plan.toml", "--store", tmp_path / "b.db")[1]
    assert "prior from 1 task" in again
    assert again.splitlines()[-1].startswith("Remembered: ")
    listed = json.loads(outcome(capsys, "prior", "list", memory, "--json")[1])
    assert [row["best arm"] for row in listed] == ["arm 2", "arm 2"]


def test_runs_with_a_memory(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    head = 'budget = 40\nobjective = "best-arm"\nmemory = "kept"\n'
    arms = "".join(f'[[arms]]\nname = "arm {i}"\ncommand = ["echo", "0.{9 - i}"]\n' for i in (5, 2, 4, 3))
    (tmp_path / "plan.toml").write_text(head + arms)
    assert outcome(capsys, "run", tmp_path / "plan.toml")[0] == 0
    [entry] = (tmp_path / "kept").iterdir()
    again = outcome(capsys, "run", tmp_path / "plan.toml", "--fresh")[1]
    assert "prior from 1 task" in again
    assert again.splitlines()[-1].startswith(f"Remembered: {tmp_path / 'kept' / 'plan 20'}")
    lines = outcome(capsys, "status", "--events", tmp_path / "plan.db")[1].splitlines()
    opened = next(line for line in lines if "  bind  " in line)
    assert opened.split()[3:7] == ["bind", "arm", "2", "slot"]
    assert " believed 0." in opened
    assert opened.endswith("confirmed 1  prior")
    assert len(list((tmp_path / "kept").iterdir())) == 2, "the run that was put aside stays in memory"
    written = entry.read_bytes()
    (tmp_path / "plan.toml").write_text(head.replace("kept", "other") + arms)
    elsewhere = outcome(capsys, "run", tmp_path / "plan.toml", "--store", tmp_path / "b.db")
    assert "prior from" not in elsewhere[1]
    assert entry.read_bytes() == written
    listed = json.loads(outcome(capsys, "prior", "list", tmp_path / "other", "--json")[1])
    assert [(row["run"].split()[0], row["best arm"]) for row in listed] == [("b", "arm 2")]
    assert outcome(capsys, "prior", "forget", tmp_path / "other", "b 20")[1] == f"Forgotten: {listed[0]['run']}\n"
    assert list((tmp_path / "other").iterdir()) == []
    (tmp_path / "plan.toml").write_text(head.replace("kept", "plan.toml") + arms)
    code, _, err = outcome(capsys, "run", tmp_path / "plan.toml", "--fresh", "--check")
    assert code == 2
    assert "memory must be a folder" in err
    code, out, _ = outcome(capsys, "run", tmp_path / "plan.toml", "--fresh")
    assert (code, out) == (2, ""), "the earlier run is not put aside for nothing"
