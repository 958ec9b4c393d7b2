"""The command line: what it prints, writes and refuses."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import risingbandits
from risingbandits import Result, policy_names
from risingbandits.cli import run
from risingbandits.cli.app import _warnings_as_sentences, app
from risingbandits.policies import policy_class

COMMANDS = (
    *("demo", "run", "status", "report", "simulate", "list", "logs", "store", "prior", "lab"),
    *("list policies", "logs replay", "store ask", "lab paper imdb", "lab benchmark"),
)
SMALL = ["simulate", "--problem", "paper-2arms", "--horizon", "300", "--runs", "3"]
FILES = {"result.npz", "result.json", "study.json", "report.md"} | {
    f"{stem}.{kind}" for stem in ("regret", "pulls", "curves") for kind in ("png", "svg")
}


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(arguments)
    text = capsys.readouterr()
    return code, text.out, text.err


def hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def curves(tmp_path: Path) -> Path:
    path = tmp_path / "my curves.csv"
    path.write_text("small,large\n0.3,0.1\n0.35,0.3\n0.36,0.5\n,0.6\n,0.65\n")
    return path


def test_help_of_every_command_and_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    runner = CliRunner()
    for command in ([], *(name.split() for name in COMMANDS)):
        shown = runner.invoke(app, [*command, "--help"])
        assert shown.exit_code == 0
        assert "Usage: risingbandits" in shown.output
    assert "--curves my.csv" in runner.invoke(app, ["simulate", "--help"], terminal_width=100).output
    assert runner.invoke(app, ["--version"]).output == f"risingbandits {risingbandits.__version__}\n"
    assert [run([group]) for group in ("list", "logs", "store")] == [2] * 3
    assert capsys.readouterr().err == "", "a group without a command shows its help"
    top = runner.invoke(app, [], env={"COLUMNS": "80"}).output
    assert "Usage: risingbandits" in top
    assert len(top.splitlines()) <= 24, "it fits one screen"


def test_lists_of_policies_and_instances(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = outcome(capsys, "list", "policies", "--all")
    assert (code, err) == (0, "")
    assert all(name in out for name in policy_names())
    code, out, err = outcome(capsys, "list", "policies")
    assert (code, err) == (0, "")
    assert len(out.splitlines()) < 40
    assert out.endswith(f"{len(policy_names()) - 14} more: risingbandits list policies --all\n")
    code, out, err = outcome(capsys, "list", "problems")
    assert (code, err) == (0, "")
    (line,) = [line for line in out.splitlines() if "paper-15arms" in line]
    assert line.split()[:7] == ["paper-15arms", "15", "200,000", "Gaussian", "0.1", "arm", "13"]


def test_one_policy_with_its_settings(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = outcome(capsys, "list", "policies", "red-ucb")
    assert code == 0
    (line,) = [line for line in out.splitlines() if line.strip().startswith("alpha")]
    assert line.split()[:3] == ["alpha", "3.0", "float"]
    assert "\n\nUse it as the reference of its paper." in out
    assert "the index is" not in out, "which a formula would follow"
    assert "\n\nHow it works, with formulas: help(REdUCB) in Python, or its page in the documentation.\n" in out


def test_every_policy_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for name in policy_names():
        code, out, _ = outcome(capsys, "list", "policies", name)
        assert code == 0
        kind = policy_class(name)
        assert out.startswith(f"{name} ({kind.__name__})\n\n{(kind.__doc__ or '')[:20]}"), "the idea comes first"
        assert "math:" not in out
        assert "\\" not in out


def test_simulate_compares_two_policies(capsys: pytest.CaptureFixture[str]) -> None:
    written = "red-ucb(eps=0.1, sigma=0.2)"
    options = ("--policies", f"{written}, round-robin")
    code, out, _ = outcome(capsys, *SMALL, *options, "--compare", f"round-robin, {written}")
    assert code == 0
    assert f"regret than {written}: difference" in out
    assert "(paired Student t, 3 runs)" in out


@pytest.mark.parametrize(("written", "played"), [("auto", "best-arm"), ("auto(objective='cumulative')", "cumulative")])
def test_simulate_plays_auto_for_its_objective(
    written: str, played: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = ("--objective", "best-arm", "--policies", written, "--out", str(tmp_path))
    assert outcome(capsys, *SMALL, *options)[0] == 0
    shown = "Auto()" if played == "best-arm" else f"Auto(objective='{played}')"
    assert Result.load(tmp_path).settings[written] == shown


@pytest.mark.parametrize("objective", ["cumulative", "best-arm"])
def test_replay_compares_what_is_recommended_first(
    objective: str, curves: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = tmp_path / "every.csv"
    options = ("--budget", "6", "--objective", objective, "--orders", "1", "--out", str(table))
    assert outcome(capsys, "logs", "replay", str(curves), *options)[0] == 0
    first, second = table.read_text().splitlines()[1:3]
    assert first.startswith("auto,1,")
    assert second.startswith("commit-ucb,1," if objective == "cumulative" else "r-sr,1,")


def test_simulate_prints_a_table_and_writes_everything(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out_folder = tmp_path / "deep" / "study"
    policies = "red-ucb(eps=0.1, sigma=0.2), round-robin"
    code, out, err = outcome(capsys, *SMALL, "--policies", policies, "--seed", "4", "--out", str(out_folder))
    assert (code, err) == (0, "")
    assert "paper-2arms-v1, 300 rounds, 3 runs, seed 4" in out
    assert out.rstrip().endswith(str(out_folder / "report.md"))
    assert set(os.listdir(out_folder)) == FILES
    result = Result.load(out_folder)
    assert result.policies == ["red-ucb(eps=0.1, sigma=0.2)", "round-robin"]
    assert result.settings["red-ucb(eps=0.1, sigma=0.2)"] == "REdUCB(eps=0.1, sigma=0.2)"
    assert (result.runs, result.horizon, result.seed) == (3, 300, 4)
    page = (out_folder / "report.md").read_text()
    assert "risingbandits simulate --problem paper-2arms --policies 'red-ucb(eps=0.1, sigma=0.2), round-robin'" in page
    assert "| round-robin |" in page


def test_same_command_same_bytes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = [*SMALL, "--out", str(tmp_path / "study")]
    seen = []
    for jobs in ("1", "2"):
        assert outcome(capsys, *command, "--jobs", jobs)[0] == 0
        seen.append(hashes(tmp_path / "study"))
    assert seen[0] == seen[1]
    assert set(seen[0]) == FILES


def test_curves_from_a_file(capsys: pytest.CaptureFixture[str], curves: Path, tmp_path: Path) -> None:
    arguments = ["simulate", "--curves", str(curves), "--noise", "none", "--policies", "oracle,round-robin"]
    code, out, err = outcome(capsys, *arguments, "--out", str(tmp_path / "study"))
    assert (code, err) == (0, "")
    result = Result.load(tmp_path / "study")
    assert result.horizon == 5  # the longest column
    assert result.oracle[-1] == pytest.approx(0.1 + 0.3 + 0.5 + 0.6 + 0.65)
    assert result.final_regret["round-robin"][0] == pytest.approx(2.15 - (0.3 + 0.1 + 0.35 + 0.3 + 0.36))
    assert "my curves" in out


@pytest.mark.parametrize("options", [[], ["--direction", "minimize"], ["--range", "0,4"]])
def test_losses_are_played_as_gains(options: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Once a table with a negative regret, without a word."""
    path = tmp_path / "losses.csv"
    path.write_text("small,large\n2,4\n1.5,3\n1.4,1\n1.4,0\n1.4,0\n1.4,0\n")
    arguments = ["simulate", "--curves", str(path), "--noise", "none", "--policies", "oracle,round-robin", *options]
    code, _, err = outcome(capsys, *arguments, "--out", str(tmp_path / "study"))
    assert code == 0
    assert "Rewards are scaled to the range: 0 is 4, 1 is 0." in err
    assert ("minimize (falls in 100% of the runs); 2 runs." in err) == ("--direction" not in options)
    result = Result.load(tmp_path / "study")
    assert result.oracle[-1] == pytest.approx((0 + 1 + 3 + 4 + 4 + 4) / 4)
    assert result.final_regret["round-robin"][0] == pytest.approx(4 - (2 + 2.5 + 2.6 + 0 + 1 + 3) / 4)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["simulate", "--runs", "many"], "Invalid value for '--runs'"),
        (["simulat"], "Did you mean 'simulate'?"),
        (["--nonsense"], "No such option"),
    ],
)
def test_what_the_parser_refuses_is_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    """What the commands refuse is in tests/texts/commands.txt."""
    code, out, err = outcome(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("risingbandits: ")
    assert sentence in err


def test_demo(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = outcome(capsys, "demo", "--runs", "2", "--horizon", "500", "--out", str(tmp_path / "demo"))
    assert (code, err) == (0, "")
    assert out.rstrip().endswith("report.md")
    made = {"models.html", "models.db", "paper-15arms-v1", "paper-2arms-v1", "report.md"}
    assert {name for name in os.listdir(tmp_path / "demo") if not name.startswith("models.db")} | {"models.db"} == made
    assert outcome(capsys, "status", str(tmp_path / "demo" / "models.db"))[0] == 0
    page = (tmp_path / "demo" / "report.md").read_text()
    figures = [line.split("(")[1].rstrip(")") for line in page.splitlines() if line.startswith("![")]
    assert len(figures) == 6
    assert all((tmp_path / "demo" / figure).is_file() for figure in figures)
    # The product first: six models share 400 batches, and the table says how.
    models, paper = out.split("The paper's two problems")
    shares = [int(found) for found in re.findall(r"(?:linear|network) [\d.]+ +(\d+) ", models)]
    assert len(shares) == 6
    assert sum(shares) == 400
    assert "Recommended: network 128," in models
    assert all(policy in paper for policy in ("auto", "commit-ucb", "red-ucb", "round-robin"))


def test_demo_without_scikit_learn(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    code, out, _ = outcome(capsys, "demo", "--runs", "1", "--horizon", "100", "--out", str(tmp_path))
    assert code == 0
    assert "scikit-learn" in out.splitlines()[0]
    assert out.rstrip().endswith("report.md")


def test_only_warnings_for_users_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    class ForLibraries(UserWarning, DeprecationWarning):
        """As pyparsing has them."""

    with _warnings_as_sentences():
        warnings.warn("for somebody else", ForLibraries, stacklevel=1)
        warnings.warn("for the user", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "risingbandits: for the user\n"


def test_process_exit_codes_and_streams(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "risingbandits"]
    good = subprocess.run([*command, "--version"], capture_output=True, text=True, cwd=tmp_path)
    assert (good.returncode, good.stdout, good.stderr) == (0, f"risingbandits {risingbandits.__version__}\n", "")
    bad = subprocess.run([*command, "simulate", "--runs", "0"], capture_output=True, text=True, cwd=tmp_path)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "risingbandits: runs must be an integer >= 1, got 0.\n"


def test_import_loads_no_heavy_library() -> None:
    heavy = "{'matplotlib', 'rich', 'typer', 'pandas', 'scipy.stats', 'scipy.special'}"
    program = f"import sys, risingbandits; print(sorted({heavy} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"
