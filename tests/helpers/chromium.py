"""Debian's Chromium for tests: found, or installed with apt where that is possible, else the tests are skipped.

A `Watched` page notes what a browser complains about and every address it asks for, so that a test can say: no error,
and nothing left this machine.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from programs import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page

__all__ = ["Watched", "find_chromium", "open_browser", "watched_page"]

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_LOCAL = ("file", "data", "blob", "about")


def find_chromium() -> str:
    """The path of a Chromium. As root with apt at hand it is installed; where it cannot be had, the test is skipped."""
    found = _installed()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        lock = Path(tempfile.gettempdir()) / "risingbandits-tests-apt.lock"
        with lock.open("w") as file:  # one of several test processes installs, the others wait
            fcntl.flock(file, fcntl.LOCK_EX)
            found = _installed() or _install()
    if found is None:
        pytest.skip("Chromium is not installed and cannot be installed here (apt-get install chromium, as root)")
    return found


def _installed() -> str | None:
    return next((path for path in map(shutil.which, _NAMES) if path), None)


def _install() -> str | None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]
    for command in (install, ["apt-get", "update"], install):  # the lists may be there and fresh enough
        done = subprocess.run(command, env=environment, capture_output=True, timeout=900)
        if command is install and done.returncode == 0:
            break
    return _installed()


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A headless browser. Open it for one test file at a time: while it is open, asyncio.run does not work beside."""
    path = find_chromium()
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


class Watched:
    """A page, the addresses it asked for, and what went wrong in it.

    Attributes
    ----------
    page : Page
        Playwright's page.
    problems : list of str
        Errors and warnings of the console, errors of scripts, dialogs and failed requests.
    requests : list of str
        Addresses that the page asked for.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        self.requests: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("websocket", lambda socket: self.requests.append(socket.url))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"console: {message.text}")

    def _dialog(self, dialog: Dialog) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def until(self, expression: str) -> None:
        """Wait until the script ``expression`` is true.

        Playwright's own wait_for_function evaluates inside the page, which a Content-Security-Policy forbids after
        the first time; evaluating from outside is always allowed.
        """
        self.wait(lambda: self.page.evaluate(expression), expression)

    def wait(self, condition: Callable[[], object], what: str = "what was waited for") -> None:
        """Wait until ``condition`` holds, while the page goes on."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"{what} has not come true; problems: {self.problems}"
            self.page.wait_for_timeout(20)

    def left_this_machine(self) -> list[str]:
        """The addresses asked for that are not of this machine."""
        parts = [(url, urlsplit(url)) for url in self.requests]
        return [url for url, part in parts if part.scheme not in _LOCAL and part.hostname != "127.0.0.1"]

    def check(self) -> None:
        """No problem, and no request that left this machine."""
        assert self.problems == []
        assert self.left_this_machine() == []


@contextmanager
def watched_page(browser: Browser, width: int = 1200, height: int = 900, dark: bool = False) -> Iterator[Watched]:
    """A new page in a context of its own. No request leaves this machine: those that try are aborted and noted."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
    context.set_default_timeout(PATIENCE * 1_000)
    try:
        watched = Watched(context.new_page())
        context.route(
            lambda url: urlsplit(url).scheme not in _LOCAL and urlsplit(url).hostname != "127.0.0.1",
            lambda route: route.abort(),
        )
        yield watched
    finally:
        context.close()
