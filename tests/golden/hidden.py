"""The names that the golden tests need and that are not public: adapt them here when modules move."""

from __future__ import annotations

from risingbandits.allocation.arms.checkpointed import Checkpointed
from risingbandits.cli import run as run_command

__all__ = ["Checkpointed", "run_command"]
