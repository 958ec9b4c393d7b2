"""The live server: what it sends, to whom, and that it follows the store."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from programs import PATIENCE
from risingbandits import RisingBanditsError
from risingbandits.allocation.allocator import Allocator
from risingbandits.reports import _live_page as live_page
from risingbandits.reports._live_page import PageUpdates, serve
from sample_stores import WICKED, make_store, reward_of
from watching import watching


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return make_store(tmp_path / "run.db", pulls=40, budget=1000)


@pytest.fixture
def port(store: Path) -> Iterator[int]:
    with watching(store) as port:
        yield port


def answer(port: int, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.putrequest(method, path, skip_host="Host" in named)
        for name, value in named.items():
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        return response.status, response.read().decode() if path == "/" else ""
    finally:
        connection.close()


class Events:
    """A reader of server-sent events."""

    def __init__(self, port: int, **headers: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self._connection.request("GET", "/events", headers={k.replace("_", "-"): v for k, v in headers.items()})
        self._response = self._connection.getresponse()
        assert self._response.status == 200
        assert self._response.headers["content-type"].startswith("text/event-stream")

    def next(self) -> tuple[int, dict[str, Any]]:
        """Number and contents of the next state."""
        fields: dict[str, str] = {}
        while "data" not in fields:
            line = self._response.readline().decode().rstrip("\n")
            name, _, value = line.partition(": ")
            if name:
                fields[name] = value
        return int(fields["id"]), json.loads(fields["data"])

    def close(self) -> None:
        self._connection.close()


def test_nobody_listens_on_other_addresses(port: int) -> None:
    """Linux has all of 127.0.0.0/8: who listens everywhere listens on 127.0.0.2, too."""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", port), timeout=PATIENCE)


def test_it_can_be_interrupted_as_soon_as_it_is_ready(store: Path) -> None:
    def ready(address: str) -> None:
        assert address.startswith("http://127.0.0.1:")
        raise KeyboardInterrupt

    for _ in range(2):  # and leaves its port free
        with pytest.raises(KeyboardInterrupt):
            serve(store, ready=ready)


def test_the_page_only_for_this_machine(port: int) -> None:
    code, page = answer(port)
    assert code == 200
    assert f'data-event="{40 * 2 + 4}"' in page  # two pulls were asked for twice
    assert "connect-src 'self'" in page
    assert answer(port, Host=f"localhost:{port}")[0] == 200
    assert answer(port, Origin=f"http://127.0.0.1:{port}")[0] == 200
    for refused in (
        {"Host": "evil.example"},
        {"Host": f"evil.example:{port}"},
        {"Host": "127.0.0.1"},
        {"Host": f"127.0.0.1:{port}.evil.example"},
        {"Host": f"127.0.0.1:{port + 1}"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"https://127.0.0.1:{port}"},
    ):
        assert answer(port, **refused)[0] == 421, refused
        assert answer(port, "/events", **refused)[0] == 421, refused
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert answer(port, method=method)[0] == 405
    assert answer(port, "/secret")[0] == 404


def test_the_time_left_goes_by_while_a_pull_runs(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    updates = PageUpdates(store)
    try:
        monkeypatch.setattr(live_page, "_WHILE_RUNNING", -1.0)
        assert not updates.poll()  # nothing runs
        with Allocator.open(store) as allocator:
            assert allocator.ask() is not None
            assert updates.poll()
            first = updates.state
            assert updates.poll()
        assert updates.state.number > first.number
        assert updates.state.event == first.event
        assert "about" in updates.state.html["answers"]
        assert "pulls a " in updates.state.html["answers"]
    finally:
        updates.close()


def test_what_is_told_arrives_and_a_reader_goes_on_where_it_was(store: Path, port: int) -> None:
    reader = Events(port)
    number, state = reader.next()
    assert state["busy"] == ""
    assert set(state["figures"]) == {"blocks", "curves"}
    assert "&lt;script&gt;" in state["html"]["arms-table"]
    assert "<script" not in "".join(state["html"].values())
    with Allocator.open(store) as allocator:
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, reward_of(pull, WICKED))
    while number < 86:
        number, state = reader.next()
    assert "41 of 1,000 pulls" in state["html"]["lead"]
    assert "settings-table" not in state["html"]  # it has not changed
    reader.close()

    again = Events(port, Last_Event_ID="86")  # nothing to say until something happens
    with Allocator.open(store) as allocator:
        pull = allocator.ask()
        assert pull is not None
        number, state = again.next()
        assert number == 87
        assert "settings-table" in state["html"]  # everything, for the reader may be new
        allocator.tell(pull, reward_of(pull, WICKED))
    while number < 88:
        number, state = again.next()
    assert "42 of 1,000 pulls" in state["html"]["lead"]
    again.close()


def test_where_the_usual_port_is_taken_another_one_is(store: Path, port: int) -> None:
    with watching(store, port) as another:
        assert another != port
    with pytest.raises(RisingBanditsError, match=f"^port must be free to listen on, got {port} "):
        serve(store, port)
    with pytest.raises(RisingBanditsError, match=r"^port must be an integer from 0 "):
        serve(store, 70_000)
