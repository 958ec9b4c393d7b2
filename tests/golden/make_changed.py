"""Writes ``changed.json``: what the policies that `changed` names decide since 0.1.0, where it differs.

Run it after such a policy has changed on purpose, and only then; it refuses if another policy decides otherwise.
"""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import test_golden_decisions as decisions
import test_golden_stores as stores
from allocations import OUTPUTS
from changed import concerned, in_words_of_today, without_new_settings
from frozen import FOLDER, Case, encode, load, unpack, write_curves
from hidden import run_command

from risingbandits import Policy


def differing(expected: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in now.items() if value != expected[key]}


def changed_decisions() -> dict[str, Any]:
    found = {}
    for run in load("decisions.json")["runs"]:
        case = Case(*run["case"])
        if change := differing(run, decisions.decide(case)):
            assert concerned(case.policy, case.params), case
            found[json.dumps(run["case"])] = change
    return found


def changed_simulations() -> dict[str, Any]:
    found = {}
    for study, label in decisions._STUDIES:
        result, expected = decisions.play(study, label), study["results"][label]
        now = {
            "pulls": result.pulls[label].tolist(),
            "recommended": result.recommended[label].tolist(),
            "regret": [float(value).hex() for value in result.final_regret[label]],
        }
        if change := differing(expected, now):
            assert concerned(expected["policy"], expected["params"]), (study["problem"], label)
            found[decisions.name_of(study, label)] = change
    return found


def changed_policies(folder: Path) -> dict[str, Any]:
    files = load("policies.json")
    found = {}
    for name, expected in files["files"].items():
        case = Case(*expected["case"])
        policy = Policy.load(unpack("policies.zip", name, folder))
        shown = repr(policy)  # without the settings that are defaults, which may have changed
        asked = encode(case.play(policy, files["rounds"]), case.n_arms)
        if change := differing(expected, {"repr": shown, "asked": asked, "recommended": policy.recommend()}):
            assert concerned(case.policy, case.params), case
            found[name] = change
    return found


def changed_stores(folder: Path) -> dict[str, Any]:
    found = {}
    for name, expected in load("stores.json").items():
        place = folder / f"read {name}"
        store = unpack("stores.zip", name, place)
        printed = {}
        for file in expected["outputs"]:
            command, *options = OUTPUTS[file]
            out = [str(place / file)] if options[-1:] == ["--out"] else []
            text = io.StringIO()
            with contextlib.redirect_stdout(text):
                run_command([command, str(store / "run.db"), *options, *out])
            printed[file] = without_new_settings((place / file).read_text() if out else text.getvalue())
        change = differing({file: (store / file).read_text() for file in printed}, printed)
        then = {**expected, "next.txt": (store / "next.txt").read_text()}
        change |= differing(then, stores.next_decisions(name, False, folder))
        if change:
            found[name] = change
    return found


def changed_commands(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    commands = load("commands.json")
    curves, replays = write_curves(folder / "curves.csv"), {}
    for name, (options, table) in commands["replay"].items():
        out = folder / f"{name}.csv"
        run_command(["replay", str(curves), *in_words_of_today(options), "--out", str(out)])
        if out.read_text() != table:
            replays[name] = {"table": out.read_text()}
    run_command(["paper", *commands["live"]["options"], "--out", str(folder)])
    now = {"predictions": (folder / "predictions.csv").read_text()}
    live = differing(commands["live"], now)
    return replays, {"live": live} if live else {}


def entries_of(found: dict[str, Any]) -> list[str]:
    """A line each."""
    return [f"{json.dumps(key)}: {json.dumps(change)}" for key, change in found.items()]


if __name__ == "__main__":
    with TemporaryDirectory() as name:
        folder = Path(name)
        replays, live = changed_commands(folder)
        parts = {
            "decisions": changed_decisions(),
            "simulations": changed_simulations(),
            "policies": changed_policies(folder),
            "stores": changed_stores(folder),
            "replay": replays,
            "live": live,
        }
    lines = [f'"{part}": {{\n' + ",\n".join(entries_of(found)) + "\n}" for part, found in parts.items()]
    (FOLDER / "changed.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
