"""One browser for each test file in this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from chromium import Watched, open_browser, watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Watched]]:
    """Opens pages that are watched; see `watched_page` for the arguments."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(watched_page(browser, **settings))
