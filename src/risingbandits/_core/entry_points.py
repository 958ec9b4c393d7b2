"""Interpreted until it pays: the first calls of an entry point run in plain Python, the later ones in machine code.

Compiling a policy takes seconds, reading it from the disk cache a tenth of a second, a call in plain Python some 50 us.
Both forms give equal results, bit for bit, so the switch cannot be seen. The rule is that of ski rental: rent until the
rent has reached a share of the price. No thread compiles in the background, so that there is nothing to wait for at the
end of the program, after a fork or on Ctrl-C.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from risingbandits._core.jit import (
    MISTAKES,
    compiled,
    instructions,
    interpreted,
    is_disabled,
    is_in_disk_cache,
    mistake,
)

_LOADING = 0.02  # seconds in plain Python before code that is in the disk cache is loaded
_COMPILING = 0.001  # seconds that compiling takes for each instruction of byte code
_SHARE = 0.1  # of those seconds, spent before: machine code also serves the processes that come later


class EntryPoint:
    """A function with kernels below it, some of its global ``names`` re-bound: interpreted until compiling pays.

    ``call`` is what to call. It becomes the compiled function itself, so that nothing stands between a long run and its
    machine code. The arguments of all calls must be of the same types: the machine code is made for those of the call
    before which it has paid.

    It is compiled once it has spent ``share`` times the estimated compile time in plain Python.
    """

    __slots__ = ("_fast", "_function", "_names", "_price", "_share", "_slow", "_spent", "call")

    def __init__(self, function: Any, share: float = _SHARE, **names: Any) -> None:
        self._function, self._share, self._names = function, share, names
        self._slow: Any = None
        self._fast: Any = None
        self._spent = 0.0  # seconds in plain Python so far
        self._price: float | None = None  # None: it is not known yet whether the disk cache has the machine code
        self.call: Any = self._first_calls

    def compile(self) -> None:
        """Use machine code from the next call on."""
        self.call = self._compiled()

    def run(self, work: float, *arguments: Any) -> Any:
        """One call that would take about ``work`` seconds in plain Python, which may be too long to start there."""
        return self.call(*arguments) if self.call is self._fast else self._first_calls(*arguments, work=work)

    def _first_calls(self, *arguments: Any, work: float = 0.0) -> Any:
        if self._spent + work >= (_LOADING if self._price is None else self._price) and self._pays(work, arguments):
            self.call = self._compiled()
            return self.call(*arguments)
        start = time.thread_time()
        result = self._interpreted(arguments)
        self._spent += time.thread_time() - start
        return result

    def _interpreted(self, arguments: tuple[Any, ...]) -> Any:
        """The call in plain Python; if that divides by zero or overflows, in machine code, which has infinities."""
        if self._slow is None:
            self._slow = interpreted(self._function, **self._names)
        parts = list(_changeable(arguments))
        before = [part.copy() if isinstance(part, np.ndarray) else part.bit_generator.state for part in parts]
        try:
            with np.errstate(all="ignore"):
                return self._slow(*arguments)
        except MISTAKES as error:
            raise mistake(error) from error
        except (ArithmeticError, ValueError):
            if is_disabled():
                raise
        for part, content in zip(parts, before, strict=True):
            if isinstance(part, np.ndarray):
                np.copyto(part, content)
            else:
                part.bit_generator.state = content
        self.compile()
        return self.call(*arguments)

    def _pays(self, work: float, arguments: tuple[Any, ...]) -> bool:
        if self._price is None:
            self._price = self._price_for(arguments)
        return self._spent + work >= self._price

    def _price_for(self, arguments: tuple[Any, ...]) -> float:
        if is_disabled():
            return math.inf
        if is_in_disk_cache(self._compiled(), arguments):
            return _LOADING
        return _LOADING + self._share * _COMPILING * instructions(self._compiled())

    def _compiled(self) -> Any:
        if self._fast is None:
            self._fast = compiled(self._function, **self._names)
        return self._fast


def _changeable(arguments: tuple[Any, ...]) -> Iterator[Any]:
    """The arrays and generators among the arguments and in their tuples: all that a kernel can change."""
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from _changeable(argument)
        elif isinstance(argument, np.ndarray | np.random.Generator):
            yield argument
