"""The live page in a browser: it follows a store that is written meanwhile, and finds its server again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from chromium import Watched
from risingbandits.allocation.allocator import Allocator
from sample_stores import WICKED, make_store, reward_of
from watching import watching

NewPage = Callable[..., Watched]


def tell(allocator: Allocator, pulls: int) -> None:
    for _ in range(pulls):
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, reward_of(pull, WICKED))


def test_the_page_follows_the_store_and_its_server(new_page: NewPage, tmp_path: Path) -> None:
    store = make_store(tmp_path / "run.db", pulls=10, budget=500)
    watched = new_page()
    page = watched.page
    told = page.locator("#counts dd").first
    with Allocator.open(store) as allocator:
        with watching(store) as port:
            page.goto(f"http://127.0.0.1:{port}/")
            page.locator("#connection", has_text="Live").wait_for()
            assert told.text_content() == "10"
            page.locator("#blocks .legend button").first.click()
            tell(allocator, 90)
            watched.wait(lambda: told.text_content() == "100", "told is 100")
            watched.until("document.querySelector('#blocks .plot').layout.xaxis.range[1] === 100.5")
            pressed = page.locator("#blocks .legend button").first.get_attribute("aria-pressed")
            assert pressed == "false"  # the reader's choice survives new data
            watched.check()
        page.locator("#connection", has_text="Connection lost").wait_for()
        tell(allocator, 11)
        with watching(store, port):
            watched.wait(lambda: told.text_content() == "111", "told is 111")
            page.locator("#connection", has_text="Live").wait_for()
    assert watched.left_this_machine() == []
    assert all("ERR_CONNECTION_REFUSED" in problem or "ERR_INCOMPLETE" in problem for problem in watched.problems)


def test_the_pictures_begin_with_the_first_reward(new_page: NewPage, tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    watched = new_page()
    page = watched.page
    with Allocator(WICKED, budget=100, policy="round-robin", store=store) as allocator, watching(store) as port:
        page.goto(f"http://127.0.0.1:{port}/")
        page.locator("#connection", has_text="Live").wait_for()
        page.wait_for_selector("body[data-drawn=true]", state="attached")
        assert page.locator("#leader").text_content() == "leadernone yetno reward has been told"
        assert page.locator("main svg").count() == 0
        assert not page.locator("#blocks details").is_visible()
        tell(allocator, 2)
        page.locator("#blocks .legend button").nth(1).wait_for()
        page.locator("#blocks .plot .xtick text").first.wait_for()
        assert page.locator("#blocks .legend button").all_text_contents() == list(WICKED[:2])
        page.locator("#answers", has_text="2 of 4 arms").wait_for()
        assert page.locator("#blocks details").is_visible()
        watched.check()


def test_an_arm_added_meanwhile_with_a_wicked_name(new_page: NewPage, tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    watched = new_page()
    page = watched.page
    with Allocator(["plain"], budget=100, policy="round-robin", store=store) as allocator, watching(store) as port:
        page.goto(f"http://127.0.0.1:{port}/")
        page.locator("#connection", has_text="Live").wait_for()
        for name in WICKED:
            allocator.add(name)
        for _ in range(20):
            pull = allocator.ask()
            assert pull is not None
            allocator.tell(pull, 0.5)
        page.locator("#blocks .legend button", has_text=WICKED[2]).wait_for()
        page.locator("#arms-table th", has_text=WICKED[0]).wait_for()
        assert page.locator("main img, main b, main script").count() == 0
    assert [problem for problem in watched.problems if "ERR_" not in problem] == []
    assert watched.left_this_machine() == []
