"""What the package says, in text files: a case is its input, then what is said about it on a line that begins with ->.

`make texts` writes these lines anew, so that a sentence that was reworded is edited in the source alone; look at what
differs.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "texts"
_MARK = "\n-> "


def cases(name: str) -> pytest.MarkDecorator:
    """The parameters of a test: the input and the sentence of each case in a file."""
    found = _read(name)
    return pytest.mark.parametrize(("given", "said"), found.items(), ids=range(1, len(found) + 1))


def agree(name: str, given: str, expected: str, said: str) -> None:
    """What is ``said`` must be what is expected; `make texts` writes it instead. N names: other tests add some."""
    said = re.sub(r"one of \d+ names", "one of N names", said)
    if os.environ.get("RISINGBANDITS_WRITE_TEXTS"):
        found = {**_read(name), given: said}
        (FOLDER / f"{name}.txt").write_text("\n\n".join(f"{one}{_MARK}{other}" for one, other in found.items()) + "\n")
    else:
        assert said == expected


def _read(name: str) -> dict[str, str]:
    found = {}
    for block in (FOLDER / f"{name}.txt").read_text().rstrip("\n").split("\n\n"):
        given, said = block.split(_MARK)
        found[given] = said
    return found
