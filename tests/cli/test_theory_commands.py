"""The commands theory, lower-bounds and check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from risingbandits.cli import run


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(arguments)
    text = capsys.readouterr()
    return code, text.out, text.err


def test_theory_of_the_papers_instance(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = outcome(capsys, "lab", "paper", "theory", "paper-15arms")
    assert (code, err) == (0, "")
    assert "200,025" in out
    assert "1,706,331" in out
    assert out.count("vacuous") == 2  # both bounds on R-ed-UCB, none on CommitUCB
    assert "CommitUCB, sigma 0.1, z 4.94" in out
    assert "101,104" in out
    assert "1.0747" in out  # above the ceiling of both theorems
    assert "arm 13, 212,120.3" in out
    assert "K T^(2/3) (log T)^(1/3)" in out


def test_theory_of_a_file_and_of_lines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("small,large\n0.3,0.1\n0.35,0.3\n0.36,0.5\n,0.6\n,0.65\n")
    code, out, _ = outcome(capsys, "lab", "paper", "theory", str(path), "--noise", "none", "--horizon", "50")
    assert code == 0
    assert "large, 31.4" in out
    code, out, _ = outcome(capsys, "lab", "paper", "theory", "lower-bound-concave-b", "--horizon", "1000")
    assert code == 0
    assert "straight lines" in out


@pytest.mark.slow
def test_bounds_over_horizons(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    written = ["lab", "paper", "theory", "paper-2arms", "--horizons", "200000, 1000000", "--out"]
    code, out, err = outcome(capsys, *written, str(tmp_path / "first"))
    assert (code, err) == (0, "")
    assert "10,928 (0.055)" in out
    assert "11,720 (0.012)" in out
    names = {f"bounds.{kind}" for kind in ("csv", "md", "png", "svg")}
    assert {path.name for path in (tmp_path / "first").iterdir()} == names
    outcome(capsys, *written, str(tmp_path / "second"))
    for name in names:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
    code, _, err = outcome(capsys, "lab", "paper", "theory", "paper-2arms", "--horizons", "1e5")
    assert code != 0
    assert "horizons must be whole numbers" in err


def test_lower_bounds_prints_and_writes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    small = [
        "lab",
        "paper",
        "lower-bounds",
        "--policies",
        "red-ucb,round-robin",
        "--horizon",
        "600",
        "--runs",
        "2",
        "--jobs",
        "1",
    ]
    code, out, err = outcome(capsys, *small, "--out", str(tmp_path / "first"))
    assert (code, err) == (0, "")
    assert "bound as proved" in out
    assert "No policy beats a bound." in out
    assert {path.name for path in (tmp_path / "first").iterdir()} == {
        f"lower-bounds.{kind}" for kind in ("csv", "md", "png", "svg")
    }
    outcome(capsys, *small, "--out", str(tmp_path / "second"))
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes()
    rows = (tmp_path / "first" / "lower-bounds.csv").read_text().splitlines()
    assert len(rows) == 1 + 5 * 2
    assert all(row.endswith("True") for row in rows[1:])


def test_lower_bounds_tells_when_a_bound_is_beaten(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = outcome(
        capsys,
        "lab",
        "paper",
        "lower-bounds",
        "--policies",
        "oracle",
        "--pairs",
        "concave,beta",
        "--horizon",
        "600",
        "--runs",
        "1",
    )
    assert code == 0
    assert "Below the bound: oracle on concave, oracle on beta" in out


def test_check(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    path.write_text("good,bad\n" + "".join(f"{1 - 1 / n},{(n / 20) ** 2}\n" for n in range(1, 21)))
    code, out, err = outcome(capsys, "logs", "check", str(path))
    assert (code, err) == (0, "")
    assert "good looks rising and concave." in out
    assert "bad is not concave." in out
    assert "0.001" in out


def test_losses_are_called_what_they_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "losses.csv"
    path.write_text("a,b,c\n0.9,0.8,0.9\n0.6,0.5,0.7\n0.5,0.3,0.6\n")
    turned = "Low values are good, so all signs are reversed: below, a curve rises where its values fall."
    assert outcome(capsys, "logs", "check", str(path))[1].startswith(turned)
    replayed = ("logs", "replay", str(path), "--policies", "round-robin", "--budget", "6")
    out = outcome(capsys, *replayed)[1]
    assert "loss per pull" in out
    assert "reward per pull" not in out
    assert turned not in outcome(capsys, "logs", "check", str(path), "--direction", "maximize")[1]
    assert "reward per pull" in outcome(capsys, *replayed, "--direction", "maximize")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lab", "paper", "theory", "paper-15arm"), "did you mean 'paper-15arms'?"),
        (("lab", "paper", "lower-bounds", "--pairs", "convex"), "pairs must be one of concave"),
        (("logs", "check", "nowhere.csv"), "nowhere.csv does not exist"),
        (("lab", "paper", "theory", "paper-2arms", "--eps", "0.5"), "eps must be a finite number"),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    code, _, err = outcome(capsys, *arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_check_needs_three_values(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "short.csv"
    path.write_text("one\n0.1\n0.2\n")
    code, _, err = outcome(capsys, "logs", "check", str(path))
    assert code == 2
    assert "must have at least 3 values, has 2" in err


def test_the_default_policy_plays_the_lower_bounds_for_cumulative_reward(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--policies", "auto,auto(objective='cumulative')", "--pairs", "concave", "--horizon", "600", "--runs", "1"]
    _, out, _ = outcome(capsys, "lab", "paper", "lower-bounds", *given, "--json")
    first, second = json.loads(out)["pairs"]
    assert first["worse_regret"] == second["worse_regret"]
