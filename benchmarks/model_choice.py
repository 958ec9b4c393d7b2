"""Which learner gets the next piece of training? Our policies beside River's, round robin and successive halving.

    python benchmarks/model_choice.py --out docs/model-choice     # ten seeds; minutes
    python benchmarks/model_choice.py --quick --out try            # two seeds, short streams, to see that it works

Data sets that come with River and scikit-learn, the same training for everyone. Writes results.csv, a row for each
contender and seed, and model_choice.png and .svg, and prints the tables. Equal settings give equal bytes.
"""

from __future__ import annotations

import argparse
import csv
import io
import multiprocessing
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small matrices: more threads are slower; read when NumPy is loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from model_choice_runs import CONTENDERS, DATA, Score, Sizes, play
from risingbandits._core.files import write_whole
from risingbandits.lab.paper.imdb._tables import Paired
from risingbandits.reports._matplotlib_figures import save_figure
from risingbandits.reports._style import look, new_axes, styled, tidy

__all__ = ["as_csv", "as_markdown", "from_csv", "main", "measure"]

COMPARED = "auto"  # whose distance the tables show
QUICK = Sizes(stream=300, pulls=40)


def measure(seeds: Iterable[int], sizes: Sizes, jobs: int, data: Sequence[str] = DATA) -> list[Score]:
    """Play all seeds of all data sets, in processes; the result does not depend on their number."""
    tasks = [(name, seed, sizes) for name in data for seed in seeds]
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        return [score for scores in pool.map(play, *zip(*tasks, strict=True)) for score in scores]


def as_csv(scores: Sequence[Score]) -> str:
    """One line per contender and seed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Score._fields)
    for score in scores:
        writer.writerow([f"{value:.6f}" if isinstance(value, float) else value for value in score])
    return text.getvalue()


def from_csv(text: str) -> list[Score]:
    """Read what `as_csv` wrote."""
    rows = list(csv.DictReader(io.StringIO(text)))
    return [
        Score(
            row["data"],
            row["contender"],
            int(row["seed"]),
            int(row["budget"]),
            float(row["on_the_way"]),
            float(row["kept"]),
            row["kept_name"],
            float(row["share"]),
        )
        for row in rows
    ]


def values(scores: Sequence[Score], data: str, contender: str, field: str) -> Any:
    """One number per seed."""
    own = sorted((s for s in scores if (s.data, s.contender) == (data, contender)), key=lambda s: s.seed)
    return np.array([getattr(score, field) for score in own])


def contenders(scores: Sequence[Score], data: str) -> list[str]:
    """Who was played; then the learners alone, by name."""
    played = {score.contender for score in scores if score.data == data}
    return [*(name for name in CONTENDERS if name in played), *sorted(played - set(CONTENDERS))]


def as_markdown(scores: Sequence[Score], data: str) -> str:
    """A row for each contender, in per cent, with 95 % intervals and the paired distance from the compared policy."""
    lines = [
        f"| {data} | on the way | over {COMPARED} | kept learner | over {COMPARED} | its share of training |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name in contenders(scores, data):
        cells = [name]
        for field in ("on_the_way", "kept"):
            own, base = values(scores, data, name, field), values(scores, data, COMPARED, field)
            cells += [_percent(own), "" if name == COMPARED else _percent(own - base, sign="+")]
        share = values(scores, data, name, "share")
        cells.append("" if name.startswith("only ") else f"{100 * share.mean():.0f} %")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _percent(numbers: Any, sign: str = "") -> str:
    interval = Paired.of(100.0 * numbers)
    return f"{interval.mean:{sign}.1f} ± {interval.half_width:.1f}".replace("-", "\N{MINUS SIGN}")


def draw(scores: Sequence[Score], folder: Path) -> list[Path]:
    """A panel for each data set: what was right on the way, and what the kept learner gets right."""
    data = [name for name in DATA if any(score.data == name for score in scores)]
    with styled():
        figure = new_axes(7.0, 3.0).get_figure(root=True)
        assert figure is not None
        figure.clear()
        panels = figure.subplots(1, len(data), sharey=True, squeeze=False)[0]
        for ax, name in zip(panels, data, strict=True):
            everyone = contenders(scores, name)
            alone = [who for who in everyone if who.startswith("only ")]
            choosers = [who for who in everyone if who not in alone]
            heights = np.arange(len(choosers))[::-1]
            for position, (field, label, shift) in enumerate(
                (("on_the_way", "on the way", 0.12), ("kept", "kept learner", -0.12))
            ):
                intervals = [Paired.of(100.0 * values(scores, name, who, field)) for who in choosers]
                ax.errorbar(
                    [interval.mean for interval in intervals],
                    heights + shift,
                    xerr=[interval.half_width for interval in intervals],
                    fmt="os"[position],
                    markersize=3,
                    linewidth=0.8,
                    color=look(position).color,
                    label=label,
                )
                best = max(100.0 * values(scores, name, who, field).mean() for who in alone)
                ax.axvline(best, color=look(position).color, linewidth=0.8, linestyle=(0, (1, 1)))
            tidy(ax)
            ax.set_yticks(heights, choosers)
            ax.set_title(name)
            ax.set_xlabel("right predictions (%)")
        handles, labels = panels[0].get_legend_handles_labels()
        labels = [f"{label} (dotted: best single learner)" for label in labels]
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        return save_figure(figure, folder, "model_choice")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the results and the figure")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="two seeds, short streams")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; no influence on results")
    options = parser.parse_args(arguments)
    scores = measure(range(2 if options.quick else options.seeds), QUICK if options.quick else Sizes(), options.jobs)
    options.out.mkdir(parents=True, exist_ok=True)
    write_whole(options.out / "results.csv", as_csv(scores).encode())
    scores = from_csv(as_csv(scores))  # tables and figure show what the file has, to the last digit
    draw(scores, options.out)
    print("\n".join(as_markdown(scores, data) for data in DATA), end="")


if __name__ == "__main__":
    main()
