"""Matrix plans: an arm for each combination, its values in its command and its settings, and every mistake named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingbandits import Allocator, RisingBanditsError
from risingbandits.allocation import open_reader
from risingbandits.allocation.commands._matrix import MOST_ARMS, read_matrix
from risingbandits.allocation.commands._plan_file import Plan, read_plan
from risingbandits.allocation.settings import as_arguments
from risingbandits.cli import run

HEAD = 'budget = 12\n[defaults]\ncommand = ["echo", "--lr={lr}", "{width}", "{n}"]\n'
MATRIX = "[matrix]\nlr = [0.1, 0.01]\nwidth = [64, 128]\n"


def read(folder: Path, text: str) -> Plan:
    """The plan with this text."""
    (folder / "plan.toml").write_text(text)
    return read_plan(folder / "plan.toml")


# -- what it makes ---------------------------------------------------------------------------------------------------


def test_an_arm_for_each_combination(tmp_path: Path) -> None:
    arms = read(tmp_path, HEAD + MATRIX).arms
    assert [arm.name for arm in arms] == [
        "lr=0.1,width=64",
        "lr=0.1,width=128",
        "lr=0.01,width=64",
        "lr=0.01,width=128",
    ]
    assert arms[1].argv({"n": "7"}) == ["echo", "--lr=0.1", "128", "7"]
    assert arms[1].config == {"lr": 0.1, "width": 128}


def test_settings_are_those_of_the_allocator(tmp_path: Path) -> None:
    plan = read(tmp_path, HEAD + MATRIX)
    assert plan.settings["configs"]["lr=0.01,width=64"] == {"lr": 0.01, "width": 64}


AXES = st.dictionaries(
    st.sampled_from(["lr", "width", "bias", "opt"]),
    st.lists(st.sampled_from([0.1, 1, 64, True, False, "adam", ""]), min_size=1, max_size=3, unique_by=repr),
    min_size=1,
)


@given(AXES, st.data())
def test_like_the_plain_product(lists: dict[str, list[Any]], data: st.DataObject) -> None:
    """Nested loops, and a combination is left out if any entry of ``exclude`` is part of it."""
    keys = st.lists(st.sampled_from(sorted(lists)), unique=True, min_size=1)
    exclude = [
        {key: data.draw(st.sampled_from(lists[key])) for key in data.draw(keys)}
        for _ in range(data.draw(st.integers(0, 2)))
    ]
    combinations: list[dict[str, Any]] = [{}]
    for key, values in lists.items():
        combinations = [{**before, key: value} for before in combinations for value in values]
    written = [{key: repr(value) for key, value in entry.items()} for entry in exclude]
    expected = []
    for combination in combinations:
        texts = {key: repr(value) for key, value in combination.items()}
        if not any(entry.items() <= texts.items() for entry in written):
            expected.append(combination)
    table = {**lists, "exclude": exclude}
    if not expected:
        with pytest.raises(RisingBanditsError, match="must leave an arm"):
            read_matrix("matrix", table)
        return
    matrix = read_matrix("matrix", table)
    assert [repr(arm.values) for arm in matrix.arms] == [repr(values) for values in expected]
    assert len({arm.name for arm in matrix.arms}) == len(expected)


def test_booleans_are_not_numbers(tmp_path: Path) -> None:
    text = 'budget = 3\n[defaults]\ncommand = ["echo", "{x}"]\n[matrix]\nx = [1, true, "on"]\nexclude = [{x = true}]\n'
    assert [arm.argv({}) for arm in read(tmp_path, text).arms] == [["echo", "1"], ["echo", "on"]]
    kept = read(tmp_path, text.replace("x = true", "x = 1")).arms
    assert [(arm.name, arm.argv({})[1]) for arm in kept] == [("x=true", "true"), ("x=on", "on")]


def test_names_by_a_template(tmp_path: Path) -> None:
    arms = read(tmp_path, HEAD + MATRIX + 'name = "net {width} ({lr})"\n').arms
    assert [arm.name for arm in arms][:2] == ["net 64 (0.1)", "net 128 (0.1)"]


def test_beside_arms_that_are_written_one_by_one(tmp_path: Path) -> None:
    by_settings = '[[arms]]\nname = "wide"\nconfig = { lr = 0.5, width = 999, note = "x" }\n'
    own_command = '[[arms]]\nname = "other"\ncommand = ["echo", "1"]\n'
    arms = read(tmp_path, HEAD + by_settings + own_command + MATRIX).arms
    assert [arm.name for arm in arms][:3] == ["wide", "other", "lr=0.1,width=64"]
    assert arms[0].argv({})[:3] == ["echo", "--lr=0.5", "999"]
    assert arms[0].values == {"lr": "0.5", "width": "999"}  # what is no list of the matrix stands for nothing


def test_settings_without_a_matrix_stand_for_nothing(tmp_path: Path) -> None:
    text = 'budget = 3\n[[arms]]\nname = "a"\ncommand = ["echo", "{lr}"]\nconfig = { lr = 0.5 }\n'
    assert read(tmp_path, text).arms[0].argv({}) == ["echo", "{lr}"]


def test_values_are_not_read_again(tmp_path: Path) -> None:
    text = 'budget = 3\n[defaults]\ncommand = ["echo", "{x}{{x}}{{other}}{{n}}"]\n[matrix]\nx = ["{n}", "{arm}"]\n'
    assert read(tmp_path, text).arms[0].argv({"n": "7", "arm": "a"}) == ["echo", "{n}{x}{other}{n}"]


def test_in_the_environment_of_a_shell(tmp_path: Path) -> None:
    text = 'budget = 3\n[defaults]\nshell = true\ncommand = "echo $LR"\nenvironment = { LR = "{lr}" }\n'
    text += "[matrix]\nlr = [1, 2]\n"
    arms = read(tmp_path, text).arms
    assert [arm.filled(arm.environment["LR"], {}) for arm in arms] == ["1", "2"]
    assert [arm.as_text() for arm in arms] == ["echo $LR"] * 2


def test_a_run_has_the_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        'budget = 4\npolicy = "round-robin"\n[defaults]\ncommand = ["sh", "-c", "echo $1$DIGIT", "sh", "0.{first}"]\n'
        'environment = { DIGIT = "{second}" }\n[matrix]\nfirst = [1, 2]\nsecond = [3, 4]\n'
    )
    (tmp_path / "plan.toml").write_text(text)
    assert run(["run", str(tmp_path / "plan.toml")]) == 0
    capsys.readouterr()
    with open_reader(tmp_path / "plan.db") as reader:
        rewards = {arm.name: list(arm.rewards) for arm in reader.ledger().arms}
    assert rewards == {
        "first=1,second=3": [0.13],
        "first=1,second=4": [0.14],
        "first=2,second=3": [0.23],
        "first=2,second=4": [0.24],
    }


def test_a_prior_reads_the_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a run of some widths has shown says something of other widths."""
    head = 'budget = 12\npolicy = "round-robin"\n{more}\n[defaults]\ncommand = ["echo", "0.{width}"]\n'
    matrix = "[matrix]\nwidth = {values}\n"
    (tmp_path / "first.toml").write_text(head.replace("{more}", "") + matrix.replace("{values}", "[1, 2, 3, 4, 6, 8]"))
    assert run(["run", str(tmp_path / "first.toml")]) == 0
    second = read(tmp_path, head.replace("{more}", 'prior = "first.db"') + matrix.replace("{values}", "[5, 7]"))
    with Allocator([arm.name for arm in second.arms], 12, **as_arguments(second.settings)) as allocator:
        prior = allocator.settings.prior
    assert prior is not None
    assert [prior.of(arm.name).source for arm in second.arms] == ["configs", "configs"]
    assert prior.of("width=7").mean > prior.of("width=5").mean
    capsys.readouterr()


def test_check_shows_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plan.toml").write_text(HEAD + MATRIX + "exclude = [{lr = 0.01}]\n")
    assert run(["run", str(tmp_path / "plan.toml"), "--check"]) == 0
    out = capsys.readouterr().out
    assert "echo --lr=0.1 64 '{n}'" in out
    assert "echo --lr=0.1 128 '{n}'" in out
    assert "0.01" not in out
    assert f"plan.toml can be run. Store: {tmp_path / 'plan.db'}" in out
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]


def test_other_names_in_doubled_braces_are_left_alone(tmp_path: Path) -> None:
    own = '[[arms]]\nname = "a"\ncommand = ["echo", "{{batch}}"]\n'
    assert read(tmp_path, HEAD + own + MATRIX).arms[0].argv({}) == ["echo", "{batch}"]


def test_the_largest_matrix() -> None:
    assert len(read_matrix("matrix", {"a": list(range(100)), "b": list(range(100))}).arms) == MOST_ARMS


def test_the_name_of_an_arm_may_be_used_instead(tmp_path: Path) -> None:
    text = 'budget = 3\n[defaults]\ncommand = ["echo", "{arm}"]\n' + MATRIX
    assert len(read(tmp_path, text).arms) == 4
