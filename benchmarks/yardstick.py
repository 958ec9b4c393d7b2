"""The C loop of ``yardstick.c``, compiled into a temporary folder where a compiler is at hand."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from risingbandits import RisingBandit

SOURCE = Path(__file__).with_name("yardstick.c")


def c_loop(problem: RisingBandit, horizon: int) -> Callable[[int], float] | None:
    """A function of the seed that plays one run of R-ed-UCB in C; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        library_path = Path(folder) / "yardstick.so"
        flags = ["-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, str(SOURCE), "-o", str(library_path), "-lm"], check=True)
        library = ctypes.CDLL(str(library_path))
    library.red_ucb.restype = ctypes.c_double
    means = np.ascontiguousarray(problem.means(np.arange(1, horizon + 1)))
    history = np.zeros(problem.n_arms * (horizon + 1))
    pulls = np.zeros(problem.n_arms, dtype=np.int64)

    def play(seed: int) -> float:
        return float(
            library.red_ucb(
                ctypes.c_int(problem.n_arms),
                ctypes.c_int64(horizon),
                means.ctypes.data_as(ctypes.c_void_p),
                ctypes.c_double(0.25),
                ctypes.c_double(problem.sigma),
                ctypes.c_double(3.0),
                ctypes.c_uint64(seed + 1),
                history.ctypes.data_as(ctypes.c_void_p),
                pulls.ctypes.data_as(ctypes.c_void_p),
            )
        )

    return play
