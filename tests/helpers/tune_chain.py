"""Trainables for the tests of the Tune scheduler, in a module of their own so that Tune's processes find them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ray import tune

from chain_arm import step


class TuneChain(tune.Trainable):  # type: ignore[misc, unused-ignore]
    """The chain of ``chain_arm`` as a trial: its score tells its whole past."""

    def setup(self, config: dict[str, Any]) -> None:
        self.state = config["name"]

    def step(self) -> dict[str, Any]:
        n = self.iteration + 1  # of the iteration that is being made
        self.state, score = step(self.state, n)
        if n == self.config.get("dies_at") and not Path(self.config["marker"]).exists():
            Path(self.config["marker"]).touch()
            os._exit(1)
        return {"score": score, "name": self.config["name"], "done": n == self.config.get("ends_at")}

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        (Path(checkpoint_dir) / "state").write_text(self.state)

    def load_checkpoint(self, checkpoint: Any) -> None:
        self.state = (Path(checkpoint) / "state").read_text()
