"""What theory promises about a policy on a problem, and which of its assumptions they do not meet."""

from __future__ import annotations

import math
from dataclasses import replace

from risingbandits._core.errors import RisingBanditsError
from risingbandits.policies import Policy, get_policy
from risingbandits.policies.commit.commit_ucb import CommitUCB
from risingbandits.policies.rising.red_ucb import REdUCB
from risingbandits.problems import RisingBandit
from risingbandits.theory.complexity._problems import horizon_of
from risingbandits.theory.upper_bounds._commit_lines import commit_confidence
from risingbandits.theory.upper_bounds._commit_ucb import commit_bound, commit_bound_risk
from risingbandits.theory.upper_bounds._red_ucb import Bound, deterministic_bound, stochastic_bound


def predicted_regret(
    problem: RisingBandit, horizon: int | None = None, policy: str | Policy = "red-ucb", q: float | None = None
) -> Bound:
    """What theory promises about ``policy``: the bound of the theorem about it, with its own settings.

    R-ed-UCB has its paper's theorems, without and with noise. CommitUCB has those of the page "What is proved": for
    ``risk=None, recheck=0`` the smaller of Theorems 1 and 2, otherwise Theorem 3. Every assumption that can be checked
    is compared with the problem and the settings; those that are not met are listed in ``broken``, and the value is
    then what the formula gives, not a promise. That no arm is masked and that rewards come before the next choice
    cannot be seen here.

    Parameters
    ----------
    problem : RisingBandit
        The problem. If an arm falls, there is no theorem: the value is infinite.
    horizon : int, optional
        T; the problem's own by default.
    policy : str or Policy
        R-ed-UCB or CommitUCB.
    q : float, optional
        For R-ed-UCB; by default the one with the smallest bound.

    Examples
    --------
    >>> from risingbandits import RisingBandit, get_problem
    >>> from risingbandits.policies import CommitUCB, REdUCB
    >>> from risingbandits.problems import NoNoise, PowerLaw, ConstantCurve
    >>> easy = RisingBandit([PowerLaw(0.8, 0.8, 2), ConstantCurve(0.5)], NoNoise(), horizon=1_000_000)
    >>> bound = predicted_regret(easy)
    >>> round(bound.value), round(bound.q, 2), bound.vacuous, bound.broken
    (2755, 0.38, False, ())
    >>> predicted_regret(get_problem("paper-2arms"), policy=REdUCB(sigma=0)).broken
    ('sigma is at least the noise (0 < 0.1)',)
    >>> bound = predicted_regret(get_problem("paper-2arms"), policy=CommitUCB(risk=None, recheck=0))
    >>> round(bound.value), bound.form, bound.broken
    (10928, 'count', ())
    """
    known = get_policy(policy) if isinstance(policy, str) else policy
    last = horizon_of(problem, horizon)
    broken: list[str] = []
    if not isinstance(known, REdUCB | CommitUCB):
        raise RisingBanditsError(f"policy must be red-ucb or commit-ucb, which have theorems, got {known!r}.")
    if not (problem.rested or problem.restless):
        why = f"arms are rested (they move with the {problem.moves_with})"
        return Bound(math.inf, None, {}, math.inf, (why, *broken))
    falls = problem.is_non_decreasing(max(last, 2))
    if not falls:
        where = f"{falls.arm_name!r} falls after pull {falls.first_violation}"
        return Bound(math.inf, None, {}, math.inf, (f"arms never fall ({where})", *broken))
    sigma = float(known.sigma) if isinstance(known.sigma, int | float) else problem.sigma
    if isinstance(known.sigma, str):
        broken.append(f"sigma is known (sigma={known.sigma!r} estimates it)")
    elif sigma < problem.sigma:
        broken.append(f"sigma is at least the noise ({sigma:g} < {problem.sigma:g})")
    if isinstance(known, REdUCB):
        bound = _of_red_ucb(problem, last, known, sigma, q, broken)
    else:
        bound = _of_commit_ucb(problem, last, known, sigma, broken)
    return replace(bound, broken=(*bound.broken, *broken))


def _of_red_ucb(
    problem: RisingBandit, last: int, policy: REdUCB, sigma: float, q: float | None, broken: list[str]
) -> Bound:
    if getattr(policy, "triggers", None) is not None:
        broken.append("the index is that of the theorem (triggers)")
    if sigma == 0.0:
        return deterministic_bound(problem, last, q)
    return stochastic_bound(problem, last, policy.eps, policy.alpha, sigma, q)


def _of_commit_ucb(problem: RisingBandit, last: int, policy: CommitUCB, sigma: float, broken: list[str]) -> Bound:
    arms, cap, growth = problem.n_arms, float(policy.cap), float(policy.growth)
    widths = policy.widths
    if widths == "auto":
        widths = "gaussian" if problem.noise.mean_range is None else "kl"
    if widths != "gaussian":
        broken.append(f"widths are Gaussian ({widths})")
    if getattr(policy, "_state", None) is not None and policy.horizon is None:
        broken.append("the horizon is known (the policy was reset without one)")
    delta: float | None = getattr(policy, "confidence", None)
    z = math.sqrt(2.0 * math.log(last))
    if delta is not None and last >= 2:
        z = commit_confidence(arms, last, delta, growth=growth)
    if policy.risk is None and policy.recheck == 0.0:
        bound = commit_bound(problem, last, sigma, z, cap=cap, growth=growth)
    else:
        bound = commit_bound_risk(problem, last, sigma, z, policy.risk is not None, policy.recheck > 0.0, cap, growth)
        if sigma > 0.0 and not isinstance(policy.sigma, str):
            broken.append("sigma is kept (it is replaced if rewards contradict it, except with risk=None, recheck=0)")
    stated = 0.0 if delta is None else 1.0 - delta
    if arms > 1 and (bound.probability < stated or bound.probability <= 0.0):
        broken.append(f"lines hold with a stated probability (z = {z:.2f} gives {max(bound.probability, 0):.3g})")
    return bound
