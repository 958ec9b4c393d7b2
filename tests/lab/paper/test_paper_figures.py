"""Figures of the paper's studies: nothing that they say is cut."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from environments import ROOT
from risingbandits.lab.paper import _paper_figures as paper_figures
from risingbandits.lab.paper._csv_tables import RegretData
from risingbandits.lab.paper._regret_study import FIFTEEN_ARMS, TWO_ARMS, RegretStudy

KEPT = ROOT / "docs" / "reproduction"


def cut(figure: Figure) -> list[str]:
    """Titles and labels that are partly outside the figure."""
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    texts = [
        text
        for ax in figure.axes
        for text in (*ax.get_children(), ax.xaxis.label, ax.yaxis.label)
        if isinstance(text, Text)
    ]
    whole = figure.bbox
    return [
        text.get_text()
        for text in texts
        if text.get_text()
        and not (
            (box := text.get_window_extent(renderer)).x0 >= whole.x0 - 1
            and box.x1 <= whole.x1 + 1
            and box.y0 >= whole.y0 - 1
            and box.y1 <= whole.y1 + 1
        )
    ]


def test_a_title_that_is_too_long_is_noticed() -> None:
    figure, (ax,) = paper_figures.figure_with_axes(1, 2.0, 2.0)
    ax.set_title("a title of a figure that is far too long for its two inches", loc="left")
    assert len(cut(figure)) == 1


@pytest.mark.parametrize("study", [TWO_ARMS, FIFTEEN_ARMS], ids=lambda study: study.name)
def test_titles_and_labels_are_whole(study: RegretStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: dict[str, Figure] = {}

    def keep(figures: dict[str, Figure], *_: object) -> list[str]:
        drawn.update(figures)
        return []

    monkeypatch.setattr(paper_figures, "save_all", keep)
    study.draw(KEPT)
    assert RegretData.read(KEPT, study.name).pulls.keys() > {"gaussian"}
    found = {name: cut(figure) for name, figure in drawn.items()}
    assert found == {name: [] for name in ("curves", "regret", "pulls", "regret-extra", "pulls-extra")}
