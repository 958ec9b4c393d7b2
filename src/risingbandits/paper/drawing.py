"""Figures of the studies, drawn from their CSV tables in the style of the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from risingbandits.paper.tables_on_disk import RegretData
from risingbandits.reports.figures import save_figure
from risingbandits.reports.style import Look, look, styled, tidy

__all__ = ["curves_figure", "figure_with_axes", "pulls_figure", "regret_figure", "save_all"]

_MOST_CURVES = 7  # in colour; the others grey


def figure_with_axes(
    columns: int, width: float, height: float, rows: int = 1, share_y: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure that belongs to no window, and its axes row by row."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, np.atleast_1d(figure.subplots(rows, columns, sharey=share_y)).ravel().tolist()


def save_all(figures: Mapping[str, Figure], folder: Path, name: str) -> list[str]:
    """Write every figure as PNG and SVG under ``name-key``; return these stems."""
    for key, figure in figures.items():
        save_figure(figure, folder, f"{name}-{key}")
    return [f"{name}-{key}" for key in figures]


def regret_figure(data: RegretData, panels: Sequence[str], titles: Mapping[str, str]) -> Figure:
    """Mean cumulative regret with 95 % bands, one plot for each panel, each with its own legend below."""
    labels = _all_labels(data)
    with styled():
        figure, axes = figure_with_axes(len(panels), 3.6 * len(panels), 3.4)
        for ax, panel in zip(axes, panels, strict=True):
            ends = []
            for label, line in data.lines[panel].items():
                shape = look_of(labels, label)
                rounds, mean = np.append(0.0, line.rounds), np.append(0.0, line.mean)
                (drawn,) = ax.plot(rounds, mean, color=shape.color, linestyle=shape.linestyle, label=label)
                half = np.append(0.0, line.half)
                if not np.isnan(half).any():
                    ax.fill_between(rounds, mean - half, mean + half, color=shape.color, alpha=0.2, linewidth=0)
                ends.append((float(mean[-1]), drawn))
            ax.set_xlim(0, float(rounds[-1]))
            tidy(ax)
            ax.set_title(titles[panel])
            ax.set_xlabel("round t")
            ax.set_ylabel("cumulative regret")
            handles = [drawn for _, drawn in sorted(ends, key=lambda end: -end[0])]
            ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.45, -0.2), ncols=2, handlelength=2.4)
    return figure


def look_of(labels: Sequence[str], label: str) -> Look:
    """The same look for a policy in all panels."""
    return look(labels.index(label))


def _all_labels(data: RegretData) -> list[str]:
    return list(dict.fromkeys(label for lines in data.lines.values() for label in lines))


def pulls_figure(data: RegretData, panels: Sequence[str], titles: Mapping[str, str], best: int) -> Figure:
    """Mean share of the pulls of each arm, as tables of shades."""
    with styled():
        rows = [len(data.pulls[panel]) for panel in panels]
        arms = len(next(iter(data.pulls[panels[0]].values())))
        figure = Figure(figsize=(2.0 + 0.27 * max(arms, 8), sum(0.7 + 0.19 * n for n in rows)), layout="constrained")
        axes = np.atleast_1d(figure.subplots(len(panels), 1, height_ratios=rows)).tolist()
        for ax, panel in zip(axes, panels, strict=True):
            shares = np.array(list(data.pulls[panel].values()))
            shares = 100 * shares / shares.sum(axis=1, keepdims=True)
            ax.imshow(shares, cmap="Blues", norm=PowerNorm(0.5, 0, 100), aspect="auto")
            for row, column in np.ndindex(*shares.shape):
                share = float(shares[row, column])
                text = "<1" if 0 < share < 0.5 else f"{share:.0f}"
                colour = "white" if share > 35 else "0.6" if share == 0 else "black"
                ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=6)
            names = [f"{arm + 1}{'*' if arm == best else ''}" for arm in range(arms)]
            ax.set_xticks(range(arms), names)
            ax.set_yticks(range(len(shares)), list(data.pulls[panel]))
            ax.tick_params(length=0, pad=2)
            ax.spines[:].set_visible(False)
            ax.set_title(titles[panel])
        axes[-1].set_xlabel("arm (* is the best one)")
    return figure


def curves_figure(data: RegretData, title: str, best: int) -> Figure:
    """Mean rewards of the arms over their pulls; the highest at the end in colour."""
    with styled():
        figure, (ax,) = figure_with_axes(1, 4.2, 2.5)
        arms = list(data.curves)
        ranked = sorted(arms, key=lambda arm: -float(data.curves[arm][1][-1]))
        coloured = ranked[:_MOST_CURVES]
        handles = []
        for arm in ranked[_MOST_CURVES:]:
            (grey,) = ax.plot(*data.curves[arm], color="0.75", linewidth=0.8, zorder=1)
        for place, arm in enumerate(coloured):
            shape = look(place)
            star = arms.index(arm) == best
            (drawn,) = ax.plot(
                *data.curves[arm],
                color=shape.color,
                linestyle=shape.linestyle,
                linewidth=2.0 if star else 1.2,
                label=f"{arm} (best)" if star else arm,
            )
            handles.append(drawn)
        if len(ranked) > _MOST_CURVES:
            grey.set_label(f"{len(ranked) - _MOST_CURVES} others")
            handles.append(grey)
        tidy(ax)
        ax.set_xlim(0, float(data.curves[arms[0]][0][-1]))
        ax.set_ylim(bottom=0)
        ax.set_title(title)
        ax.set_xlabel("pulls of the arm")
        ax.set_ylabel("mean reward")
        ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.03, 1.0), handlelength=2.4)
    return figure
