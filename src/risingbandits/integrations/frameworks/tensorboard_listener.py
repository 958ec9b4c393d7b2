"""Logs every pull that counts to TensorBoard; see docs/adapters.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from risingbandits._core.errors import missing
from risingbandits.allocation.listeners import Told
from risingbandits.allocation.pull import folder_name


def _writer_class() -> Any:
    for module in ("tensorboardX", "torch.utils.tensorboard"):
        try:
            return __import__(module, fromlist=["SummaryWriter"]).SummaryWriter
        except ImportError:
            pass
    raise missing("tensorboardX or PyTorch's TensorBoard", "TensorBoardListener", "tensorboard")


class TensorBoardListener:
    """Logs ``reward`` and ``cost`` by the number of the pull, each arm as a run of its own below ``folder``."""

    def __init__(self, folder: str | Path) -> None:
        self.folder, self._class = Path(folder), _writer_class()
        self._writers: dict[str, Any] = {}

    def __call__(self, told: Told) -> None:
        if told.arm not in self._writers:
            self._writers[told.arm] = self._class(str(self.folder / folder_name(told.arm)))
        writer = self._writers[told.arm]
        writer.add_scalar("reward", told.reward, told.n)
        writer.add_scalar("cost", told.cost, told.n)
        writer.flush()  # a process that is killed afterwards has logged it

    def close(self) -> None:
        """Close the files; a later pull opens another one beside them."""
        for arm in list(self._writers):
            self._writers.pop(arm).close()
