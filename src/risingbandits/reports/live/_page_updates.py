"""Updates of a store's page for any number of readers: the newest state, never a backlog.

One thread reads the store once a second, folds what is new and makes the blocks of the page, however many pulls are
told. A slow reader skips states.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from risingbandits._core.tables import user_text as name
from risingbandits.reports._allocation_log import Follower
from risingbandits.reports.pages.layout import Figure, Page, table_html
from risingbandits.reports.pages.store_page import allocation_page

_POLL = 1.0
_WHILE_RUNNING = 10.0  # time passes even while nothing is told
_QUIET = 15.0  # seconds of silence after which a comment keeps the connection open
_GLANCE = 0.25  # how often a waiting reader checks whether the server ends
_RETRY_MS = 1000


class State(NamedTuple):
    """What a page shows."""

    number: int  # rises with every change, a new trouble included
    event: int  # number of the last event in the store that is shown
    html: dict[str, str]  # contents of elements, by their ids
    figures: dict[str, dict[str, Any]]  # what draws figures, by their ids
    trouble: str  # why this may be old; empty if it is not

    def message(self, before: State) -> str:
        """What is new since the state ``before``, as a server-sent event."""
        html = {key: text for key, text in self.html.items() if before.html.get(key) != text}
        figures = {key: spec for key, spec in self.figures.items() if before.figures.get(key) != spec}
        data = json.dumps({"busy": self.trouble, "html": html, "figures": figures}, allow_nan=False)
        return f"id: {self.event}\nevent: state\ndata: {data}\n\n"


_NOTHING = State(0, -1, {}, {}, "")


class PageUpdates:
    """Reads a store in a thread of its own and hands the newest `State` to readers."""

    def __init__(self, store: str | Path) -> None:
        self._thread = ThreadPoolExecutor(1, "risingbandits-watch")  # a connection stays in the thread that made it
        self._follower = self._thread.submit(Follower, store).result()
        self._changed = asyncio.Event()
        self._made_at = 0.0
        self.state = _NOTHING
        self.state = self._thread.submit(self._poll).result() or _NOTHING

    async def run(self) -> None:
        """Keep the state up to date until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            begun = time.monotonic()
            state = await loop.run_in_executor(self._thread, self._poll)
            if state is not None:
                self.state = state
                self._changed.set()
                self._changed = asyncio.Event()
            spent = time.monotonic() - begun
            await asyncio.sleep(max(_POLL - spent, spent))  # never busy for more than half of the time

    def _poll(self) -> State | None:
        """The present state; None if it is the last one still."""
        self._follower.poll()
        log, trouble, now = self._follower.log, self._follower.trouble, time.monotonic()
        old = bool(log.ledger.in_flight) and now >= self._made_at + _WHILE_RUNNING
        if (log.last_id, trouble) == (self.state.event, self.state.trouble) and not old:
            return None
        self._made_at = now
        page = self._page()
        html, figures = {"lead": name(page.lead)}, {}
        for block in page.blocks():
            if isinstance(block, Figure):
                html[f"{block.key}-caption"] = block.caption_html()
                html[f"{block.key}-table"] = table_html(block.table)
                figures[block.key] = block.spec()
            else:
                html[block.key] = block.html()
        return State(self.state.number + 1, log.last_id, html, figures, trouble)

    def _page(self) -> Page:
        return allocation_page(self._follower.log, self._follower.shown_store, live=True)

    async def whole_page(self) -> str:
        """The HTML of the page as of now."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: self._page().html())

    async def messages(self, seen: int | None, ended: Callable[[], bool]) -> AsyncIterator[str]:
        """Server-sent events for one reader, which has seen the state of event number ``seen``, until ``ended``.

        Only what changed since the last message is sent. The first message has everything, unless the reader has seen
        just this state.
        """
        yield f"retry: {_RETRY_MS}\n\n"
        shown = _NOTHING
        number = self.state.number if self.state.event == seen and not self.state.trouble else -1
        last_sent = time.monotonic()
        while not ended():
            changed, state = self._changed, self.state
            if state.number != number:
                number, last_sent = state.number, time.monotonic()
                yield state.message(shown)
                shown = state
                continue
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), _GLANCE)
            if time.monotonic() - last_sent > _QUIET:
                last_sent = time.monotonic()
                yield ": still here\n\n"

    def close(self) -> None:
        """Close the store and end the thread."""
        self._thread.submit(self._follower.close).result()
        self._thread.shutdown()
