"""Tables about theory: complexity of a problem, and bounds and rates of the regret on it."""

from __future__ import annotations

import math

import numpy as np

from risingbandits._core.tables import TextTable
from risingbandits.problems import RisingBandit
from risingbandits.theory.complexity._problems import (
    average_rewards,
    cumulative_increment,
    decay_exponent,
    gaps,
    oracle,
)
from risingbandits.theory.complexity._rates import regret_rate
from risingbandits.theory.upper_bounds._commit_ucb import best_z, commit_bound
from risingbandits.theory.upper_bounds._red_ucb import Bound, deterministic_bound, stochastic_bound

_POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
_MOST_ARMS = 20
_MOST_PLANNED = 50  # arms for which the best z is worth looking for


def complexity_table(problem: RisingBandit, horizon: int) -> TextTable:
    """What makes the problem hard, as name and value."""
    best, value = oracle(problem, horizon)
    averages, below = average_rewards(problem, horizon), gaps(problem, horizon)
    order = np.argsort(below, kind="stable")
    increments = cumulative_increment(problem, horizon, np.array(_POWERS))
    rows = [
        ("arms K, noise sigma", f"{problem.n_arms}, {problem.sigma:g}"),
        ("best arm, J*", f"{problem.arm_names[best]}, {value:,.1f}"),
        ("total variation V_T", f"{increments[-1]:.6g}"),
        *((f"cumulative increment U(T, {q:g})", f"{u:,.6g}") for q, u in zip(_POWERS, increments, strict=True)),
    ]
    if problem.n_arms > 1:
        second = int(order[1])
        rows.append(("smallest gap", f"{below[second]:.6g} ({problem.arm_names[second]})"))
    rows += [
        (f"average reward of {problem.arm_names[arm]}", f"{averages[arm]:.6g}, gap {below[arm]:.6g}")
        for arm in order[:_MOST_ARMS]
    ]
    records = [
        {"quantity": "arms", "value": problem.n_arms},
        {"quantity": "sigma", "value": problem.sigma},
        {"quantity": "J*", "value": value, "arm": problem.arm_names[best]},
        {"quantity": "total variation", "value": increments[-1]},
        *(
            {"quantity": "cumulative increment", "q": q, "value": u}
            for q, u in zip(_POWERS, increments.tolist(), strict=True)
        ),
        *(
            {"quantity": "average reward", "arm": problem.arm_names[arm], "value": averages[arm], "gap": below[arm]}
            for arm in order
        ),
    ]
    title = f"{problem.name or 'problem'}, T = {horizon:,}"
    return TextTable(("quantity", "value"), rows, title=title, records=records)


def bounds_table(problem: RisingBandit, horizon: int, eps: float, alpha: float) -> TextTable:
    """Both theorems on R-ed-UCB at their best q, and the least of those on CommitUCB(risk=None, recheck=0)."""
    noisy = f"sigma {problem.sigma:g}"
    bounds = {
        "R-ed-UCB, without noise": deterministic_bound(problem, horizon),
        f"R-ed-UCB, {noisy}, eps {eps:g}, alpha {alpha:g}": stochastic_bound(problem, horizon, eps, alpha),
        "CommitUCB, without noise": commit_bound(problem, horizon, sigma=0.0),
    }
    if problem.sigma > 0.0:
        bound = commit_bound(problem, horizon)
        bounds[f"CommitUCB, {noisy}, z {bound.z:.2f}"] = bound
        if problem.n_arms <= _MOST_PLANNED:
            z = best_z(problem, horizon)
            bounds[f"CommitUCB, {noisy}, best z {z:.2f}"] = commit_bound(problem, horizon, z=z)
    rows = [
        (name, f"{bound.value:,.0f}", _form(bound), _terms(bound), f"{bound.trivial:,.0f}", _word(bound))
        for name, bound in bounds.items()
    ]
    header = ("theorem", "regret <=", "form", "of which", "of any policy <=", "verdict")
    records = [
        {
            "theorem": name,
            "bound": bound.value,
            "form": bound.form,
            "q": bound.q,
            "terms": bound.terms,
            "trivial": bound.trivial,
            "vacuous": bound.vacuous,
            "not_met": bound.broken,
        }
        for name, bound in bounds.items()
    ]
    return TextTable(header, rows, frozenset({1, 4}), "Upper bounds", records)


def _form(bound: Bound) -> str:
    return bound.form if bound.q is None else f"{bound.form}, q {bound.q:.3f}"


def _terms(bound: Bound) -> str:
    return ", ".join(f"{name} {value:,.0f}" for name, value in bound.terms.items())


def _word(bound: Bound) -> str:
    word = "vacuous" if bound.vacuous else f"{100 * bound.value / bound.trivial:.1f} % of the trivial one"
    return word + (f"; not met: {', '.join(bound.broken)}" if bound.broken else "")


def rates_table(problem: RisingBandit, horizon: int) -> TextTable:
    """Predicted rates of R-ed-UCB's regret, for the decay of the increments where they matter, at T/K pulls."""
    pulls = max(2, horizon // problem.n_arms)
    c = decay_exponent(problem, pulls)
    rows, records = [], []
    for setting in ("deterministic", "stochastic"):
        if math.isinf(c) or c <= 0.0:
            rate, shape = regret_rate("exponential", 1.0, setting), "nothing rises any more"
            if c <= 0.0:
                rate, shape = regret_rate("polynomial", 1.0, setting), "straight lines"
        else:
            rate, shape = regret_rate("polynomial", c, setting), f"l^-{c:.2f}"
        rows.append((setting, shape, rate.text, f"{rate.exponent:.3f}"))
        records.append({"setting": setting, "decay": shape, "rate": rate.text, "exponent": rate.exponent})
    header = ("setting", "largest increment", "regret of order", "exponent of T")
    title = f"Rates, from the increments around pull T/K = {pulls:,}"
    return TextTable(header, rows, frozenset({3}), title, records)
