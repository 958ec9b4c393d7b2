"""The program on the first minute measures what the README shows."""

from __future__ import annotations

import sys

from environments import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import first_contact as program


def test_every_step_has_a_program() -> None:
    programs = [arguments[1] for arguments, _bar in program.steps().values() if arguments[0] == "-c"]
    for text, call in zip(programs, ("rb.Allocator(", "rb.Allocator(", "rb.simulate("), strict=True):
        compile(text, "README", "exec")
        assert call in text
