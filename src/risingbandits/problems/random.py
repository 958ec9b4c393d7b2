"""Random problems, reproducible from a seed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_finite, check_positive_int
from risingbandits.problems.bandit import RisingBandit
from risingbandits.problems.base import Curve
from risingbandits.problems.curves import Exponential, Polynomial, PowerLaw
from risingbandits.problems.noise import Gaussian, Noise
from risingbandits.problems.triggers import TriggerGraph

Seed: TypeAlias = int | np.random.SeedSequence | np.random.Generator

_DEFAULT_NOISE = Gaussian(0.1)


def random_problem(
    n_arms: int | None = None, horizon: int = 50_000, seed: Seed = 0, noise: Noise = _DEFAULT_NOISE
) -> RisingBandit:
    """Exponential and polynomial curves with random parameters, as in the problems random-2 to random-6.

    Draws, in this order: K uniform in 2..15 unless given; then for each arm c = U(0, 1) clipped to [0.01, 0.99], b
    uniform in 2..T, and a fair coin: heads (U(0, 1) < 1/2) ``Exponential(c, a/b)`` with a uniform in 2..5, tails
    ``Polynomial(c, b, rho)`` with rho = max(0.4, U(0, 1)).

    Parameters
    ----------
    n_arms : int, optional
        Number of arms K.
    horizon : int
        Rounds T, at least 2; curves are slower for larger T.
    seed : int, SeedSequence or Generator
        Source of the draws.
    noise : Noise
        Noise of the rewards.

    Examples
    --------
    >>> random_problem(3, seed=1).curves[0]
    Exponential(limit=0.5118216247002567, rate=0.00013241876109007123, start=0.0)
    """
    horizon = check_positive_int("horizon", horizon, 2)
    rng = np.random.default_rng(seed)
    n_arms = int(rng.integers(2, 16)) if n_arms is None else check_positive_int("n_arms", n_arms)
    curves: list[Curve] = []
    for _ in range(n_arms):
        limit = min(max(rng.random(), 0.01), 0.99)
        scale = int(rng.integers(2, horizon + 1))
        if rng.random() < 0.5:
            curves.append(Exponential(limit, int(rng.integers(2, 6)) / scale))
        else:
            curves.append(Polynomial(limit, scale, max(0.4, rng.random())))
    return RisingBandit(curves, noise, horizon, _name("random", n_arms, seed))


def power_law_problem(
    n_arms: int, horizon: int = 50_000, seed: Seed = 0, noise: Noise = _DEFAULT_NOISE
) -> RisingBandit:
    """Learning curves c - a n^(-b) with, drawn in this order, c in [0.3, 0.95], b in [0.2, 1] and a in c [0.3, 1].

    Examples
    --------
    >>> power_law_problem(4, 2_000, seed=1).is_concave()
    ShapeCheck(concave: holds)
    """
    n_arms = check_positive_int("n_arms", n_arms)
    rng = np.random.default_rng(seed)
    curves = []
    for _ in range(n_arms):
        limit = rng.uniform(0.3, 0.95)
        exponent = rng.uniform(0.2, 1.0)
        curves.append(PowerLaw(limit, limit * rng.uniform(0.3, 1.0), exponent))
    return RisingBandit(curves, noise, horizon, _name("power-law", n_arms, seed))


def exponential_problem(
    n_arms: int, horizon: int = 50_000, seed: Seed = 0, noise: Noise = _DEFAULT_NOISE
) -> RisingBandit:
    """Learning curves c - (c - s) e^(-n/tau) with random parameters.

    Drawn in this order: c in [0.3, 0.95], c - s in c [0.3, 1] (the same rise as in `power_law_problem`), and tau
    log-uniform in [50, T/4]. T is at least 200.

    Examples
    --------
    >>> exponential_problem(4, 2_000, seed=1).is_non_decreasing()
    ShapeCheck(non-decreasing: holds)
    """
    n_arms = check_positive_int("n_arms", n_arms)
    horizon = check_positive_int("horizon", horizon, 200)
    rng = np.random.default_rng(seed)
    curves = []
    for _ in range(n_arms):
        limit = rng.uniform(0.3, 0.95)
        rise = limit * rng.uniform(0.3, 1.0)
        tau = math.exp(rng.uniform(math.log(50), math.log(horizon / 4)))
        curves.append(Exponential(limit, 1 / tau, start=limit - rise))
    return RisingBandit(curves, noise, horizon, _name("exponential", n_arms, seed))


def graph_problem(
    n_arms: int,
    horizon: int = 50_000,
    seed: Seed = 0,
    noise: Noise = _DEFAULT_NOISE,
    edges: float = 0.3,
    cliques: int | None = None,
) -> RisingBandit:
    """The learning curves of `power_law_problem` on arms that make each other rise, by a random `TriggerGraph`.

    Parameters
    ----------
    n_arms, horizon, seed, noise
        As in `power_law_problem`, which has the same curves.
    edges : float
        The chance that a pair of arms has an edge, in [0, 1]; without edges arms are rested, with all of them restless.
    cliques : int, optional
        Make this many disjoint cliques instead, none of them empty: their best policy is known. Every further arm is in
        any of them with the same chance.

    Examples
    --------
    >>> graph_problem(6, 2_000, seed=1).triggers
    TriggerGraph(6 arms, 4 edges)
    >>> problem = graph_problem(6, 2_000, seed=1, cliques=2)
    >>> problem.triggers.components, problem.best_policy()
    (((0, 3, 4), (1, 2, 5)), 'one clique')
    """
    n_arms = check_positive_int("n_arms", n_arms)
    chance = check_finite("edges", edges, minimum=0, maximum=1)
    rng = np.random.default_rng(seed)
    problem = power_law_problem(n_arms, horizon, rng, noise)
    if cliques is None:
        above = np.triu(rng.random((n_arms, n_arms)) < chance, 1)
        graph = TriggerGraph(above | above.T | np.eye(n_arms, dtype=bool))
    else:
        groups = check_positive_int("cliques", cliques)
        if groups > n_arms:
            raise RisingBanditsError(f"cliques must be at most the number of arms, {n_arms}, got {groups}.")
        group_of = np.append(np.arange(groups), rng.integers(0, groups, n_arms - groups))[rng.permutation(n_arms)]
        graph = TriggerGraph(group_of[:, None] == group_of)
    return replace(problem, name=_name("graph", n_arms, seed), triggers=graph)


def _name(kind: str, n_arms: int, seed: Seed) -> str:
    return f"{kind}-{n_arms}arms" + (f"-seed{seed}" if isinstance(seed, (int, np.integer)) else "")
