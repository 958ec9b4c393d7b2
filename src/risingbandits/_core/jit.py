"""Compilation: the only place of the package that calls Numba's ``njit``.

Three words are used everywhere else.

``@kernel`` marks a small function of numbers and arrays that may run compiled. Kernels call each other freely, across
files; they are inlined into the entry point that calls them and are not cached on their own. ``@rare_kernel`` is the
same, but called instead of inlined.

``compiled(function, **names)`` makes an entry point: the machine code of ``function`` with some of its global names
re-bound, kept in Numba's disk cache. Numba looks only at the time stamp of the file that holds ``function``, so it
would serve old code after an edit of a kernel in another file. The qualified name of an entry point therefore carries
a stamp of the byte code of every kernel it can reach, of the constants that were compiled in, and of Numba's flags.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import re
import signal
import threading
import traceback
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from risingbandits._core.compile_wait import compiled_inside, each_step, no_collections
from risingbandits._core.errors import RisingBanditsError

try:
    import numba
except ImportError:  # the extra `fast` is not installed: everything runs in plain Python
    NUMBA_VERSION = "none"
else:
    NUMBA_VERSION = numba.__version__

F = TypeVar("F", bound=Callable[..., Any])

#: Mistakes of whoever wrote a kernel, in plain Python; arithmetic is left out, as machine code has infinities.
MISTAKES = (AttributeError, TypeError, NameError, LookupError, AssertionError)

_NO_GENERATOR = "; rng is None unless the policy is tagged randomised (or draws_on_tell, if update uses it)"
_CONSTANT_TYPES = (bool, int, float, complex, str, bytes, tuple, np.generic)
_FLAGS_IN_MACHINE_CODE = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT", "ENABLE_AVX")


# Kernels never allocate, so Numba's reference counting is switched off (`_nrt`): where it cannot prove the counts
# away it would cost two atomic operations per array and call, many times the work of a round.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
# Python calls entry points alone. Without these two, every kernel would be compiled with code that takes its arguments
# from Python and from C: for a state of twenty arrays that is far more than the kernel itself.
_UNWRAPPED: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def is_disabled() -> bool:
    """Whether everything runs in plain Python: without Numba, or with NUMBA_DISABLE_JIT."""
    return NUMBA_VERSION == "none" or bool(getattr(numba.config, "DISABLE_JIT", 0))


def kernel(function: F) -> F:
    """Mark ``function`` as a kernel: compiled, inlined where it is called, without the interpreter's lock."""
    return _marked(function, forceinline=True)


def rare_kernel(function: F) -> F:
    """Mark ``function`` as a kernel that is called rather than inlined: large code that a hot loop seldom reaches."""
    return _marked(function)


def _marked(function: F, **options: Any) -> F:
    if is_disabled():
        return function
    return _safe_from_python(numba.njit(**_OPTIONS, **_UNWRAPPED, **options)(function))  # type: ignore[no-any-return]


def _safe_from_python(dispatcher: Any) -> Any:
    """The same kernel, which can be called from Python although its own machine code cannot.

    Without a way in, Numba would jump to address 0. So a call from Python never finds that machine code: it is handed
    a function compiled with a way in, which Numba then calls.
    """
    entry: list[Any] = []

    def with_a_way_in(*arguments: Any) -> Any:
        if not entry:
            entry.append(numba.njit(**_OPTIONS)(dispatcher.py_func))
        return entry[0]

    def keep_for_kernels(compiled_form: Any) -> None:
        dispatcher.overloads[tuple(compiled_form.signature.args)] = compiled_form

    dispatcher._compile_for_args = with_a_way_in
    dispatcher.add_overload = keep_for_kernels
    return dispatcher


def bound_kernel(function: Any, **names: Any) -> Callable[..., Any]:
    """A new kernel: ``function`` with some of its global names re-bound, to other kernels for example."""
    return kernel(_rebind(plain(function), names))


def plain(function: Any) -> Callable[..., Any]:
    """The Python function behind a kernel (the function itself where compilation is disabled)."""
    return getattr(function, "py_func", function)  # type: ignore[no-any-return]


def compiled(function: Any, **names: Any) -> Callable[..., Any]:
    """Machine code of ``function`` with the global ``names`` re-bound, cached on disk and never stale.

    Numba's cache files refer to the classes of the arguments by module and name. A class among ``names`` therefore
    becomes part of the stamp, so that a class of a module that is gone never stands in a file that others read.
    """
    classes = [value for value in names.values() if isinstance(value, type)]
    bound = _rebind(plain(function), names)
    if is_disabled():
        return bound
    bound.__qualname__ = f"{bound.__qualname__}_{source_stamp(bound, *classes)}"
    dispatcher = numba.njit(**_OPTIONS, cache=_can_be_cached(bound, classes))(bound)
    inside = compiled_inside(no_collections, dispatcher)
    inside = compiled_inside(interrupts_between_steps, inside)
    return compiled_inside(compile_errors_as_sentences, inside)  # type: ignore[no-any-return]


def interpreted(function: Any, made: dict[int, Any] | None = None, **names: Any) -> Callable[..., Any]:
    """The same function in plain Python, with every kernel below it in plain Python too: slow and debuggable.

    ``made`` has what was made on the way, by the kernel, which two others may call.
    """
    made = {} if made is None else made
    function, below = _rebind(plain(function), names), dict[str, Any]()
    for name, value in _used_globals(function):
        if _is_kernel(value):
            if id(value) not in made:
                made[id(value)] = interpreted(value, made)
            module, _, attribute = name.rpartition(".")
            if module:  # called as module.kernel(...)
                below.setdefault(module, types.SimpleNamespace(**vars(function.__globals__[module])))
                setattr(below[module], attribute, made[id(value)])
            else:
                below[name] = made[id(value)]
    return _rebind(function, below)


def instructions(function: Any) -> int:
    """How much there is to compile: byte-code instructions of the function and of every kernel below it."""
    return sum(len(reached.__code__.co_code) // 2 for reached, _ in _reachable(function))


def is_in_disk_cache(function: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether Numba would load the machine code of a `compiled` function for such ``arguments`` instead of making it.

    Numba has no public API for this, so if its internals have other names the answer is no.
    """
    try:
        cache = function._cache
        overloads = cache._cache_file._load_index()
        if not overloads:  # before the next line, which starts the code generator
            return False
        types_of = tuple(map(function.typeof_pyval, arguments))
        return cache._index_key(types_of, function.targetctx.codegen()) in overloads
    except Exception:  # also a damaged index, which Numba itself will complain about
        return False


def source_stamp(function: Any, *classes: type) -> str:
    """A short hash of everything that determines the machine code of ``function`` for arguments of ``classes``.

    It covers the byte code of all kernels that the function can reach, as loaded (a file may have changed since), the
    options they are compiled with, the values of the constants they use and Numba's flags.
    """
    digest = hashlib.sha256(repr(sorted(_OPTIONS.items())).encode())
    for flag in _FLAGS_IN_MACHINE_CODE:
        digest.update(f"{flag}={getattr(numba.config, flag, None)};".encode())
    for known in classes:
        digest.update(f"{known.__module__}.{known.__qualname__};".encode())
    for reached, options in _reachable(function):
        digest.update(f"{reached.__module__}.{reached.__name__};{options};{reached.__defaults__};".encode())
        _add_code(digest, reached.__code__)
        for name, value in _used_globals(reached):
            if isinstance(value, _CONSTANT_TYPES):
                digest.update(f"{name}={value!r};".encode())
            elif isinstance(value, np.ndarray):
                digest.update(value.tobytes())
    return digest.hexdigest()[:16]


def _add_code(digest: Any, code: types.CodeType) -> None:
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount)).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _add_code(digest, constant)
        elif isinstance(constant, frozenset):  # its order changes from process to process
            digest.update(repr(sorted(map(repr, constant))).encode())
        else:
            digest.update(repr(constant).encode())


def _rebind(function: Callable[..., Any], names: dict[str, Any]) -> types.FunctionType:
    assert isinstance(function, types.FunctionType)
    namespace = {**function.__globals__, **names}
    bound = types.FunctionType(
        function.__code__, namespace, function.__name__, function.__defaults__, function.__closure__
    )
    bound.__module__ = function.__module__
    bound.__qualname__ = function.__qualname__
    bound.__doc__ = function.__doc__
    return bound


def _is_kernel(value: Any) -> bool:
    """Compiled functions, and the package's own plain ones where compilation is disabled."""
    if hasattr(value, "py_func"):
        return True
    return is_disabled() and isinstance(value, types.FunctionType) and hasattr(value, "__code__")


def _reachable(function: Any) -> list[tuple[types.FunctionType, str]]:
    """The function and every kernel below it with its compilation options, in a fixed order."""
    found: dict[int, tuple[types.FunctionType, str]] = {}
    waiting: list[Any] = [function]
    while waiting:
        candidate = waiting.pop()
        code = plain(candidate)
        if id(code) in found or not isinstance(code, types.FunctionType):
            continue
        found[id(code)] = (code, repr(sorted(getattr(candidate, "targetoptions", {}).items(), key=str)))
        waiting.extend(value for _, value in _used_globals(code) if _is_kernel(value))
    return sorted(found.values(), key=lambda pair: (pair[0].__module__ or "", pair[0].__qualname__, pair[1]))


def _used_globals(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Global names (also ``module.name``) and closure variables that the function's code refers to."""
    namespace = function.__globals__
    names, attributes = _names_in(function.__code__)
    for name in names:
        if name not in namespace:
            continue
        value = namespace[name]
        if isinstance(value, types.ModuleType):
            if value.__name__.split(".")[0] in ("numpy", "math"):
                continue
            for attribute in attributes:
                if hasattr(value, attribute):
                    yield f"{name}.{attribute}", getattr(value, attribute)
        else:
            yield name, value
    if function.__closure__:
        yield from sorted(inspect.getclosurevars(function).nonlocals.items())


@cache  # as many entries as there are kernels; reading byte code takes a tenth of a millisecond each
def _names_in(code: types.CodeType) -> tuple[list[str], list[str]]:
    """The global names and the attributes that byte code loads, in alphabetical order."""
    loads = [(each.opname, each.argval) for each in dis.get_instructions(code) if each.opname.startswith("LOAD_")]
    names = {name for load, name in loads if load in ("LOAD_GLOBAL", "LOAD_NAME")}
    attributes = {name for load, name in loads if load in ("LOAD_ATTR", "LOAD_METHOD")}
    return sorted(names), sorted(attributes)


def _can_be_cached(function: types.FunctionType, classes: list[type]) -> bool:
    """Only code of importable modules with source files: anything else would miss and leave files behind."""
    return all(known.__module__ != "__main__" and "<locals>" not in known.__qualname__ for known in classes) and all(
        reached.__module__ not in (None, "__main__") and Path(reached.__code__.co_filename).is_file()
        for reached, _ in _reachable(function)
    )


@contextmanager
def interrupts_between_steps() -> Iterator[None]:
    """Hold SIGINT back; its handler is called before the next step of the compiler, or at the end of the block.

    LLVM calls back into Python. An exception that a signal raises in such a call is printed and lost, and the program
    runs on; one raised while the cache is written leaves half a file.

    Only the main thread receives signals: in other threads, or without a handler for SIGINT, nothing is done.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    held: list[FrameType | None] = []

    def hand_over() -> None:
        if held and threading.current_thread() is threading.main_thread():  # others may compile meanwhile
            frame = held.pop()
            held.clear()
            handler(signal.SIGINT, frame)

    signal.signal(signal.SIGINT, lambda number, frame: held.append(frame))
    try:
        with each_step(begins=hand_over):
            yield
    finally:
        signal.signal(signal.SIGINT, handler)
        hand_over()


# -- what is wrong with a kernel, in one sentence that names it, its file and the line ---------------------------------


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
