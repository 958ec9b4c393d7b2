"""Whether threads would wait for a module that is being imported until they are done with it: for ever."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any


def imports_its_own() -> bool:
    """Whether this thread is importing a module that has kernels or classes of its own.

    To compile a kernel, and to find a class that the machine code in the cache knows, Numba imports their module. Any
    other thread then waits until the import is done, and the import for whoever waits for that thread.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        known: dict[str, Any] = frame.f_globals
        importing = getattr(known.get("__spec__"), "_initializing", False)
        if frame.f_code.co_name == "<module>" and importing and _defines(known):
            return True
        frame = frame.f_back
    return False


def _defines(module: dict[str, Any]) -> bool:
    """Whether the module has classes or kernels that are not imported from others."""
    found = (value for value in list(module.values()) if isinstance(value, type) or hasattr(value, "py_func"))
    return any(value.__module__ == module["__name__"] for value in found)
