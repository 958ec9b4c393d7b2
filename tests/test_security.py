"""What SECURITY.md says of the code is so: who may unpickle, who may start programs, and what reaches a terminal."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import risingbandits as rb
from risingbandits.cli.app import app

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "risingbandits"
# The files that may load what can run code, each named in SECURITY.md by its arms.
UNPICKLING = {
    "allocation/cluster/process_arms.py": "ProcessArms",
    "allocation/cluster/_process_child.py": "ProcessArms",
    "allocation/cluster/ray_arms.py": "RayArms",
    "integrations/sklearn.py": "PartialFitArm",
    "lab/ray_simulations.py": 'backend="ray"',
    "testing/lost_arms.py": "",  # only asks whether an arm could travel
}
PICKLING = ("pickle", "cloudpickle", "joblib", "dill", "shelve", "marshal")


def calls(tree: ast.AST) -> Iterator[tuple[str, dict[str, str]]]:
    """The calls in a file: what is called, and the named arguments as they are written."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), {word.arg or "**": ast.unparse(word.value) for word in node.keywords}


def modules(tree: ast.AST) -> set[str]:
    """The modules that a file imports, and those that it reaches as an attribute of another, as in ray.cloudpickle."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return found


def trees() -> dict[str, ast.AST]:
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}


def test_only_these_files_unpickle() -> None:
    found = {place for place, tree in trees().items() if modules(tree) & set(PICKLING)}
    assert found == set(UNPICKLING)
    text = (ROOT / "SECURITY.md").read_text()
    assert [name for name in UNPICKLING.values() if name not in text] == []


def test_arrays_and_weights_are_loaded_without_pickle() -> None:
    loads = [
        (place, called, words)
        for place, tree in trees().items()
        for called, words in calls(tree)
        if called in ("np.load", "numpy.load", "torch.load")
    ]
    assert len(loads) > 8
    for place, called, words in loads:
        name, value = ("weights_only", "True") if called == "torch.load" else ("allow_pickle", "False")
        assert words.get(name) == value, place


def test_no_text_is_run_as_code_and_no_shell_is_started_unasked() -> None:
    for place, tree in trees().items():
        for called, words in calls(tree):
            assert called not in ("eval", "exec", "os.system", "os.popen"), place
            assert "shell" not in words, place


@pytest.mark.parametrize("command", [["status", "--events"], ["status"], ["store", "check"]], ids=" ".join)
def test_a_reason_from_elsewhere_does_not_steer_the_terminal(command: list[str], tmp_path: Path) -> None:
    steering = "\x1b[2J\x1b]0;title\x07\x9b31m\r"
    with rb.Allocator(["a", "b"], budget=6, execution=rb.Execution(retries=1), store=tmp_path / "run.db") as allocator:
        pull = allocator.ask()
        assert pull is not None
        allocator.fail(pull, f"began {steering}ended")
    said = CliRunner().invoke(app, [*command, str(tmp_path / "run.db")])
    assert said.exit_code == 0
    assert command == ["store", "check"] or "ended" in said.output
    assert [letter for letter in said.output if not letter.isprintable() and letter != "\n"] == []
