"""The names that the golden tests need and that are not public: adapt them here when modules move."""

from __future__ import annotations

from risingbandits.allocation.arms.checkpointed import RestoredArm
from risingbandits.cli import run as run_command

__all__ = ["RestoredArm", "run_command"]
