"""atari.npz from the folder ``baselines/atari/data`` of the repository google/dopamine (Apache licence 2.0).

There the files GAME.json, GAME_CNN.json and GAME_Impala.json have a record of each iteration of each run of an agent:
its number, the average return and the agent, run after run or iteration after iteration; the n-th record of an
iteration is of run n. Here a game is an array of agents x 5 runs x 199 iterations, what all files have; an agent with
fewer runs is left out. The games are those of the benchmark; others are left for checks of what was tuned on
these.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError

SOURCE = "the folder baselines/atari/data of a copy of google/dopamine"
RUNS, ITERATIONS = 5, 199
PARTS = {"tf": "", "cnn": "_CNN", "impala": "_Impala"}  # the tag of an agent, and how the name of its file ends
_NAMES = """
airraid amidar asterix atlantis battlezone berzerk boxing carnival choppercommand demonattack elevatoraction
fishingderby frostbite gravitar icehockey journeyescape krull montezumarevenge namethisgame pitfall pooyan qbert
roadrunner seaquest solaris stargunner timepilot upndown videopinball yarsrevenge
"""
GAMES = tuple(_NAMES.split())

_Returns = dict[str, dict[int, list[float]]]  # by agent and iteration, those of its runs


def convert(
    folder: Path, games: Iterable[str] = GAMES, *, runs: int = RUNS, iterations: int = ITERATIONS
) -> dict[str, npt.NDArray[Any]]:
    """The arrays of atari.npz."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    for game in games:
        curves = {}
        for tag, ending in PARTS.items():
            for agent, values in _returns(folder / f"{game}{ending}.json").items():
                first = [values.get(iteration, [])[:runs] for iteration in range(iterations)]
                if min(map(len, first)) == runs:
                    curves[f"{tag}:{agent}"] = np.array(first).T
        if not curves:
            raise RisingBanditsError(f"{game}.json must have {runs} runs of {iterations} iterations, has fewer.")
        arrays[game] = np.array([*curves.values()], np.float32)
        arrays[f"{game}__arms"] = np.array([*curves])
    return arrays


def _returns(path: Path) -> _Returns:
    """What a file says, agents in the order of the file."""
    if not path.is_file():
        raise RisingBanditsError(f"source must be {SOURCE}, got {path.parent}, which has no {path.name}.")
    found: _Returns = {}
    try:
        for record in json.loads(path.read_text()):
            of_agent = found.setdefault(record["Agent"], {})
            of_agent.setdefault(record["Iteration"], []).append(float(record["Value"]))
    except (ValueError, TypeError, KeyError):
        wanted = "a list of records with Iteration, Value and Agent"
        raise RisingBanditsError(f"{path} must have {wanted}, has something else.") from None
    return found
