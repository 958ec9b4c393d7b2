"""Reports in a browser: drawn without complaint, alive under the mouse and the keyboard, and deaf to wicked names."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chromium import Watched
from risingbandits import RisingBandit, get_policy, simulate
from risingbandits.policies import RoundRobin
from risingbandits.reports.pages import write_html
from risingbandits.reports.study import Study
from sample_stores import WICKED, make_store

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

NewPage = Callable[..., Watched]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a study's report in which every name is wicked."""
    folder = tmp_path_factory.mktemp("study")
    curves = [[0.1, 0.2 + 0.1 * arm, 0.3 + 0.1 * arm] for arm in range(len(WICKED))]
    problem = RisingBandit.from_array(curves, name=WICKED[1], arm_names=WICKED)
    policies = {WICKED[0]: get_policy("commit-ucb"), WICKED[2]: RoundRobin(), WICKED[3]: get_policy("red-ucb")}
    result = simulate(policies, problem, horizon=200, runs=4)
    Study(problem, result).save(folder, f"risingbandits simulate '{WICKED[0]}'")
    return write_html(folder, folder / "report.html").as_uri()


@pytest.fixture(scope="module")
def allocation(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of an allocation's report in which every name is wicked."""
    folder = tmp_path_factory.mktemp("allocation")
    return write_html(make_store(folder / "run.db"), folder / "report.html").as_uri()


def opened(watched: Watched, address: str) -> Page:
    watched.page.goto(address)
    watched.page.wait_for_selector("body[data-drawn=true]", state="attached")
    return watched.page


def traces(page: Page, figure: str) -> Locator:
    return page.locator(f"#{figure} .plot .scatterlayer .trace")


@pytest.mark.parametrize(("width", "dark"), [(400, True), (1200, False)])
def test_a_study_is_drawn(new_page: NewPage, study: str, width: int, dark: bool) -> None:
    watched = new_page(width=width, dark=dark)
    page = opened(watched, study)
    assert traces(page, "study-1-regret").count() == 6  # a line and a band for each of three policies
    assert page.locator("#study-1-ranking tbody tr").count() == 3
    assert page.locator("#study-1-pulls .heatmaplayer .hm").count() == 1
    assert traces(page, "study-1-curves").count() == len(WICKED)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    watched.check()
    assert watched.requests == [study]


@pytest.mark.parametrize(("width", "dark"), [(400, False), (1200, True)])
def test_an_allocation_is_drawn(new_page: NewPage, allocation: str, width: int, dark: bool) -> None:
    watched = new_page(width=width, dark=dark)
    page = opened(watched, allocation)
    assert page.locator("#blocks .plot .barlayer .trace").count() == len(WICKED)
    assert traces(page, "curves").count() > 2 * len(WICKED)  # rewards, an optimistic and a pessimistic line
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    watched.check()
    assert watched.requests == [allocation]


@pytest.mark.parametrize(("width", "height"), [(400, 800), (1200, 700)])
def test_the_first_screen_answers_how_it_is_going(new_page: NewPage, tmp_path: Path, width: int, height: int) -> None:
    long = [f"a rather long name of a configuration, number {number}, of many" for number in range(40)]
    page = opened(
        new_page(width=width, height=height),
        write_html(make_store(tmp_path / "run.db", long, pulls=40, budget=400), tmp_path / "page.html").as_uri(),
    )
    for key in ("progress", "leader", "answers"):
        box = page.locator(f"#{key}").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= height, key
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_link_opens_a_folded_section(new_page: NewPage, allocation: str) -> None:
    watched = new_page()
    page = opened(watched, allocation)
    table = page.locator("#failures-table table")
    assert not table.is_visible()
    link = page.get_by_role("navigation").get_by_role("link", name="Failures")
    link.click()
    table.wait_for()
    page.locator("#failures > details > summary").click()
    assert not table.is_visible()
    link.click()  # the address stays the same now
    table.wait_for()
    watched.check()


def test_hovering_shows_values_and_names_as_they_are(new_page: NewPage, study: str) -> None:
    watched = new_page()
    page = opened(watched, study)
    plot = page.locator("#study-1-regret .plot .nsewdrag")
    plot.scroll_into_view_if_needed()
    plot.hover()
    box = page.locator("#study-1-regret .hoverlayer")
    box.locator("text").first.wait_for()
    said = box.text_content() or ""
    assert "<script>alert(1)</script>" in said
    assert "±" in said
    heat = page.locator("#study-1-pulls .plot .nsewdrag")
    heat.scroll_into_view_if_needed()
    heat.hover()
    page.locator("#study-1-pulls .hoverlayer text").first.wait_for()
    assert "arm " in (page.locator("#study-1-pulls .hoverlayer").text_content() or "")
    watched.check()


def test_wicked_names_are_shown_and_do_nothing(new_page: NewPage, study: str, allocation: str) -> None:
    watched = new_page()
    page = opened(watched, study)
    assert page.locator("h1").text_content() == WICKED[1]
    rows = page.locator("#study-1-pulls .yaxislayer-above text").all_text_contents()
    assert "<script>alert(1)</script>" in rows
    assert page.locator("#study-1-pulls .plot b, #study-1-pulls .plot img, #study-1-pulls .plot a").count() == 0
    assert page.locator("main img, main b, main script").count() == 0
    page = opened(watched, allocation)
    names = page.locator("#blocks .legend button").all_text_contents()
    assert names == list(WICKED)
    assert page.locator("main img, main b, main script").count() == 0
    watched.check()


def test_the_legend_hides_and_shows_by_mouse_and_keyboard(new_page: NewPage, study: str) -> None:
    watched = new_page()
    page = opened(watched, study)
    first = page.locator("#study-1-regret .legend button").first
    first.click()
    watched.until("document.querySelectorAll('#study-1-regret .scatterlayer .trace').length === 4")
    assert first.get_attribute("aria-pressed") == "false"
    assert first.evaluate("button => button === document.activeElement")
    page.keyboard.press("Enter")
    watched.until("document.querySelectorAll('#study-1-regret .scatterlayer .trace').length === 6")
    assert first.get_attribute("aria-pressed") == "true"
    first.dblclick()
    watched.until("document.querySelectorAll('#study-1-regret .scatterlayer .trace').length === 2")
    watched.check()


def test_light_and_dark(new_page: NewPage, study: str) -> None:
    watched = new_page(dark=True)
    page = opened(watched, study)
    colours = """() => [getComputedStyle(document.body).backgroundColor,
        document.querySelector('#study-1-regret .xtick text').style.fill]"""
    dark = page.evaluate(colours)
    page.get_by_role("button", name="Switch to light colours").click()
    watched.until(f"({colours})().every((now, at) => now !== {dark}[at])")
    assert page.evaluate(colours)[0] == "rgb(255, 255, 255)"
    assert page.get_by_role("button", name="Switch to dark colours").is_visible()
    page.reload()
    page.wait_for_selector("body[data-drawn=true]", state="attached")
    assert page.evaluate(colours)[0] == "rgb(255, 255, 255)"  # the choice is remembered
    watched.check()


def test_keyboard_and_screen_reader_basics(new_page: NewPage, allocation: str) -> None:
    watched = new_page()
    page = opened(watched, allocation)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for role in ("banner", "navigation", "main", "contentinfo"):
        assert page.get_by_role(role).count() == 1, role
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.evaluate("[...document.querySelectorAll('table')].every(t => t.caption.textContent && t.tHead)")
    assert page.evaluate("[...document.querySelectorAll('.plot')].every(p => p.getAttribute('aria-label'))")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id).filter(i => !i.match(/[0-9a-f]{6}/))")
    assert len(ids) == len(set(ids))
    summary = page.locator("#blocks summary")
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("#blocks table").is_visible()
    watched.check()


def test_the_page_refuses_other_scripts_and_addresses(new_page: NewPage, study: str) -> None:
    watched = new_page()
    page = opened(watched, study)
    failures: list[str | None] = []
    page.on("requestfailed", lambda request: failures.append(request.failure))
    page.evaluate(
        """() => {
            const script = document.createElement('script');
            script.textContent = 'window.intruder = true';
            document.body.append(script);
            const image = document.createElement('img');
            image.src = 'http://127.0.0.1:9/x.png';
            document.body.append(image);
        }"""
    )
    watched.wait(lambda: failures and len(watched.problems) == 2)
    assert page.evaluate("window.intruder") is None
    assert failures == ["csp"]  # tried by the test, refused by the page before anything was sent
    assert len(watched.problems) == 2
    assert all("Content Security Policy" in problem for problem in watched.problems)
