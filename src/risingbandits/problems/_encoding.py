"""From curves to the arrays of an ``Environment``, and the compiled entry points that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from risingbandits._core.entry_points import EntryPoint
from risingbandits._core.types import Floats, Ints
from risingbandits.problems import _kernels, _sums
from risingbandits.problems._kernels import BERNOULLI, N_PARAMETERS, NO_NOISE, Environment

if TYPE_CHECKING:
    from risingbandits.problems._curve import Curve

# A table larger than the processor's caches is no faster than evaluating the curve; this also bounds the memory.
TABLE_BYTES = 32 * 2**20

_fill_curves = EntryPoint(_sums.fill_values, share=1.0, value_at=_kernels.curve_value)
_fill_increments = EntryPoint(_sums.fill_values, share=1.0, value_at=_kernels.curve_increment)
_fill_means = EntryPoint(_sums.fill_values, share=1.0, value_at=_kernels.effective_mean)
_fill_sums = EntryPoint(_sums.fill_sums, share=1.0)
_cumulate_data = EntryPoint(_sums.cumulate_data, share=1.0)
_cumulate_means = EntryPoint(_sums.cumulate_means, share=1.0)
_cumulate_best = EntryPoint(_sums.cumulate_best, share=1.0)

_WORK = 2e-6  # seconds that one value takes in plain Python


def encode(
    curves: Sequence[Curve], noise: int = NO_NOISE, noise_scale: float = 0.0, restless: bool = False
) -> Environment:
    """The environment of ``curves``, without a table of means."""
    n_arms = len(curves)
    params = np.zeros((n_arms, N_PARAMETERS))
    for row, curve in zip(params, curves, strict=True):
        row[: len(curve.parameters)] = curve.parameters
    tables = [curve.table for curve in curves]
    length = np.array([0 if table is None else table.size for table in tables], np.int64)
    # Compiled code needs an array that is never empty; nothing reads the one value of a problem without tables.
    data = np.concatenate([table for table in tables if table is not None] or [np.zeros(1)])
    if noise >= BERNOULLI:
        data = np.clip(data, 0.0, 1.0)
    return Environment(
        family=np.array([curve.code for curve in curves], np.int64),
        params=params,
        data=data,
        data_start=np.cumsum(length) - length,
        data_length=length,
        table=np.empty((n_arms, 0)),
        noise=int(noise),
        noise_scale=float(noise_scale),
        restless=int(restless),
    )


def with_table(env: Environment, horizon: int) -> Environment:
    """The same environment with the means of the first pulls tabulated, as many as the memory budget allows."""
    n_columns = min(horizon, TABLE_BYTES // (8 * env.family.size))
    return env._replace(table=means_at(env, np.arange(1, n_columns + 1)))


def _filled(fill: EntryPoint, env: Environment, pulls: Ints) -> Floats:
    out = np.empty((env.family.size, pulls.size))
    fill.run(_WORK * out.size, env, pulls, out)
    return out


def curves_at(env: Environment, pulls: Ints) -> Floats:
    """Curves, (K, len(pulls))."""
    return _filled(_fill_curves, env, pulls)


def increments_at(env: Environment, pulls: Ints) -> Floats:
    """Increments of the curves, (K, len(pulls))."""
    return _filled(_fill_increments, env, pulls)


def means_at(env: Environment, pulls: Ints) -> Floats:
    """Effective means, (K, len(pulls))."""
    return _filled(_fill_means, env, pulls)


def data_sums(env: Environment) -> Floats:
    """Running sums of the tabulated curves, in the layout of ``env.data``."""
    out = np.zeros(env.data.size)
    _cumulate_data.run(_WORK * out.size, env, out)
    return out


def curve_sums(env: Environment, sums: Floats, counts: Ints) -> Floats:
    """Sums of the first ``counts`` values of the curves; ``counts`` is (any, K), ``sums`` is ``data_sums(env)``."""
    out = np.empty(counts.shape)
    _fill_sums.run(_WORK * out.size, env, sums, counts, out)
    return out


def clipped_sums(env: Environment, arm: int, n: int) -> Floats:
    """Sums of the first 1..n effective means of one arm."""
    out = np.empty(n)
    _cumulate_means.run(_WORK * out.size, env, arm, out)
    return out


def best_sums(env: Environment, n: int) -> Floats:
    """Sums of the best effective means of rounds 1..n, where all arms move with the round."""
    out = np.empty(n)
    _cumulate_best.run(_WORK * env.family.size * n, env, out)
    return out
