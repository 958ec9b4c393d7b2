"""Policies that know the form of the curves, slow and obvious: losses that fall like powers of the pulls."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reference_phases import Play, Reference

Floats = npt.NDArray[np.float64]


def two_halves(losses: Sequence[float], rho: float) -> tuple[float, float]:
    """alpha and beta of alpha n^-rho + beta through the means of the first and of the last half of the losses."""
    n = len(losses)
    h = n // 2
    first, last = losses[:h], losses[n - h :]
    s1 = math.fsum(s**-rho for s in range(1, h + 1))
    s2 = math.fsum(s**-rho for s in range(n - h + 1, n + 1))
    x1, x2 = math.fsum(first) / h, math.fsum(last) / h
    alpha = h * (x1 - x2) / (s1 - s2)
    return alpha, x1 - alpha * s1 / h


def power_losses(
    scale: float,
    rest_sure: bool,
    said: list[str],
    rho: float = 0.5,
    most: float = 1.0,
    delta: float | None = None,
) -> Reference:
    """Explore-then-commit, or REST-SURE, of Cella, Pontil and Gentile; what is decided is ``said``."""

    def run(n_arms: int, horizon: int, rng: np.random.Generator) -> Play:
        risk = 1 / horizon if delta is None else delta
        active = list(range(n_arms))
        losses: list[list[float]] = [[] for _ in range(n_arms)]
        t = tau = 0
        while len(active) > 1:
            for arm in active:
                losses[arm].append(1 - (yield arm))
                t += 1
            tau += 1
            if tau < 2:
                continue
            fits = {arm: two_halves(losses[arm], rho) for arm in active}
            log = math.log(tau * n_arms * horizon / risk)
            bound = scale * 10 * (math.sqrt(most) + 1) ** 2 / (rho * (1 - rho)) * (log / tau + math.sqrt(log / tau))

            def mu(arm: int, n: float, fits: dict[int, tuple[float, float]] = fits) -> float:
                alpha, beta = fits[arm]
                return float(alpha * max(n, 1) ** -rho + beta)

            end = max(horizon - t, 0) + tau
            if not rest_sure:
                assert end == max(horizon - tau * (n_arms - 1), tau)
            leader = min(active, key=lambda arm: mu(arm, end))
            if mu(leader, end) < min(mu(arm, end) for arm in active if arm != leader) - 2 * bound:
                said.append("sure")
                active = [leader]
            elif rest_sure and min(mu(arm, end - len(active) + 1) for arm in active) - 2 * bound > mu(leader, end):
                said.append("learning costs more")
                active = [leader]
            elif rest_sure:
                still = np.arange(tau, end + 1)
                curve = {arm: fits[arm][0] * still**-rho + fits[arm][1] for arm in active}
                kept = [arm for arm in active if not any(np.all(curve[arm] - curve[j] > 2 * bound) for j in active)]
                said.extend(["dropped"] * (len(active) - len(kept)))
                active = kept
        while True:
            yield active[0]

    return run


def ridge_level(losses: Sequence[float], powers: Sequence[float], ridge: float, target: float) -> float:
    """The loss at the target pull by ridge regression on (s/n)^-rho, as least squares with rows for the penalty."""
    n = len(losses)
    rho = np.array([0.0, *powers])
    rows: Floats = (np.arange(1, n + 1)[:, None] / n) ** -rho
    penalty = math.sqrt(ridge) * np.eye(rho.size)
    wanted = np.concatenate([losses, np.zeros(rho.size)])
    theta = np.linalg.lstsq(np.vstack([rows, penalty]), wanted, rcond=None)[0]
    return float(theta @ (target / n) ** -rho)


def model_halving(
    powers: Sequence[float] = (0.5, 1.0), ridge: float = 0.01, target: int | None = None, ceiling: float = 1.0
) -> Reference:
    """Takemori, Umeda and Gopalan: the better half by the predicted loss goes on."""

    def run(n_arms: int, horizon: int, rng: np.random.Generator) -> Play:
        active = list(range(n_arms))
        phases = math.ceil(math.log2(n_arms))
        losses: list[list[float]] = [[] for _ in range(n_arms)]
        for _ in range(phases):
            for _ in range(max(1, horizon // (len(active) * phases))):
                for arm in active:
                    losses[arm].append(ceiling - (yield arm))
            end = {arm: ridge_level(losses[arm], powers, ridge, target or horizon) for arm in active}
            ranked = sorted(active, key=lambda arm: (end[arm], arm))
            active = sorted(ranked[: math.ceil(len(active) / 2)])
        while True:
            yield active[0]

    return run
