"""The checkpoints of an arm on disk. No other code writes or removes one, for objects, commands, processes and Ray.

A checkpoint is named by the number of its pull and by the id of the pull that was being made, ``checkpoint-<n>-<id>``.
Ids are never given out twice, so two workers that make the same pull, one of which has lost it, write two files. Which
of them counts only the store knows: a `Pull` names the checkpoints that do.

The checkpoint of pull n is written before n is told. A worker removes only checkpoints of pulls that are known to it to
be counted, never the newest of them nor the best one. So whenever a process dies, or wakes up hours later, the state
after the last counted pull is there.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.files import flush, flush_folder, remove, whole
from risingbandits.allocation.arms.base import ArmInUse
from risingbandits.allocation.pull import CHECKPOINT, CannotGoOn, Pull, Saved, better, checkpoint_name, folder_name
from risingbandits.allocation.stores.base import STORE_MARK, check_folder_of

log = logging.getLogger("risingbandits")

_GIVEN_UP = "given-up-"  # and a random name, while it is removed
_PROBE = 64 * 1024  # bytes
_MACHINE = {errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT}


class Name(NamedTuple):
    """Whose state a checkpoint is: after pull ``n``, as the pull ``id`` made it."""

    n: int
    id: int


class LostCheckpoint(RisingBanditsError):
    """The checkpoint that a pull starts from is lost, and the arm cannot begin again."""


#: Whether a pull is still in flight, as the store says now.
Holds = Callable[[Pull], bool]


def needed_before(pull: Pull) -> set[Name]:
    """The checkpoints that ``pull`` may load, and that of the pull before, which may be recorded at any moment."""
    counted = {Name(saved.n, saved.id) for saved in (pull.last, pull.best) if saved is not None}
    return counted | {Name(pull.n - 1, pull.before)}


def needed_after(pull: Pull, new: Saved | None, direction: str | None) -> set[Name]:
    """The checkpoints that may be loaded once ``pull`` counts and has left ``new``, if that is of this pull."""
    last, best = pull.last, pull.best
    if new is not None and (new.n, new.id) == (pull.n, pull.id):
        last, best = new, better(pull.best, new, direction or "maximize")
    return {Name(saved.n, saved.id) for saved in (last, best) if saved is not None}


class Checkpoints:
    """The checkpoints of one arm: files or folders below ``<base>/<arm>/``, created when needed.

    Those that are ``durable`` survive a power failure: they are synced, and found whole by a digest. ``store`` is the
    identity of the store that says which of them count, "" if it is not known.
    """

    def __init__(self, base: Path, arm: str, durable: bool = False, store: str = "") -> None:
        self.base, self.arm, self.durable, self.store = base, arm, durable, store
        self.path = base / folder_name(arm)
        self._claimed = False
        self._made = False  # whether the names of the folders are known to be on the disk

    def at(self, n: int, id: int) -> Path:
        """Where the checkpoint is that pull ``id`` leaves after pull n."""
        return self.path / checkpoint_name(n, id)

    def claim(self) -> None:
        """Mark the base folder as that of the store; raises an error if it is another store's."""
        if self._claimed or not self.store:
            return
        try:
            check_folder_of(self.store, self.base)
        except RisingBanditsError as error:
            raise CannotGoOn(str(error)) from None
        self.base.mkdir(parents=True, exist_ok=True)
        (self.base / f"{STORE_MARK}{self.store}").touch()
        self._claimed = True

    # -- writing ------------------------------------------------------------------------------------------------

    def write(self, n: int, id: int, save: Callable[[Path], None]) -> str:
        """Have ``save(path)`` write a checkpoint, which appears whole or not at all; returns its proof."""
        if not self.path.is_dir():
            self.path.mkdir(parents=True, exist_ok=True)
        with whole(self.at(n, id)) as temporary:
            save(temporary)
            if not temporary.exists():
                raise RisingBanditsError(f"save(path) of arm {self.arm!r} must write a file or a folder at path.")
        return self.proof(n, id)

    def proof(self, n: int, id: int) -> str:
        """What the tell records of the checkpoint of a pull, "" if the pull left none; synced if it must be."""
        path = self.at(n, id)
        size = _size(path)
        if size < 0 or not self.durable:
            return "" if size < 0 else str(size)
        flush(path)
        for folder in (self.path,) if self._made else (self.path, self.base, self.base.parent):
            flush_folder(folder)
        self._made = True
        return f"{size} {_digest(path)}"

    # -- reading ------------------------------------------------------------------------------------------------

    def is_whole(self, saved: Saved) -> bool:
        """Whether a checkpoint is there as it was recorded: with its size and, if it was recorded, its digest."""
        path = self.at(saved.n, saved.id)
        size, _, digest = saved.proof.partition(" ")
        return str(_size(path)) == size and (not digest or digest == _digest(path))

    def start_of(self, pull: Pull, trained: int, can_begin: bool, holds: Holds | None) -> Saved | None:
        """The checkpoint to start a pull from: the newest that counts, the best one if that is damaged.

        None if none is recorded, or if all are lost and the arm ``can_begin`` again after ``trained`` pulls. What is
        lost is never passed over in silence.
        """
        last, best = pull.last, pull.best
        if last is None or self.is_whole(last):
            return last
        if holds is not None and not holds(pull):  # whoever has it now may have removed what it needs no more
            raise ArmInUse(f"pull {pull.n} of arm {self.arm!r} was given to another worker.")
        path = self.at(last.n, last.id)
        said = f"{path}, the checkpoint of pull {last.n}, {'is not as it was saved' if path.exists() else 'is missing'}"
        found = best if best is not None and best.n < last.n and self.is_whole(best) else None
        if found is None and not can_begin:
            raise LostCheckpoint(f"{said}, and there is no other.")
        since = last.n - (trained if found is None else found.n)
        log.warning("%s: %d pulls are made again.", said, since)
        return found

    # -- removing -----------------------------------------------------------------------------------------------

    def tidy(self, counted: int, kept: Collection[Name]) -> set[Name]:
        """Remove what is of pulls up to ``counted``, which is known to be counted, except what is ``kept``.

        Temporary files of such pulls go too: a worker that is still writing one has lost its pull. Returns the
        checkpoints that are left, whether they count or not.
        """
        left = set()
        for name, path in list(self._listed()):
            is_whole = not path.name.endswith(".tmp")
            if name.n > counted or (is_whole and name in kept):
                left |= {name} if is_whole else set()
            else:
                remove(path)
        return left

    def drop(self, name: Name) -> None:
        """Remove one checkpoint, of a pull that is known to be counted."""
        remove(self.at(*name))

    def give_up(self) -> None:
        """Rename all checkpoints of the arm, to be removed by `finish_giving_up`: no process finds half of one."""
        for _, path in list(self._listed()):
            with suppress(FileNotFoundError):  # another process was faster
                path.rename(self.base / f"{_GIVEN_UP}{uuid4().hex}")

    def _listed(self) -> Iterator[tuple[Name, Path]]:
        """Checkpoints and temporary files of them, with what they are named after."""
        with suppress(FileNotFoundError):
            for file in os.listdir(self.path):
                n, _, id = file.removeprefix(CHECKPOINT).partition(".")[0].partition("-")
                if file.startswith(CHECKPOINT) and n.isdecimal() and id.isdecimal():
                    yield Name(int(n), int(id)), self.path / file

    def are_there(self) -> bool:
        """Whether the arm has any checkpoint, even one that is being written."""
        return next(self._listed(), None) is not None

    # -- whose error it was -------------------------------------------------------------------------------------

    def check_disk(self, error: Exception) -> None:
        """After a failed save or command: raise the error of the disk with which a synced write fails, if it does.

        Frameworks and commands wrap errors of the disk, so that ``error`` itself may not tell.
        """
        probe = self.path / f".probe-{uuid4().hex}.tmp"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with probe.open("xb") as file:
                with suppress(OSError):  # at once, where a system can: this process may be killed
                    probe.unlink()
                file.write(bytes(_PROBE))
                file.flush()
                os.fsync(file.fileno())
        except OSError as found:
            if found.errno in _MACHINE:
                raise found from error
        finally:
            with suppress(OSError):
                probe.unlink(missing_ok=True)


def disk_error(error: BaseException | None) -> str:
    """The sentence of an error of the disk, or of what caused an error; "" if there is none."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, OSError) and error.errno in _MACHINE:
            where = f": {error.filename}" if error.filename else ""
            return f"{os.strerror(error.errno)}{where}"
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return ""


def finish_giving_up(base: Path) -> None:
    """Remove what arms have given up, here or in a process that died before it could."""
    with suppress(FileNotFoundError):
        for path in base.iterdir():
            if path.name.startswith(_GIVEN_UP):
                remove(path)


def _size(path: Path) -> int:
    """Bytes in a file, or in all files of a folder; -1 if there is nothing."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return -1
    return sum(max(0, _size(inner)) for inner in path.iterdir()) if stat.S_ISDIR(found.st_mode) else found.st_size


def _digest(path: Path) -> str:
    """SHA-256 of a file, or of the names and contents of the files in a folder."""
    found = hashlib.sha256()
    for file in sorted(inner for inner in path.rglob("*") if inner.is_file()) if path.is_dir() else [path]:
        if file != path:
            found.update(f"{file.relative_to(path)}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as opened:
            while block := opened.read(2**20):
                found.update(block)
    return found.hexdigest()
