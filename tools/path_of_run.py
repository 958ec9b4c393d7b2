"""The functions of the package that a command passes through: ``python tools/path_of_run.py [--list] [ARGUMENTS]``.

Without arguments it is ``risingbandits run plan.toml`` with two ``echo`` arms and 6 pulls in an empty folder. What runs
while a module is loaded is left out, and so are child processes, comprehensions and generator expressions.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

PACKAGE = str(Path(__file__).parents[1] / "src" / "risingbandits")
PLAN = 'budget = 6\ndefaults.command = ["echo", "0.5"]\narms = [{name = "a"}, {name = "b"}]\n'

_called: Counter[CodeType] = Counter()
_loading = threading.local()  # how many modules this thread is loading just now


def profile(frame: FrameType, event: str, argument: Any) -> None:
    """Count the call of a function of the package, unless a module is being loaded."""
    code = frame.f_code
    if event not in ("call", "return"):
        return
    depth = getattr(_loading, "depth", 0)
    if code.co_name == "<module>":
        _loading.depth = depth + (1 if event == "call" else -1)
    elif event == "call" and depth == 0 and code.co_filename.startswith(PACKAGE):
        _called[code] += not code.co_name.endswith(("comp>", "expr>"))


def main(arguments: list[str]) -> None:
    """Run the command and print how many functions in how many files it has called."""
    listed = arguments[:1] == ["--list"]
    command = arguments[1:] if listed else arguments
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("plan.toml").write_text(PLAN, encoding="utf-8")
        from risingbandits.cli import main as run

        sys.argv[1:] = command or ["run", "plan.toml"]
        threading.setprofile(profile)
        sys.setprofile(profile)
        with suppress(SystemExit):
            run()
        sys.setprofile(None)
    called = [code for code, calls in _called.items() if calls]
    files = {code.co_filename for code in called}
    if listed:
        for code in sorted(called, key=lambda code: (code.co_filename, code.co_firstlineno)):
            where = Path(code.co_filename).relative_to(PACKAGE)
            print(f"{where}:{code.co_firstlineno} {code.co_qualname} {_called[code]}")
    print(f"{len(called)} functions in {len(files)} files")


if __name__ == "__main__":
    main(sys.argv[1:])
