"""Pages about recorded curves in a browser: the race of a replay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from chromium import Watched
from risingbandits import replay
from risingbandits.reports.pages._logs_page import write_replay_page
from sample_stores import WICKED

if TYPE_CHECKING:
    from playwright.sync_api import Page

NewPage = Callable[..., Watched]
NETS = {
    name: np.array([0.1 * (k + 1) * (1 - 0.8**n) for n in range(1, 31)])
    for k, name in enumerate([*WICKED, "a", "b", "c", "d"])
}


def opened(watched: Watched, address: str) -> Page:
    watched.page.goto(address)
    watched.page.wait_for_selector("body[data-drawn=true]", state="attached")
    return watched.page


@pytest.mark.parametrize("width", [400, 1200])
def test_the_race_is_drawn(new_page: NewPage, tmp_path: Path, width: int) -> None:
    outcome = replay(NETS, ["successive-halving", "round-robin"], orders=5)
    write_replay_page(outcome, outcome.advice, tmp_path / "race.html", metric=WICKED[0], command="risingbandits")
    watched = new_page(width=width)
    page = opened(watched, (tmp_path / "race.html").as_uri())
    fed = int((outcome.pulls["successive-halving"][0] > 0).sum())
    assert page.locator("#fed .plot .barlayer .trace").count() == len(NETS)
    filled = "[...document.querySelectorAll('#fed pattern')].map(one => Boolean(one.querySelector('rect[fill]')))"
    hatched = page.evaluate(filled)
    assert hatched
    assert all(hatched), "bars with a pattern have a colour below it"
    assert page.locator("#leaders .plot .scatterlayer .trace").count() == fed + 1  # and the recommended arm
    assert page.locator("#recorded .plot .scatterlayer .trace").count() == len(NETS)
    assert outcome.advice.sentences[0] == page.locator("#advice-1").text_content()
    assert page.locator("main img, main b, main script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    watched.check()
