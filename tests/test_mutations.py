"""The list of mutations fits the source and the tests; `make test-mutations` runs them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from mutation import ROOT, SOURCE, Mutation, function_of, mutations

ALL = mutations()


def test_names_are_unique() -> None:
    assert len({mutation.name for mutation in ALL}) == len(ALL) >= 150


@pytest.mark.parametrize("mutation", ALL, ids=lambda mutation: mutation.name)
def test_a_mutation_changes_what_is_there_and_names_its_tests(mutation: Mutation) -> None:
    changed = mutation.apply((SOURCE / mutation.path).read_text())
    if mutation.path.endswith(".py"):
        ast.parse(changed)
    assert bool(mutation.killed_by) != bool(mutation.equivalent)
    for test in mutation.killed_by:
        file, function = function_of(test)
        assert not function or function in functions(file), f"{test} does not exist"


@cache
def functions(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(), file.relative_to(ROOT).as_posix())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
