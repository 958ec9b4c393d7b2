"""What is wrong with a kernel, in one sentence that names it, its file and the line."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from risingbandits._core.errors import RisingBanditsError

#: Mistakes of whoever wrote a kernel, in plain Python; arithmetic is left out, as machine code has infinities.
MISTAKES = (AttributeError, TypeError, NameError, LookupError, AssertionError)

_NO_GENERATOR = "; rng is None unless the policy is tagged randomised (or draws_on_tell, if update uses it)"


@contextmanager
def compile_errors_as_sentences() -> Iterator[None]:
    """Inside, what Numba says about a kernel, some fifty lines, is one `RisingBanditsError`."""
    from numba.core.errors import NumbaError  # called only where there is a compiler

    try:
        yield
    except NumbaError as error:
        raise RisingBanditsError(_sentence_of_numba(str(error))) from None


def mistake(error: BaseException) -> RisingBanditsError:
    """The error for an exception in a kernel that ran in plain Python."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    reason = f"{type(error).__name__}: {error}"
    hint = _NO_GENERATOR if "'NoneType'" in reason else ""
    return RisingBanditsError(
        f"kernel {last.name} fails in {Path(last.filename).name}, line {last.lineno}: {reason}{hint}."
    )


def _sentence_of_numba(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    reason = next((line for line in lines if not line.startswith("Failed in ")), "no reason given").rstrip(".")
    callees = re.findall(r"<function (\w+) at ", text)
    place = re.search(r'File "([^"]+)", line (\d+)', text)
    where = f" in {Path(place[1]).name}, line {place[2]}" if place and "NameError" not in reason else ""
    hint = _NO_GENERATOR if reason.endswith("of type none") else ""
    return f"kernel {callees[-1] if callees else ''} cannot be compiled{where}: {reason}{hint}.".replace("  ", " ")
