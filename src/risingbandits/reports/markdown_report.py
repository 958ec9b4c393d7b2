"""A folder with studies as files: results, figures and a Markdown page that shows them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.files import write_whole
from risingbandits._version import __version__
from risingbandits.policies.objectives import Objective, shown_objectives
from risingbandits.reports import matplotlib_figures
from risingbandits.reports.study import Study
from risingbandits.simulation.summary import summary_table


def prepare_folder(folder: Path) -> Path:
    """Create the folder, or say why it cannot be created, before any work is done."""
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
