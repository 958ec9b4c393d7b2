"""Records the golden files anew: run it when decisions change on purpose, and look at what differs.

The files themselves list what is played. Policies that they lack are added with their default settings. What happens to
allocators is listed in `allocations.py`.
"""

from __future__ import annotations

import json
from typing import Any

from allocations import cases
from frozen import FOLDER, Case, Command, Simulated, load, recorded_names, rounding

from risingbandits import RisingBanditsError

_CASES = ((3, 300), (1, 300), (64, 300), (3, None), (5, 300, "masked"), (5, 150, "foreign"))
_SIMULATED = (("paper-2arms",), ("15 arms",), ("bernoulli",), ("ending", "stop"))


def listed(file: str, kind: Any, ways: Any = ()) -> list[Any]:
    """What a file lists, and every policy that is not in it in the given ways."""
    found = [kind(*run["case"]) for run in load(file)["runs"]]
    missing = set(recorded_names()) - {case[0] for case in found} if ways else ()
    return found + [kind(name, {}, *way) for name in sorted(missing) for way in ways]


def record(file: str, cases: list[Any]) -> None:
    """Play the cases and write what comes of them, a line each."""
    lines = []
    for case in cases:
        try:
            lines.append(json.dumps({"case": list(case), **case.play()}, separators=(",", ":")))
        except RisingBanditsError as error:  # such as a policy that must know the horizon
            print(f"left out: {case}: {error}")
    (FOLDER / file).write_text(f'{{"rounding":"{rounding()}","runs":[\n' + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    record("decisions.json", listed("decisions.json", Case, _CASES))
    record("simulations.json", listed("simulations.json", Simulated, _SIMULATED))
    record("commands.json", listed("commands.json", Command))
    record("allocations.json", cases())
