"""What runs in a process of `ProcessArms`: one arm with its checkpoints, which answers one call after another."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from risingbandits.allocation.arms._checkpointed import Checkpointed


def serve(descriptor: int) -> None:
    """Make the arm that comes through the connection and answer calls; end when the other side has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that started this one
    connection: Connection[Any, Any] = Connection(descriptor)
    name, recipe, folder, settings = connection.recv()
    tasks: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    try:
        arm = Checkpointed(name, pickle.loads(recipe), folder, make=True, **settings)
        first = ("done", (arm.is_light(), arm.stop is not None))
    except Exception as error:
        _say(connection, ("error", error))
        return
    threading.Thread(target=_listen, args=(connection, tasks, arm), daemon=True).start()
    _say(connection, first)
    while True:
        kind, value = tasks.get()
        if kind == "told":  # nobody waits for an answer
            with suppress(OSError):
                arm.told(value)
            continue
        try:
            answer: tuple[str, Any] = ("done", arm.pull(value) if kind == "pull" else arm.keep())
        except Exception as error:
            answer = ("error", error)
        _say(connection, answer)


def _listen(connection: Any, tasks: queue.SimpleQueue[tuple[str, Any]], arm: Checkpointed) -> None:
    """Receive calls; stop is handled while a pull runs."""
    while True:
        try:
            kind, value = connection.recv()
        except (EOFError, OSError):
            os._exit(0)  # the other side is gone
        if kind != "stop":
            tasks.put((kind, value))
        elif arm.stop is not None:
            with suppress(Exception):  # of a learner's own
                arm.stop()


def _say(connection: Any, answer: tuple[str, Any]) -> None:
    try:
        pickle.loads(pickle.dumps(answer))
    except Exception:  # it is of a kind that cannot be sent
        kind, value = answer
        if kind == "done":
            answer = ("error", TypeError(f"a pull must give a number or an Outcome, got {value!r}"))
        else:
            answer = ("error", RuntimeError(f"{type(value).__name__}: {value}"))
    with suppress(OSError):
        connection.send(answer)
