"""The paper's synthetic figures and tables, recomputed: play what is missing, write tables, draw figures, sum up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from risingbandits._core.files import write_whole
from risingbandits._core.tables import TextTable
from risingbandits._version import __version__
from risingbandits.lab.paper import _claims as claims
from risingbandits.lab.paper import _lower_bound_study as lower_bound_study
from risingbandits.lab.paper import _rates_study as rates_study
from risingbandits.lab.paper._csv_tables import read_rows, write_rows
from risingbandits.lab.paper._regret_study import FIFTEEN_ARMS, TWO_ARMS, Experiment, Size
from risingbandits.reports.study import prepare_folder
from risingbandits.simulation._backends import Backend, backend_for

__all__ = ["EXPERIMENTS", "QUICK", "Size", "claims_table", "redraw", "reproduce"]

EXPERIMENTS: dict[str, Experiment] = {
    study.name: study for study in (FIFTEEN_ARMS, TWO_ARMS, lower_bound_study.STUDY, rates_study.STUDY)
}
QUICK = Size(runs=12, horizon=2_000, record_at=20)


def reproduce(
    names: Sequence[str],
    folder: str | Path,
    size: Size,
    jobs: int | None,
    command: str,
    progress: bool = False,
    backend: str | Backend = "local",
) -> int:
    """Play the named experiments and write tables, figures and the summary to ``folder``.

    Panels that an earlier call with the same settings has finished are not played again. Equal
    settings give equal bytes.

    ``names`` are keys of ``EXPERIMENTS`` and ``command`` says how to get the same files again, for the reader;
    ``jobs`` and ``backend`` are those of `simulate`, on which the files do not depend. Returns the number
    of runs that were played now.
    """
    folder = prepare_folder(Path(folder))
    played = 0
    stems: dict[str, Future[list[str]]] = {}
    # One thread draws a study while the next one is played, mostly by compiled code that leaves Python to it.
    with ThreadPoolExecutor(1) as drawing, backend_for(backend, jobs) as players:
        for name in names:
            study = EXPERIMENTS[name]
            results = {}
            for panel in study.panels(size):
                kept = panel.kept(folder)
                played += 0 if kept else panel.runs * len(panel.policies)
                results[panel.name] = kept or panel.play(folder, players, progress)
            study.write(results, size, folder)
            stems[name] = drawing.submit(study.draw, folder)
    header = {"version": __version__, "command": command, "seed": size.seed, "runs": size.runs, "horizon": size.horizon}
    _sum_up({name: drawn.result() for name, drawn in stems.items()}, folder, header, size.extra)
    return played


def redraw(names: Sequence[str], folder: str | Path) -> None:
    """Draw the figures of the named experiments again from the CSV files in ``folder``."""
    for name in names:
        EXPERIMENTS[name].draw(Path(folder))


def _sum_up(stems: Mapping[str, list[str]], folder: Path, header: dict[str, Any], extra: bool) -> None:
    """Write the summary of studies whose figures have these stems."""
    horizon = "the problems' own horizons" if header["horizon"] is None else f"{header['horizon']:,} rounds"
    parts = [
        "# The paper's synthetic study, recomputed\n",
        f"Version {header['version']}, seed {header['seed']}, {header['runs']} runs if not stated otherwise, "
        f"{horizon}. Made by:\n",
        f"```\n{header['command']}\n```\n",
        "Regret is how much more reward the best constant arm has than the policy; J* is its whole reward. Intervals "
        "and bands: 95 % confidence of the mean (Student t).\n",
    ]
    content: dict[str, Any] = {**header, "experiments": {}}
    for name, figures in stems.items():
        study = EXPERIMENTS[name]
        tables = study.tables(folder)
        parts.append(f"## {study.title}\n")
        for table in tables:
            parts += [f"**{table.title}**\n", table.markdown()]
        parts += [f"![{stem}]({stem}.png)\n" for stem in figures]
        content["experiments"][name] = {
            "figures": figures,
            "tables": [{"title": t.title, "header": t.header, "rows": t.rows} for t in tables],
        }
        if (folder / f"{name}-final.csv").exists():
            content["experiments"][name]["final"] = read_rows(folder / f"{name}-final.csv")
    if header["horizon"] is None and extra and {"15arms", "2arms"} <= set(stems):
        judgements = claims.judged(folder)
        write_rows(folder / "claims.csv", claims.Judgement._fields, judgements)
        table = claims_table(judgements)
        parts += ["## What the paper says, and what we find\n", table.markdown()]
        content["claims"] = {"header": table.header, "rows": table.rows}
    write_whole(folder / "summary.json", (json.dumps(content, indent=1) + "\n").encode())
    write_whole(folder / "summary.md", "\n".join(parts).encode())


def claims_table(judgements: Sequence[claims.Judgement]) -> TextTable:
    """The account of the claims as a table."""
    rows = [(f"“{j.quote}” ({j.where})", j.by_definition, j.by_program, j.attribution) for j in judgements]
    return TextTable(("the paper", "by the definitions", "by the published program", "due to"), rows)
