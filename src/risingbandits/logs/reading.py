"""Find out what a file or a folder is, by its content, and read the runs in it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.logs import _tables as tables
from risingbandits.logs import _tracking as tracking
from risingbandits.logs._columns import NotCsv, arm_columns, csv_file
from risingbandits.logs._event_files import is_event_file, read_event_file
from risingbandits.logs._wandb_files import add_wandb_run, is_wandb_file
from risingbandits.logs.runs import Recording, Series

_SQLITE, _PARQUET = b"SQLite format 3\0", b"PAR1"
_STORE = {"settings", "events"}  # the tables of a store of ours
# Files that are called the same in every run: the folder tells the runs apart.
_USUAL = {"metrics.csv", "progress.csv", "result.json", "trainer_state.json", "log.csv", "history.csv", "training.log"}
_TRAINER, _CHECKPOINT = "trainer_state.json", re.compile(r"checkpoint-(\d+)")
_UNKNOWN = (
    "must be a log that can be read: event files or CSV of TensorBoard, files or CSV of Weights & Biases, MLflow's "
    "folder or database, trainer_state.json, CSV of Lightning or Keras, a database of Optuna, progress.csv or "
    "result.json of Ray Tune, or a table as CSV, JSON lines or Parquet"
)


def read_runs(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Recording:
    """The training runs in files and folders, whatever wrote them.

    Parameters
    ----------
    paths : path, or several
        A file is recognised by its content. A folder is searched; files in it that are not logs are skipped and
        counted.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small net.csv"
    ...     _ = path.write_text("epoch,loss,val_acc\\n0,1.2,0.5\\n1,0.9,0.6\\n")
    ...     found = read_runs(path)
    >>> found.runs[0].name, found.metrics, found.runs[0].metrics["val_acc"].values.tolist()
    ('small net', ['loss', 'val_acc'], [0.5, 0.6])
    """
    several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    into = Recording()
    for given in several:
        path = Path(given).expanduser()
        if path.is_dir():
            _read_folder(path, into)
        elif path.is_file():
            if not _read_file(path, _name(path, path.parent), into):
                raise RisingBanditsError(f"{path} {_UNKNOWN}.")
        else:
            raise RisingBanditsError(f"{path} does not exist.")
    if not into.runs:
        why = f": {into.notes[0]}" if into.notes else "."
        raise RisingBanditsError(
            f"paths must have runs in them, found none in {shown([str(path) for path in several])}{why}"
        )
    return into


def is_store(path: Path) -> bool:
    """Whether a file is a store of an allocation."""
    return path.is_file() and _head(path).startswith(_SQLITE) and tracking.tables_in(path) >= _STORE


@contextmanager
def _noted(into: Recording) -> Iterator[None]:
    """Inside, a file that cannot be read becomes a note, and the others of the folder are still read."""
    try:
        yield
    except RisingBanditsError as error:
        into.notes.append(str(error))


def _read_folder(root: Path, into: Recording) -> None:
    skipped = 0
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if tracking.is_mlflow_run(here):
            folders.clear()
            with _noted(into):
                tracking.add_mlflow_run(here, into)
            continue
        event_files = []
        for name in sorted(files):
            path = here / name
            if name.startswith(".") or not os.access(path, os.R_OK):
                continue
            if is_event_file(_head(path)):
                event_files.append(path)
                continue
            if {"progress.csv", "result.json"} <= set(files) and name == "progress.csv":
                continue  # Ray Tune writes both; result.json has more
            if name == _TRAINER and _is_older_checkpoint(here):
                continue
            with _noted(into):
                skipped += not _read_file(path, _name(path, root), into)
        if event_files:
            with _noted(into):
                _add_event_files(here, event_files, _relative(here, root), into)
    if skipped:
        many = f"{skipped} other files in {root} are not logs."
        into.notes.append(many if skipped > 1 else f"1 other file in {root} is not a log.")


def _is_older_checkpoint(folder: Path) -> bool:
    """Whether what a Hugging Face trainer has left here is only the beginning of what is in a later checkpoint."""
    match = _CHECKPOINT.fullmatch(folder.name)
    if match is None:
        return False
    if (folder.parent / _TRAINER).is_file():
        return True
    others = (_CHECKPOINT.fullmatch(path.parent.name) for path in folder.parent.glob(f"checkpoint-*/{_TRAINER}"))
    return any(other is not None and int(other[1]) > int(match[1]) for other in others)


def _read_file(path: Path, name: str, into: Recording) -> bool:
    """Read a file, if it is a log."""
    head = _head(path)
    if head.startswith(_SQLITE):
        return _read_database(path, into)
    if head.startswith(_PARQUET):
        tables.add_parquet(path, name, into)
        return True
    if is_event_file(head):
        _add_event_files(path, [path], name if name != path.stem else path.parent.name, into)
        return True
    if is_wandb_file(head):
        add_wandb_run(path, name, into)
        return True
    if b"\0" in head:
        return False
    try:
        if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
            return _read_json(path, name, path.read_text(encoding="utf-8-sig"), into)
    except (OSError, UnicodeDecodeError):
        return False
    return _read_csv(path, name, into)


def _read_csv(path: Path, name: str, into: Recording) -> bool:
    named = path.suffix.lower() == ".csv"
    try:
        with csv_file(path) as file:
            if not named and (len(file.header) < 2 or file.empty):
                return False
            if {"task", "arm", "step", "value"} <= set(file.header):
                tables.add_long(file, into)
                return True
            if tables.is_log_table(file.header) and not file.empty:
                tables.add_csv(name, file, into)
                return True
            try:
                columns = arm_columns(file)
            except RisingBanditsError:
                if named:
                    raise
                return False
    except NotCsv:
        if named:
            raise
        return False
    for arm, values in columns.items():
        written = {"value": Series(np.arange(1.0, len(values) + 1.0), values)}
        into.add_log(arm, written, source=path, kind="a column for each arm")
    return True


def _read_json(path: Path, name: str, text: str, into: Recording) -> bool:
    try:
        content = json.loads(text)
    except RecursionError:
        return False
    except ValueError:
        rows = tables.json_lines(path, text)
    else:
        if isinstance(content, dict) and isinstance(content.get("log_history"), list):
            tracking.add_trainer_state(path, name, content, into)
            return True
        rows = [tables.flat(content)]
    if rows and tracking.is_optuna_journal(rows[0]):
        tracking.add_optuna_journal(path, rows, into)
        return True
    if not tables.is_log_table([column for row in rows[:50] for column in row]):
        return False
    tables.add_rows(path, name, "Ray Tune" if "training_iteration" in rows[0] else "", rows, into)
    return True


def _read_database(path: Path, into: Recording) -> bool:
    present = tracking.tables_in(path)
    if {"trials", "trial_intermediate_values"} <= present:
        tracking.add_optuna_database(path, into)
    elif {"runs", "metrics", "params"} <= present:
        tracking.add_mlflow_database(path, into)
    else:
        return False
    return True


def _add_event_files(source: Path, files: list[Path], name: str, into: Recording) -> None:
    """A run whose files follow each other by name: each begins with the time when it was opened."""
    parts: dict[str, list[Series]] = {}
    for path in files:
        for tag, written in read_event_file(path).items():
            parts.setdefault(tag, []).append(written)
    joined = {tag: own[0] if len(own) == 1 else _joined(own) for tag, own in parts.items()}
    into.add_log(name, joined, source=source, kind="TensorBoard")


def _joined(parts: list[Series]) -> Series:
    return Series(*(np.concatenate(own) for own in zip(*parts, strict=True)))


def _name(path: Path, root: Path) -> str:
    """The name of a run whose log has none: its file, or its folder if all files have the same name."""
    if path.name == _TRAINER and _CHECKPOINT.fullmatch(path.parent.name) and path.parent != root:
        return _relative(path.parent.parent, root)
    if path.name.lower() in _USUAL:
        return _relative(path.parent, root)
    inside = path.parent.relative_to(root).as_posix() if path.is_relative_to(root) else "."
    return path.stem if inside == "." else f"{inside}/{path.stem}"


def _relative(folder: Path, root: Path) -> str:
    """A folder by its place in the given one, or by its own name if it is that one."""
    inside = folder.relative_to(root).as_posix()
    return folder.absolute().name if inside == "." else inside


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4096)
    except OSError as error:
        raise RisingBanditsError(f"{path} cannot be read: {error.strerror}.") from error
