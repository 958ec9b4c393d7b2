"""Tables about policies, problems, recorded runs, replays and checks of measured curves."""

from __future__ import annotations

import csv
import inspect
import io
import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from risingbandits._core.stats import half_width
from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats
from risingbandits.policies import Policy, policy_class
from risingbandits.policies.explanation import counted
from risingbandits.policies.objectives import Objective
from risingbandits.problems import get_problem, problem_names
from risingbandits.problems.presets import problem_description

if TYPE_CHECKING:
    from risingbandits.logs import Curves, Recording
    from risingbandits.logs.replay import Replay
    from risingbandits.theory.estimators._measured import CurveReport, ShapeTest
    from risingbandits.theory.estimators._questions import Verdict

_MOST_RUNS = 100  # that are listed for people; --json has all


def policies_table(names: Sequence[str]) -> TextTable:
    """Policies by their names, with their tags."""
    rows, records = [], []
    for name in names:
        policy = policy_class(name)
        said, tags = policy.summary or _first_sentence(policy), _tags(policy)
        rows.append((name, policy.__name__, said, policy.objective, policy.verified, ", ".join(tags)))
        keys = ("name", "class", "summary", "objective", "verified", "tags")
        records.append(dict(zip(keys, (*rows[-1][:-1], tags), strict=True)))
    return TextTable(("name", "class", "what it does", "objective", "how verified", "tags"), rows, records=records)


def parameters_table(policy: type[Policy]) -> TextTable:
    """The parameters of a policy with their defaults and meaning, read from its signature and docstring."""
    meanings = _documented_parameters(policy)
    rows, records = [], []
    for name, each in inspect.signature(policy).parameters.items():
        required = each.default is each.empty
        kind, meaning = meanings.get(name, ("", ""))
        rows.append((name, "required" if required else repr(each.default), kind, meaning))
        record = {"parameter": name, "required": required, "default": None if required else _json_value(each.default)}
        records.append(record | {"type": kind, "meaning": meaning})
    return TextTable(("parameter", "default", "type", "meaning"), rows, records=records)


def _json_value(default: Any) -> Any:
    """A default as it is, or as written if JSON has nothing like it."""
    return default if default is None or isinstance(default, bool | int | float | str) else repr(default)


def problems_table() -> TextTable:
    """All named problems."""
    rows, records = [], []
    for name in problem_names():
        problem = get_problem(name)
        best = problem.arm_names[problem.oracle_arm()]
        noise = f"{type(problem.noise).__name__} {problem.sigma:g}"
        rows.append((name, str(problem.n_arms), f"{problem.horizon:,}", noise, best, problem_description(name)))
        record = {"name": name, "arms": problem.n_arms, "horizon": problem.horizon, "best_arm": best}
        record |= {"noise": type(problem.noise).__name__, "sigma": problem.sigma}
        records.append(record | {"description": problem_description(name)})
    header = ("name", "K", "T", "noise", "best arm", "what it is")
    return TextTable(header, rows, frozenset({1, 2}), records=records)


def _tags(policy: type[Policy]) -> list[str]:
    """The tags that differ from an ordinary policy's, in words."""
    tags = []
    if policy.randomised:
        tags.append("randomised")
    tags.append("needs the horizon" if policy.needs_horizon else "anytime")
    if policy.reward_range is not None:
        tags.append("rewards in [{:g}, {:g}]".format(*policy.reward_range))
    return tags


def _first_sentence(policy: type[Policy]) -> str:
    return inspect.cleandoc(policy.__doc__ or "").split("\n\n")[0].replace("\n", " ").rstrip(".")


def _documented_parameters(policy: type[Policy]) -> dict[str, tuple[str, str]]:
    """Type and meaning of each parameter in the "Parameters" sections of a policy and of its base classes."""
    found: dict[str, tuple[str, list[str]]] = {}
    current: list[str] = []
    for line in chain.from_iterable(_sections(kind).get("Parameters", ()) for kind in reversed(policy.__mro__)):
        if line and not line.startswith(" "):
            name, _, kind = line.partition(" : ")
            current = []
            found[name] = (kind, current)
        elif line.strip():
            current.append(line.strip())
    return {name: (kind, " ".join(text).replace("``", "")) for name, (kind, text) in found.items()}


def _sections(kind: type) -> dict[str, list[str]]:
    """The lines of a docstring by the titles above them, which are underlined with dashes; "" for the first ones."""
    sections: dict[str, list[str]] = {"": []}
    lines = sections[""]
    for line in (inspect.getdoc(kind) or "").splitlines():
        if line and set(line) == {"-"}:
            lines = sections.setdefault(lines.pop(), [])
        else:
            lines.append(line)
    return sections


def docstring_head(policy: type[Policy]) -> str:
    """A docstring up to its first section; where it has formulas, only its paragraphs without any."""
    text = "\n".join(_sections(policy)[""]).strip()
    if "math:" in text:
        plain = [part for part in text.split("\n\n") if "math:" not in part]
        whole = [part for part in plain if part[:1].isupper() and part.endswith(".")]  # no formula before or after it
        where = f"How it works, with formulas: help({policy.__name__}) in Python, or its page in the documentation."
        text = "\n\n".join([*whole, where])
    return text.replace("``", "")


def check_table(reports: Sequence[CurveReport]) -> TextTable:
    """One row for each measured curve and shape."""
    rows, records = [], []
    for report in reports:
        sd = f"{report.noise:.3g}{' (estimated)' if report.noise_estimated else ''}"
        for test in (report.rising, report.concave):
            p_value = "-" if math.isnan(test.p_value) else f"{test.p_value:.3f}"
            verdict = f"not {test.shape}" if test.violated else "yes"
            rows.append((report.name, test.shape, verdict, p_value, _where(test), f"{test.distance:.3g}", sd))
            record = {"arm": report.name, "shape": test.shape, "holds": not test.violated, "p": test.p_value}
            record |= {"first": test.first, "last": test.last, "amount": test.amount, "distance": test.distance}
            records.append(record | {"noise": report.noise, "noise_estimated": report.noise_estimated})
    header = ("arm", "shape", "holds", "p", "worst violation", "rms distance of the fit", "noise sd")
    return TextTable(header, rows, frozenset({3, 5}), records=records)


def verdicts_table(verdicts: Sequence[Verdict]) -> TextTable:
    """One row for each question about all curves."""
    records = [dict(zip(("question", "answer", "meaning"), verdict, strict=True)) for verdict in verdicts]
    return TextTable(("question", "answer", "what it means"), list(verdicts), records=records)


def _where(test: ShapeTest) -> str:
    if test.first == 0:
        return "none"
    word = "falls" if test.shape == "rising" else "sags"
    return f"{word} by {test.amount:.3g} between pulls {test.first:,} and {test.last:,}"


def outcome_table(outcome: Replay) -> TextTable:
    """One row for each policy, the best one for the objective first; with several orders means and 95 % intervals."""
    objective = Objective.get(outcome.objective)
    rows, records = [], []
    for label in sorted(outcome.reward, key=lambda label: float(objective.replay_regret(outcome, label).mean())):
        pulls = outcome.pulls[label]
        arm, times = Counter(outcome.recommended[label].tolist()).most_common(1)[0]
        record: dict[str, Any] = {
            "policy": label,
            "pulls": pulls.sum(axis=1).mean(),
            "arms_started": (pulls > 0).sum(axis=1).mean(),
            "recommended": outcome.arms[arm],
            "recommended_share": times / outcome.orders,
        }
        figures = {
            "reward": outcome.reward[label],
            "regret": outcome.regret(label),
            "final_value": outcome.final[outcome.recommended[label]],
            "final_regret": outcome.recommendation_regret(label),
        }
        for name, values in figures.items():
            record |= {name: values.mean(), f"{name}_half_width": half_width(values)}
        records.append(record)
        often = "" if times == outcome.orders else f" ({100 * times / outcome.orders:.0f} %)"
        spent = (f"{record['pulls']:,.0f}", f"{record['arms_started']:.1f}".removesuffix(".0"))
        reward, regret, final, lost = map(_mean, figures.values())
        rows.append((label, *spent, reward, regret, outcome.arms[arm] + often, final, lost))
    reward = "loss per pull" if outcome.direction == "minimize" else "reward per pull"
    header = ("policy", "pulls", "arms started", reward, "regret per pull", "recommends", "final value", "its regret")
    best = outcome.arms[outcome.best_arm]
    orders = "the arms as listed" if outcome.orders == 1 else f"{outcome.orders} orders of the arms"
    arms = "1 arm" if len(outcome.arms) == 1 else f"{len(outcome.arms)} arms"
    title = (
        f"{arms}, {counted(outcome.budget)}, {orders}; best single arm {outcome.best_constant:.4f} per pull, best in "
        f"the end {best} with {outcome.final[outcome.best_arm]:.4f}"
    )
    return TextTable(header, rows, frozenset({1, 2, 3, 4, 6, 7}), title, records)


def spending_table(outcome: Replay) -> TextTable:
    """Mean pulls that each policy spent on each arm, the arms that are best in the end first."""
    sign = 1 if outcome.direction == "minimize" else -1
    order = np.argsort(sign * outcome.final, kind="stable")
    shares = [outcome.pulls[label].mean(axis=0) for label in outcome.pulls]
    rows = [
        (outcome.arms[arm], f"{outcome.final[arm]:.4f}", *(f"{share[arm]:,.1f}".removesuffix(".0") for share in shares))
        for arm in order
    ]
    header = ("arm", "final value", *outcome.pulls)
    records = [
        {
            "arm": outcome.arms[arm],
            "final_value": outcome.final[arm],
            "pulls": {label: share[arm] for label, share in zip(outcome.pulls, shares, strict=True)},
        }
        for arm in order
    ]
    return TextTable(header, rows, frozenset(range(1, len(header))), "Pulls spent on each arm", records)


def replay_csv(outcome: Replay) -> str:
    """Every order of every policy in one line: order, policy, reward, regrets, the recommended arm, pulls of each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = ["policy", "order", "reward_per_pull", "regret_per_pull", "recommended", "final_value", "final_regret"]
    writer.writerow([*head, *(f"pulls {name}" for name in outcome.arms)])
    for label in outcome.reward:
        regret, later = outcome.regret(label), outcome.recommendation_regret(label)
        for number in range(outcome.orders):
            arm = outcome.recommended[label][number]
            earned = map(_exact, (outcome.reward[label][number], regret[number]))
            ends = map(_exact, (outcome.final[arm], later[number]))
            pulls = outcome.pulls[label][number].tolist()
            writer.writerow([label, number + 1, *earned, outcome.arms[arm], *ends, *pulls])
    return text.getvalue()


def _mean(values: Floats) -> str:
    mean = f"{round(float(values.mean()), 4) + 0.0:.4f}"
    if len(values) == 1:
        return mean
    return f"{mean} ± {half_width(values):.4f}"


def _exact(value: float) -> str:
    return repr(float(value))


def metrics_table(recording: Recording) -> TextTable:
    """The metrics of all runs, to choose one."""
    rows, records = [], []
    for metric in recording.metrics:
        own = [run.metrics[metric] for run in recording.runs if metric in run.metrics]
        values = [float(one.values[-1]) for one in own]
        lengths = [len(one.steps) for one in own]
        length = str(lengths[0]) if min(lengths) == max(lengths) else f"{min(lengths)} to {max(lengths)}"
        rows.append((metric, str(len(own)), length, f"{min(values):.4g}", f"{max(values):.4g}"))
        record = {"metric": metric, "runs": len(own), "fewest_values": min(lengths), "most_values": max(lengths)}
        records.append({**record, "least_last": min(values), "greatest_last": max(values)})
    header = ("metric", "runs", "values", "least last value", "greatest")
    return TextTable(header, rows, frozenset({1, 2, 3, 4}), f"{len(recording.runs)} runs", records)


def curves_table(curves: Curves) -> TextTable:
    """The runs, the best last value first."""
    sign = 1.0 if curves.direction == "minimize" else -1.0
    rows, records = [], []
    for run, values in sorted(curves.values.items(), key=lambda item: sign * float(item[1][-1])):
        hours = f"{curves.hours[run][-1]:.3g}" if curves.hours else "-"
        rows.append((run, str(len(values)), f"{values[0]:.4g}", f"{values[-1]:.4g}", hours))
        record = {"run": run, "values": len(values), "first": float(values[0]), "last": float(values[-1])}
        records.append({**record, "hours": float(curves.hours[run][-1]) if curves.hours else None})
    header = ("run", "values", "first", "last", "hours")
    cut = f", the best {_MOST_RUNS} of {len(rows):,} runs" if len(rows) > _MOST_RUNS else ""
    return TextTable(header, rows[:_MOST_RUNS], frozenset({1, 2, 3, 4}), f"{curves.metric}{cut}", records)
