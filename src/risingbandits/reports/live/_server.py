"""The page of an allocation, live on this machine: a small server that only reads, for this machine's browsers only.

A name that resolves to 127.0.0.1 is enough for any web site to make a browser ask this server (DNS rebinding), so a
request must name this machine in its Host header, and in its Origin header if it has one. Nothing can be written: all
requests but GET and HEAD are refused.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from risingbandits._core.errors import RisingBanditsError, missing
from risingbandits.reports.live._page_updates import PageUpdates

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

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


def make_app(updates: PageUpdates, port: int, ended: Callable[[], bool] = lambda: False) -> Starlette:
    """The application: ``/`` is the page and ``/events`` its server-sent events, which stop when ``ended``."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.responses import HTMLResponse, StreamingResponse
    from starlette.routing import Route

    async def page(request: Request) -> Response:
        return HTMLResponse(await updates.whole_page(), headers=_HEADERS)

    async def events(request: Request) -> Response:
        messages = updates.messages(_seen(request), ended)
        return StreamingResponse(messages, media_type="text/event-stream", headers=_HEADERS)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(updates.run())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    routes = [Route("/", page), Route("/events", events)]
    return Starlette(routes=routes, lifespan=lifespan, middleware=[Middleware(_OnlyThisMachine, port=port)])


class _OnlyThisMachine:
    """Refuses requests that name a host other than this machine, or come from another site's page."""

    def __init__(self, app: Callable[..., Any], port: int) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}".encode() for name in _NAMES}
        if port == 80:
            self._hosts |= {name.encode() for name in _NAMES}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            named = [value for key, value in scope["headers"] if key == b"host"]
            origins = [value for key, value in scope["headers"] if key == b"origin"]
            ours = {b"http://" + host for host in self._hosts}
            if len(named) != 1 or named[0] not in self._hosts or not ours.issuperset(origins):
                from starlette.responses import PlainTextResponse

                refusal = PlainTextResponse("This page is only for this machine: open it by its own address.\n", 421)
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _seen(request: Request) -> int | None:
    """The last event that the reader has, from the header of a reconnecting browser or from the address."""
    text = request.headers.get("last-event-id") or request.query_params.get("after") or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def serve(store: str | Path, port: int | None = None, ready: Callable[[str], None] = print) -> None:
    """Serve the live page of ``store`` on 127.0.0.1 until interrupted.

    The store is only read. ``port`` is by default 8765, or any free one if that is taken; 0 is any free one. ``ready``
    is called with the address when the page can be opened.
    """
    try:
        import uvicorn
    except ImportError:
        raise missing("Uvicorn", "the live page", "report") from None

    class Announced(uvicorn.Server):
        """Ready once it handles signals: an earlier Ctrl-C would stop it in the middle of its start."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready(f"http://{_ADDRESS}:{port}/")

    with _listen(port) as listening:
        port = listening.getsockname()[1]
        updates = PageUpdates(store)
        try:
            app = make_app(updates, port, ended=lambda: server.should_exit)
            config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=3)
            server = Announced(config)
            server.run(sockets=[listening])
        finally:
            updates.close()


def _listen(port: int | None) -> socket.socket:
    if port is not None and not 0 <= port <= 65535:
        raise RisingBanditsError(f"port must be an integer from 0 (any free port) to 65535, got {port}.")
    try:
        return socket.create_server((_ADDRESS, _PORT if port is None else port))
    except OSError as error:
        if port is None:
            return socket.create_server((_ADDRESS, 0))
        raise RisingBanditsError(f"port must be free to listen on, got {port} ({error.strerror}).") from error
