"""The page of an allocation, live on this machine: a small server that only reads, for this machine's browsers only.

The main thread reads the store once a second, folds what is new and makes the blocks of the page, however many pulls
are told. Readers get the newest state, never a backlog: a slow one skips states.

A name that resolves to 127.0.0.1 is enough for any web site to make a browser ask this server (DNS rebinding), so a
request must name this machine in its Host header, and in its Origin header if it has one. Nothing can be written: all
requests but GET are refused.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.tables import user_text as name
from risingbandits.reports._allocation_log import Follower
from risingbandits.reports.pages.layout import Figure, plotly_script, table_html
from risingbandits.reports.pages.store_page import allocation_page

_POLL = 1.0  # seconds between two looks at the store
_WHILE_RUNNING = 10.0  # time passes even while nothing is told
_QUIET = 15.0  # seconds of silence after which a comment keeps the connection open
_RETRY_MS = 1000
_ADDRESS = "127.0.0.1"
_PORT = 8765  # the same each time, so that a forwarded port or an open page finds it again
_NAMES = (_ADDRESS, "localhost")
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


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
    """Reads a store, in the thread that made it, and hands the newest `State` to readers in others."""

    def __init__(self, store: str | Path) -> None:
        self._follower = Follower(store)
        self._changed = threading.Condition()
        self._made_at = 0.0
        self.state = _NOTHING
        self.poll()

    def run(self) -> None:
        """Keep the state up to date until interrupted."""
        while True:
            begun = time.monotonic()
            self.poll()
            spent = time.monotonic() - begun
            time.sleep(max(_POLL - spent, spent))  # never busy for more than half of the time

    def poll(self) -> bool:
        """Make the state anew, if something is new in the store; whether it was."""
        self._follower.poll()
        log, trouble, now = self._follower.log, self._follower.trouble, time.monotonic()
        old = bool(log.ledger.in_flight) and now >= self._made_at + _WHILE_RUNNING
        if (log.last_id, trouble) == (self.state.event, self.state.trouble) and not old:
            return False
        self._made_at = now
        page = allocation_page(log, self._follower.shown_store, live=True)
        html, figures = {"lead": name(page.lead)}, {}
        for block in page.blocks():
            if isinstance(block, Figure):
                html[f"{block.key}-caption"] = block.caption_html()
                html[f"{block.key}-table"] = table_html(block.table)
                figures[block.key] = block.spec()
            else:
                html[block.key] = block.html()
        with self._changed:
            self.page = page
            self.state = State(self.state.number + 1, log.last_id, html, figures, trouble)
            self._changed.notify_all()
        return True

    def messages(self, seen: int | None) -> Iterator[str]:
        """Server-sent events for one reader, which has seen the state of event number ``seen``.

        Only what changed since the last message is sent. The first message has everything, unless the reader has seen
        just this state.
        """
        yield f"retry: {_RETRY_MS}\n\n"
        shown, state = _NOTHING, self.state
        number = state.number if state.event == seen and not state.trouble else -1
        while True:
            with self._changed:
                if self.state.number == number:
                    self._changed.wait(_QUIET)
                state = self.state
            if state.number == number:
                yield ": still here\n\n"
            else:
                yield state.message(shown)
                shown, number = state, state.number

    def close(self) -> None:
        """Close the store."""
        self._follower.close()


class _Server(ThreadingTCPServer):
    daemon_threads = True  # a reader that stays does not keep the program
    allow_reuse_address = os.name == "posix"  # elsewhere it would take the port from another program
    updates: PageUpdates


class _Request(BaseHTTPRequestHandler):
    """``/`` is the page and ``/events`` its server-sent events."""

    server: _Server

    def do_GET(self) -> None:
        port = self.server.server_address[1]
        hosts = {f"{known}:{port}" for known in _NAMES} | ({*_NAMES} if port == 80 else set())
        named, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        if len(named) != 1 or named[0] not in hosts or not {f"http://{host}" for host in hosts}.issuperset(origins):
            self._answer(421, "text/plain", ["This page is only for this machine: open it by its own address.\n"])
            return
        asked = urlsplit(self.path)
        updates = self.server.updates
        if asked.path == "/":
            self._answer(200, "text/html", [updates.page.html()])
        elif asked.path == "/events":
            # What a reader has, from the header of a reconnecting browser or from the address.
            text = self.headers.get("Last-Event-ID") or parse_qs(asked.query).get("after", [""])[0]
            known = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
            self._answer(200, "text/event-stream", updates.messages(known))
        else:
            self.send_error(404)

    def _refuse(self) -> None:
        self.send_error(405)

    do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = _refuse

    def _answer(self, code: int, kind: str, parts: Iterator[str] | list[str]) -> None:
        self.send_response(code)
        for key, value in {"Content-Type": f"{kind}; charset=utf-8", **_HEADERS}.items():
            self.send_header(key, value)
        self.end_headers()
        try:
            for part in parts:
                self.wfile.write(part.encode())
        except OSError:  # the reader has gone
            self.close_connection = True

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing: the terminal shows the address."""


def serve(store: str | Path, port: int | None = None, ready: Callable[[str], None] = print) -> None:
    """Serve the live page of ``store`` on 127.0.0.1 until interrupted.

    The store is only read. ``port`` is by default 8765, or any free one if that is taken; 0 is any free one. ``ready``
    is called with the address when the page can be opened.
    """
    plotly_script()  # or it says what is missing
    updates = PageUpdates(store)
    try:
        with _listen(port) as server:
            server.updates = updates
            threading.Thread(target=server.serve_forever, name="risingbandits-live", daemon=True).start()
            try:
                ready(f"http://{_ADDRESS}:{server.server_address[1]}/")
                updates.run()
            finally:
                server.shutdown()
    finally:
        updates.close()


def _listen(port: int | None) -> _Server:
    if port is not None and not 0 <= port <= 65535:
        raise RisingBanditsError(f"port must be an integer from 0 (any free port) to 65535, got {port}.")
    try:
        return _Server((_ADDRESS, _PORT if port is None else port), _Request)
    except OSError as error:
        if port is None:
            return _Server((_ADDRESS, 0), _Request)
        raise RisingBanditsError(f"port must be free to listen on, got {port} ({error.strerror}).") from error
