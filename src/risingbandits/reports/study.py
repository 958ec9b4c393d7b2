"""A study, policies played on a problem in some runs: in memory, as files with a Markdown page, and read again."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.files import readable, write_whole
from risingbandits._version import __version__
from risingbandits.policies.objectives import Objective, shown_objectives
from risingbandits.problems import RisingBandit
from risingbandits.reports._figure_data import Curves
from risingbandits.simulation._summary import summary_table
from risingbandits.simulation.result import Result

__all__ = ["SavedStudy", "Study", "StudyNotes", "write_report"]

_FORMAT = 1
_FILE = "study.json"
_POINTS = 120  # of a curve on each of two scales
_MOST_ARMS = 40  # whose curves are kept: those with the largest sums


class Study(NamedTuple):
    """A simulated problem and what came out."""

    problem: RisingBandit
    result: Result

    def save(self, folder: Path, command: str | None = None) -> None:
        """Write the result and ``study.json``, for `risingbandits report`; ``command`` makes the study again."""
        self.result.save(folder)
        StudyNotes.of(self.problem, self.result.horizon, command).save(folder)


class SavedStudy(NamedTuple):
    """A study in a folder; ``notes`` is None if only the result was saved."""

    title: str
    result: Result
    notes: StudyNotes | None

    @staticmethod
    def load(folder: Path, below: tuple[str, ...] = ()) -> SavedStudy:
        """Read the study in ``folder``; ``below`` are the names of the folders that lead to it, for its title."""
        result, notes = Result.load(folder), StudyNotes.load(folder)
        if notes is not None and len(notes.arms) != result.final_means.size:
            raise RisingBanditsError(f"{folder} holds a study.json that does not belong to its result.json.")
        itself = not below or below[-1] == result.problem
        return SavedStudy(result.problem if itself else f"{result.problem}: {' / '.join(below)}", result, notes)


class StudyNotes(NamedTuple):
    """What a report says about a study beyond its result, kept in ``study.json``."""

    command: str | None  # how to get the same study again; None where the whole says it, of which this is a part
    noise: str
    moves_with: str  # what moves an arm on along its curve
    arms: list[str]
    best: int | None  # the best constant arm; None if arms are not rested
    curves: Curves  # true means

    @staticmethod
    def of(problem: RisingBandit, horizon: int, command: str | None = None) -> StudyNotes:
        """What is known about ``problem`` up to ``horizon``."""
        pulls, means = Curves.of(problem, horizon, _POINTS, _MOST_ARMS)
        return StudyNotes(
            command=command,
            noise=repr(problem.noise),
            moves_with=problem.moves_with,
            arms=list(problem.arm_names),
            best=problem.oracle_arm(horizon) if problem.rested else None,
            curves=Curves(pulls, {arm: [float(f"{mean:.6g}") for mean in values] for arm, values in means.items()}),
        )

    def save(self, folder: Path) -> None:
        """Write ``study.json``; equal studies give equal bytes."""
        content: dict[str, Any] = {"format": _FORMAT, **self._asdict(), "curves": self.curves._asdict()}
        write_whole(folder / _FILE, (json.dumps(content, separators=(",", ":"), allow_nan=False) + "\n").encode())

    @staticmethod
    def load(folder: Path) -> StudyNotes | None:
        """Read what `save` wrote; None if there is no such file."""
        path = folder / _FILE
        if not path.exists():
            return None
        with readable(path, "holds no readable study"):
            content = json.loads(path.read_text())
            if content.pop("format") != _FORMAT:
                raise RisingBanditsError(f"{path} has a format other than {_FORMAT}, which this version reads.")
            curves = content.pop("curves")
            means = {int(arm): values for arm, values in curves["means"].items()}
            return StudyNotes(**content, curves=Curves(curves["pulls"], means))


def prepare_folder(folder: Path) -> Path:
    """Create the folder, or say why it cannot be created or what its figures need, before any work is done."""
    importlib.import_module("risingbandits.reports._style")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RisingBanditsError(
            f"out must be a folder that can be created, got {folder} ({error.strerror})."
        ) from error
    return folder


def write_report(studies: Sequence[Study], folder: str | Path, command: str) -> Path:
    """Write results, ``study.json`` for `risingbandits report`, figures and ``report.md``; return the page's path.

    With one study its files are in ``folder``; with several, each has a folder of its own below. Equal studies give
    equal bytes.

    The folder is created if needed, and files of an earlier report with the same names are replaced. ``command`` says
    how to get the same report again, for the reader.
    """
    from risingbandits.reports import _matplotlib_figures as matplotlib_figures

    folder = prepare_folder(Path(folder))
    parts = [
        "# risingbandits report\n",
        f"Version {__version__}. Made by:\n",
        f"```\n{command}\n```\n",
        " ".join(dict.fromkeys(each.meaning for study in studies for each in _shown(study))) + "\n",
    ]
    for study in studies:
        below = "" if len(studies) == 1 else f"{study.result.problem}/"
        target = folder / below
        study.save(target, command)
        drawn = {
            "regret": matplotlib_figures.plot_regret(study.result),
            "pulls": matplotlib_figures.plot_pulls(study.result, problem=study.problem),
            "curves": matplotlib_figures.plot_curves(study.problem, study.result.horizon),
        }
        for stem, ax in drawn.items():
            matplotlib_figures.save_figure(ax, target, stem)
        parts += _section(study, below)
    page = folder / "report.md"
    write_whole(page, "\n".join(parts).encode())
    return page


def _shown(study: Study) -> list[Objective]:
    return shown_objectives(Objective.get(study.result.objective))


def _section(study: Study, below: str) -> list[str]:
    problem, result = study
    table = summary_table(result)
    settings = "".join(f"- {label}: `{policy}`\n" for label, policy in result.settings.items())
    return [
        f"## {table.title}\n",
        f"{problem.n_arms} arms, noise `{problem.noise!r}`.\n",
        table.markdown(),
        settings,
        *(f"![{stem} of {result.problem}]({below}{stem}.png)\n" for stem in ("regret", "pulls", "curves")),
    ]
