"""Writes the golden files; it was run with version 0.1.0 of the tree, before its modules were rearranged.

Kept as a record: the tests need only the files. What is not public is looked up by its name of that time, so this
does not run with later trees.
"""

# mypy: ignore-errors
# It calls 0.1.0, whose names were others.

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import frozen
from make_stores import Archive, checkpoints, stores

import risingbandits as rb
from risingbandits import RisingBanditsError, get_policy, policy_names, simulate

ROUNDS = 300

_SIGMAS: list[dict[str, Any]] = [{"sigma": 0.05}, {"sigma": "auto"}, {"sigma": "smooth"}, {"sigma": 0.0}]
_WIDTHS: list[dict[str, Any]] = [{"widths": "kl"}, {"widths": "bernstein"}, {"widths": "gaussian"}]
_TIES: list[dict[str, Any]] = [{"ties": "random"}]
_INDEX: list[dict[str, Any]] = [
    {"eps": 1 / 3, "clip_index": True, "nonneg_slope": True},
    {"bonus_scale": 0.2, "alpha": 2.5, "sigma": 0.1},
    {"sigma": 0.02, "bonus_scale": 0.1},
]
# Settings besides the defaults. One that a policy does not know or refuses is left out.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "asha": [{"eta": 2}, {"max_pulls": 40, "share": 0.3}],
    "beta-ts": [{"reward_range": [-1.0, 2.0]}],
    "cash-elimination": [{"window": 3}, {"ceiling": 1.2, "costs": [1.0, 2.0, 0.5], "budget": 200.0}],
    "commit-ensemble": [{"prior": "pooled"}, {"recheck": 0.05}, {"cap": 0.9, "sigma": 0.05}, *_WIDTHS],
    "commit-ucb": [{"risk": "sunk-cost"}, {"recheck": 0.0, "growth": 1.2}, {"cap": 0.9}, *_WIDTHS],
    "constant": [{"arm": 2}],
    "d-ucb": [{"discount": 0.98}],
    "epsilon-greedy": [{"epsilon": 0.3}, {"decay": 5.0}],
    "et-ts": [{"forced": 10, "tau": 50}],
    "exp3": [{"gamma": 0.2}],
    "exp3-s": [{"gamma": 0.2, "alpha": 0.01}, {"switches": 3}],
    "explore-then-commit": [{"m": 7}],
    "few-arms": [
        {"max_arms": 2},
        {"max_arms": "all", "order": "given"},
        {"policy": "red-ucb", "settings": {"sigma": 0.05}},
        {"policy": "gaussian-ts", "max_arms": 2},
        {"policy": "r-sr", "max_arms": 2, "order": "given"},
    ],
    "hyperband": [{"eta": 2}, {"max_pulls": 40, "share": 0.3}],
    "improving-elimination": [{"ceiling": 1.3}],
    "kl-ucb": [{"c": 0.0}, {"reward_range": [-1.0, 2.0]}],
    "open-arms": [{"order": "given"}, {"few": 1000.0}, {"few": 1.0}, {"spread": 0.3, "patience": 1.0}, *_WIDTHS],
    "oracle": [{"arm": 1}],
    "r-less-ucb": _INDEX,
    "r-sr": [{"eps": 0.4}],
    "r-ucbe": [{"a": 2.0}, {"eps": 0.4, "sigma": 0.1}],
    "red-ucb": _INDEX,
    "rexp3": [{"V": 3.0}],
    "selective-race": [{"depth": 3.0}, {"power": 1.0, "eps": 0.4}],
    "ser4": [{"switches": 3}, {"delta": 0.05, "eps": 0.01, "phi": 0.01}],
    "successive-halving": [{"eta": 2}, {"max_pulls": 40, "share": 0.3}],
    "sw-kl-ucb": [{"tau": 60}, {"drift": 0.01, "c": 0.0}],
    "sw-ts": [{"tau": 60}],
    "sw-ucb": [{"tau": 60}, {"xi": 0.2}],
    "tsallis-inf": [{"rate": 1.0}],
    "ucb1": [{"reward_range": [-1.0, 2.0]}],
    "window-greedy": [{"window": 10, "share": 0.3}],
}


def settings_of(name: str) -> list[dict[str, Any]]:
    """Variants of a policy's settings."""
    known = get_policy(name).params()
    own = [{} if name != "oracle" else {"arm": 0}, *VARIANTS.get(name, []), *_SIGMAS, *_TIES]
    return [params for params in own if set(params) <= set(known)]


def cases(name: str) -> list[frozen.Case]:
    """How a policy is played."""
    every = settings_of(name)
    plain = [frozen.Case(name, params, 3, ROUNDS) for params in every]
    first = every[0]
    plain.append(frozen.Case(name, first, 1, ROUNDS))
    plain.append(frozen.Case(name, first, 64, ROUNDS))
    plain.append(frozen.Case(name, first, 3, None))
    plain.append(frozen.Case(name, first, 5, ROUNDS, "masked"))
    plain.append(frozen.Case(name, first, 5, ROUNDS // 2, "foreign"))
    if "sigma" in get_policy(name).params():
        for params in ({"sigma": "smooth"}, {"sigma": 0.05}):
            plain.append(frozen.Case(name, params, 20, ROUNDS, "masked"))
            plain.append(frozen.Case(name, params, 150, ROUNDS, "foreign"))
            plain.append(frozen.Case(name, params, 5, None, "foreign"))
    return plain


def decisions() -> dict[str, Any]:
    """The arms that every policy asks for."""
    runs = []
    for name in policy_names():
        for case in cases(name):
            try:
                policy = case.begin()
            except RisingBanditsError as error:
                print(f"left out: {case}: {error}")
                continue
            asked = frozen.encode(case.play(policy, ROUNDS), case.n_arms)
            runs.append({"case": list(case), "asked": asked, "recommended": policy.recommend()})
    return {"rounds": ROUNDS, "runs": runs}


def simulations() -> dict[str, Any]:
    """Regret, pulls and recommendations of every policy."""
    names = policy_names()
    smooth = [name for name in names if "sigma" in get_policy(name).params() and name != "commit-ensemble"]
    defaults: dict[str, tuple[str, dict[str, Any]]] = {name: (name, {}) for name in names}
    varied = {f"{name} {sigma}": (name, {"sigma": sigma}) for name in smooth for sigma in ("smooth", 0.2)}
    many: dict[str, tuple[str, dict[str, Any]]] = {
        name: (name, {}) for name in ("red-ucb", "commit-ucb", "open-arms", "few-arms", "r-ucbe", "hyperband", "r-sr")
    }
    studies = [
        ("paper-2arms", "paying", defaults),
        ("15 arms", "paying", defaults | varied),
        ("bernoulli", "paying", defaults),
        ("150 arms", "paying", many),
        ("ending", "masked", defaults),
    ]
    settings: dict[str, Any] = {"horizon": 2_000, "runs": 3, "seed": 11}
    made = []
    for name, finished, chosen in studies:
        policies: dict[str, Any] = {}
        for label, (policy, params) in chosen.items():
            try:
                policies[label] = get_policy(policy, **params)
                simulate(policies[label], frozen.problem(name), **settings | {"runs": 1}, finished=finished)
            except RisingBanditsError as error:
                print(f"left out: {label} on {name}: {error}")
                del policies[label]
        result = simulate(policies, frozen.problem(name), **settings, checkpoints=1, finished=finished, jobs=1)
        results = {
            label: {
                "policy": chosen[label][0],
                "params": chosen[label][1],
                "regret": [float(value).hex() for value in result.final_regret[label]],
                "pulls": result.pulls[label].tolist(),
                "recommended": result.recommended[label].tolist(),
            }
            for label in policies
        }
        made.append({"problem": name, "finished": finished, "results": results})
    return {**settings, "rounding": frozen.rounding(), "studies": made}


def policy_files() -> dict[str, Any]:
    """Policies saved in the middle of a run, and what they ask for next."""
    played, rounds = 70, 100
    files: dict[str, Any] = {}
    with TemporaryDirectory() as folder, Archive("policies.zip") as archive:
        for name in policy_names():
            chosen = [frozen.Case(name, settings_of(name)[0], 3, ROUNDS)]
            if "sigma" in get_policy(name).params() and name != "commit-ensemble":
                chosen.append(frozen.Case(name, {"sigma": "smooth"}, 5, ROUNDS))
                chosen.append(frozen.Case(name, {"sigma": 0.05}, 5, None))
            if name == "few-arms":
                chosen.append(frozen.Case(name, {"policy": "gaussian-ts", "max_arms": 2}, 5, ROUNDS))
            for number, case in enumerate(chosen):
                try:
                    policy = case.begin()
                except RisingBanditsError as error:
                    print(f"left out: {case}: {error}")
                    continue
                case.play(policy, played)
                file = f"{name}-{number}.npz"
                archive.add(file, policy.save(Path(folder) / file).read_bytes())
                files[file] = {"case": list(case), "repr": repr(policy), "pulls": policy.pulls.tolist()}
                files[file]["asked"] = frozen.encode(case.play(policy, rounds), case.n_arms)
                files[file]["recommended"] = policy.recommend()
    return {"rounds": rounds, "files": files}


def commands() -> dict[str, Any]:
    """What replay and imdb write."""
    run = importlib.import_module("risingbandits.cli").run
    cumulative = "open-arms,commit-ucb,red-ucb(sigma=0.05),few-arms,gaussian-ts,kl-ucb,exp3,round-robin"
    best = "selective-race,r-sr,successive-halving,hyperband,asha,r-ucbe"
    options = {
        "earn": ["--budget", "300", "--policies", cumulative],
        "keep": ["--budget", "300", "--policies", best, "--objective", "best-arm", "--orders", "3"],
        "lose": ["--budget", "200", "--policies", cumulative, "--direction", "minimize", "--ended", "pay"],
        "few": ["--budget", "150", "--max-arms", "4", "--orders", "2", "--seed", "3", "--sigma", "0.1"],
    }
    replays = {}
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out.csv"
        for name, given in options.items():
            assert run(["replay", str(frozen.write_curves(Path(folder) / "c.csv")), *given, "--out", str(out)]) == 0
            replays[name] = [given, out.read_text()]
        live = ["imdb", "run", "--dataset", "digits", "--horizon", "600", "--runs", "2", "--curve-runs", "2"]
        live += ["--arms", "7", "--jobs", "1", "--policies", "commit-ucb,red-ucb,kl-ucb"]
        assert run([*live, "--out", folder]) == 0
        predictions = (Path(folder) / "predictions.csv").read_text()
    return {"replay": replays, "live": {"options": live, "predictions": predictions}}


def write(name: str, content: dict[str, Any]) -> None:
    """As JSON, one line for each run."""
    text = json.dumps(content, separators=(",", ":"))
    for opening in ('{"case":', '{"problem":', '"paper-2arms":'):
        text = text.replace(opening, "\n" + opening)
    (frozen.FOLDER / name).write_text(text + "\n")


def main() -> None:
    """Write the parts that are named on the command line, or all."""
    parts: dict[str, Callable[[], None]] = {
        "decisions": lambda: write("decisions.json", decisions()),
        "policies": lambda: write("policies.json", policy_files()),
        "stores": lambda: write("stores.json", stores()),
        "checkpoints": checkpoints,
        "commands": lambda: write("commands.json", commands()),
        "simulations": lambda: write("simulations.json", simulations()),
    }
    assert rb.__version__ == "0.1.0"
    for part in sys.argv[1:] or parts:
        parts[part]()


if __name__ == "__main__":
    main()
