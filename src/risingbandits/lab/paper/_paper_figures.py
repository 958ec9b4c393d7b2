"""Figures of the studies, drawn from their CSV tables in the style of the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from risingbandits.lab.paper._csv_tables import RegretData
from risingbandits.reports._figure_data import Curves, Line, Shares, curve_lines, policy_places
from risingbandits.reports._matplotlib_figures import draw_lines, draw_shares, save_figure
from risingbandits.reports._style import styled


def figure_with_axes(
    columns: int, width: float, height: float, rows: int = 1, share_y: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure without a window, and its axes row by row."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, np.atleast_1d(figure.subplots(rows, columns, sharey=share_y)).ravel().tolist()


def save_all(figures: Mapping[str, Figure], folder: Path, name: str) -> list[str]:
    """Write every figure as PNG and SVG under ``name-key``; return these stems."""
    for key, figure in figures.items():
        save_figure(figure, folder, f"{name}-{key}")
    return [f"{name}-{key}" for key in figures]


def regret_figure(data: RegretData, panels: Sequence[str], titles: Mapping[str, str]) -> Figure:
    """Mean cumulative regret with 95 % bands, one plot for each panel, each with its own legend below."""
    places = policy_places(list(dict.fromkeys(label for lines in data.lines.values() for label in lines)))
    with styled():
        figure, axes = figure_with_axes(len(panels), 3.6 * len(panels), 3.4)
        for ax, panel in zip(axes, panels, strict=True):
            lines = []
            for label, line in data.lines[panel].items():
                half = None if np.isnan(line.half).any() else np.append(0.0, line.half)
                rounds, mean = np.append(0.0, line.rounds), np.append(0.0, line.mean)
                lines.append(Line(label, places[label], rounds, mean, half))
            draw_lines(ax, lines, loc="upper center", bbox_to_anchor=(0.45, -0.2), ncols=2)
            ax.set(title=titles[panel], xlabel="round t", ylabel="cumulative regret")
    return figure


def pulls_figure(data: RegretData, panels: Sequence[str], titles: Mapping[str, str], best: int) -> Figure:
    """Mean share of the pulls of each arm, as tables of shades."""
    with styled():
        rows = [len(data.pulls[panel]) for panel in panels]
        arms = len(next(iter(data.pulls[panels[0]].values())))
        figure = Figure(figsize=(2.0 + 0.27 * max(arms, 8), sum(0.7 + 0.19 * n for n in rows)), layout="constrained")
        axes = np.atleast_1d(figure.subplots(len(panels), 1, height_ratios=rows)).tolist()
        names = [f"{arm + 1}{'*' if arm == best else ''}" for arm in range(arms)]
        for ax, panel in zip(axes, panels, strict=True):
            pulls = np.array(list(data.pulls[panel].values()))
            draw_shares(ax, Shares(list(data.pulls[panel]), names, 100 * pulls / pulls.sum(axis=1, keepdims=True)))
            ax.set_title(titles[panel])
        # Not in the titles, which would be wider than few arms are.
        axes[-1].set_xlabel("share of the pulls (%); * is the best arm")
    return figure


def curves_figure(data: RegretData, title: str, best: int) -> Figure:
    """Mean rewards of the arms over their pulls; the highest at the end in colour."""
    arms = list(data.curves)
    ranked = sorted(range(len(arms)), key=lambda arm: -float(data.curves[arms[arm]][1][-1]))
    pulls = data.curves[arms[0]][0].astype(int).tolist()
    curves = Curves(pulls, {arm: data.curves[arms[arm]][1].tolist() for arm in ranked})
    with styled():
        figure, (ax,) = figure_with_axes(1, 4.2, 2.5)
        draw_lines(ax, curve_lines(curves, arms, best))
        ax.set_ylim(bottom=0)
        ax.set(title=title, xlabel="pulls of the arm", ylabel="mean reward")
    return figure
