"""Plan files: what they say is read, and every mistake is one sentence with the path of the key."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from readable_files import PLAN as FULL
from risingbandits import RisingBanditsError
from risingbandits.allocation import Allocator, Budget
from risingbandits.allocation.commands._placeholders import PLACEHOLDERS, check_placeholders, expand
from risingbandits.allocation.commands._plan_file import Plan, read_plan
from risingbandits.allocation.settings import as_arguments
from risingbandits.cli._run_plan import plan_allocator

ARM = '[[arms]]\nname = "a"\ncommand = ["true"]\n'


def arm(name: str = '"a"', command: str = '["true"]', more: str = "") -> str:
    """A plan with one arm."""
    return f"budget = 3\n[[arms]]\nname = {name}\ncommand = {command}\n{more}"


def read(tmp_path: Path, text: str | bytes) -> Plan:
    path = tmp_path / "plan.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_plan(path)


def mistake(tmp_path: Path, text: str | bytes) -> str:
    with pytest.raises(RisingBanditsError) as caught:
        read(tmp_path, text)
    sentence = str(caught.value)
    assert sentence.startswith(str(tmp_path / "plan.toml"))
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    return sentence.removeprefix(f"{tmp_path / 'plan.toml'}, ")


def test_everything_that_a_plan_can_say(tmp_path: Path) -> None:
    plan = read(tmp_path, FULL)
    assert plan.budget == Budget(cost=12.5)
    assert repr(plan.settings.pop("policy")) == "CommitUCB(sigma=0.1)"
    assert plan.settings == {
        "objective": "best-arm",
        "direction": "minimize",
        "reward_range": (-1.0, 3.0),
        "max_pulls": {"a": 3, "b b": 7},
        "durability": "power",
        "retries": 4,
        "seed": 3,
    }
    assert (plan.jobs, plan.lease) == (2, 90.0)
    assert Path(plan.store) == tmp_path / "sub" / "run.db"
    assert plan.logs == tmp_path / "sub" / "run.db.logs"
    assert plan.states == tmp_path / "sub" / "run.db.state"
    first, second = plan.arms
    assert first.argv({"n": "4"}) == ["sh", "-c", "echo 4"]
    assert first.environment == {"A": "1", "B": "{state}", "C": "0.5"}
    assert (first.directory, first.timeout, first.shell) == (tmp_path, 5.0, False)
    assert second.argv({"n": "4"}) == ["/bin/sh", "-c", "echo $RISINGBANDITS_PULL | cat"]
    assert (second.directory, second.timeout, second.shell) == (Path("/"), 1.5, True)
    assert second.environment == {"A": "1", "B": "2"}


def test_defaults_leave_the_settings_to_the_allocator(tmp_path: Path) -> None:
    plan = read(tmp_path, f"budget = 5\n{ARM}")
    assert plan.budget == Budget(pulls=5)
    assert plan.settings == {}
    assert Path(plan.store) == tmp_path / "plan.db"


def test_what_only_python_could_say_once(tmp_path: Path) -> None:
    text = 'reward_range = "unknown"\nmax_pulls = {a = 4}\nwarm_start = {a = [0.5, 1]}\n'
    plan = read(tmp_path, f"budget = 5\n{text}{ARM}max_pulls = 3")
    assert plan.settings == {
        "reward_range": None,
        "max_pulls": {"a": 3},
        "warm_start": {"a": [0.5, 1.0]},
    }
    assert Allocator(["a"], plan.budget, **as_arguments(plan.settings)).settings.max_pulls == {"a": 3}


def test_a_prior_is_relative_to_the_plan_and_arms_say_what_they_are(tmp_path: Path) -> None:
    more = '[arms.config]\nlr = 0.001\nopt = "adam"\n[[arms]]\nname = "b"\ncommand = ["true"]'
    text = arm(more=more)
    plan = read(tmp_path, f'prior = ["../last.db", "postgresql://host/runs"]\n{text}')
    assert plan.settings["prior"] == [str(tmp_path / "../last.db"), "postgresql://host/runs"]
    assert plan.settings["configs"] == {"a": {"lr": 0.001, "opt": "adam"}}
    assert read(tmp_path, f'prior = "runs/*.db"\n{text}').settings["prior"] == [str(tmp_path / "runs/*.db")]
    home = Path("~").expanduser()
    assert read(tmp_path, f'prior = "~/a.db"\n{text}').settings["prior"] == [str(home / "a.db")]
    for written, meant in (("runs", tmp_path / "runs"), ("~/.runs", home / ".runs"), ("/runs", Path("/runs"))):
        assert read(tmp_path, f'remember = "{written}"\n{text}').settings["remember"] == str(meant)


def test_servers_keep_files_beside_the_plan(tmp_path: Path) -> None:
    plan = read(tmp_path, f'budget = 5\nstore = "postgresql://host/base"\n{ARM}')
    assert plan.store == "postgresql://host/base"
    assert plan.logs == tmp_path / "plan.logs"


def test_files_that_are_no_plans(tmp_path: Path) -> None:
    assert "is not a TOML file: " in mistake(tmp_path, "budget")
    assert "is not a text file in UTF-8: " in mistake(tmp_path, b"\xff\xfe")
    assert "is not a TOML file: " in mistake(tmp_path, "a = " + "[" * 100_000)
    assert "is not a TOML file: " in mistake(tmp_path, "a = " + "1" * 10_000)
    with pytest.raises(RisingBanditsError, match=r"none.toml cannot be read: No such file or directory\.$"):
        read_plan(tmp_path / "none.toml")
    with pytest.raises(RisingBanditsError, match=r"cannot be read: Is a directory\.$"):
        read_plan(tmp_path)


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    assert read(tmp_path, b"\xef\xbb\xbf" + f"budget = 3\n{ARM}".encode()).budget == Budget(pulls=3)


def test_placeholders() -> None:
    values = {name: f"<{name}>" for name in PLACEHOLDERS}
    for name in PLACEHOLDERS:
        assert expand(f"x{{{name}}}y", values) == f"x<{name}>y"
        assert expand(f"{{{{{name}}}}}", values) == f"{{{name}}}"
    for text in ("{print $1}", "{}", "{{}}", "{N}", "{{other}}", '{"n": 1}', "{n", "{ n }"):
        assert expand(text, values) == text
        check_placeholders("here", text)
    assert expand("{{chekpoint}}", values) == "{chekpoint}"
    # What is put in is not looked at again.
    assert expand("{arm}", {"arm": "{n}", "n": "3"}) == "{n}"


def test_the_python_of_the_run_is_a_program(tmp_path: Path) -> None:
    plan = read(tmp_path, 'budget = 3\n[[arms]]\nname = "a"\ncommand = ["{python}", "-V"]')
    assert plan.arms[0].argv({"python": sys.executable}) == [sys.executable, "-V"]


def test_a_prior_of_logs_with_several_metrics_is_read_by_the_one_that_the_plan_names(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for name, best in (("small", 0.3), ("large", 0.5), ("huge", 0.9)):
        rows = "".join(f"{n},{1 - best},{best * n / (n + 1)}\n" for n in range(1, 8))
        (tmp_path / "logs" / f"{name}.csv").write_text("epoch,val_loss,val_accuracy\n" + rows)
    arms = "".join(f'[[arms]]\nname = "{name}"\ncommand = ["true"]\n' for name in ("small", "large", "huge"))
    plan = tmp_path / "plan.toml"
    plan.write_text(f'budget = 9\nprior = "logs"\n{arms}')
    with pytest.raises(RisingBanditsError, match=r"plan\.toml: metric must be given, because there are several"):
        plan_allocator(read_plan(plan))
    plan.write_text(f'budget = 9\nprior = "logs"\nmetric = "val_accuracy"\n{arms}')
    with plan_allocator(read_plan(plan)) as allocator:
        prior = allocator.settings.prior
    assert prior is not None
    assert sorted(prior.beliefs, key=lambda arm: prior.of(arm).mean) == ["small", "large", "huge"]
