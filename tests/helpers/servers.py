"""A PostgreSQL server of the tests' own, on a socket in a temporary directory, as an unprivileged user."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

UNPRIVILEGED = 65534  # nobody: the server refuses to run as root


def find_binaries() -> Path | None:
    """The directory of initdb and pg_ctl, None if they are not installed."""
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found is not None and shutil.which("pg_ctl") is not None else None


@dataclass(frozen=True)
class PostgresServer:
    """The address of a database, and how its server is stopped and started again."""

    address: str
    stop: Callable[[], None]
    start: Callable[[], None]


@contextmanager
def postgres_server(binaries: Path) -> Iterator[PostgresServer]:
    """Run a server while the block runs."""
    as_root = os.getuid() == 0
    with tempfile.TemporaryDirectory(prefix="rb-pg-", dir="/tmp") as name:  # a socket's path must be short
        folder = Path(name)
        user = {"user": UNPRIVILEGED, "group": UNPRIVILEGED} if as_root else {}
        if as_root:
            os.chown(folder, UNPRIVILEGED, UNPRIVILEGED)
        data = folder / "data"
        environment = {"PATH": f"{binaries}:{os.environ.get('PATH', '')}", "LC_ALL": "C", "HOME": name}

        def call(*words: str) -> None:
            done = subprocess.run(
                words, cwd=name, env=environment, check=False, capture_output=True, text=True, timeout=120, **user
            )  # type: ignore[call-overload]
            assert done.returncode == 0, f"{words[0]}: {done.stdout}{done.stderr}"

        call(str(binaries / "initdb"), "-D", str(data), "-U", "tester", "-A", "trust", "--no-sync", "-E", "UTF8")
        options = f"-c listen_addresses='' -c unix_socket_directories='{name}' -c fsync=off -c max_connections=50"
        # pg_ctl leaves the server holding its output, so that goes to a file
        control = [str(binaries / "pg_ctl"), "-D", str(data), "-w", "-l", f"{name}/log", "-o", options]

        def start() -> None:
            with (folder / "pg_ctl.log").open("w") as log:
                started = subprocess.run(
                    [*control, "start"], cwd=name, env=environment, stdout=log, stderr=log, timeout=120, **user
                )  # type: ignore[call-overload]
            assert started.returncode == 0, (folder / "pg_ctl.log").read_text()

        def stop() -> None:
            call(str(binaries / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop")

        start()
        try:
            yield PostgresServer(f"postgresql:///postgres?host={name}&user=tester", stop, start)
        finally:
            stop()
