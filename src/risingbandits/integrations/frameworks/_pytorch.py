"""What arms share that train with PyTorch: states in files, checkpoints of a framework, schedules with an end."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits._core.files import remove, whole
from risingbandits.integrations.frameworks._training import TrainingArm, not_a_checkpoint

_FORMAT = 1
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
# The setting that is the planned length, by the name of the schedule.
_PLANNED = {"CosineAnnealingLR": "T_max", "OneCycleLR": "total_steps", "PolynomialLR": "total_iters"}
# Keywords of the functions that Transformers makes its LambdaLR of.
_LAMBDA_KEYWORDS = ("num_training_steps", "num_decay_steps")


def plain(state: Any, where: str) -> Any:
    """``state`` with arrays as tensors, if everything else in it is a number, a string or a tensor.

    >>> plain({"rate": np.float64(0.5), "steps": [1, 2]}, "state")
    {'rate': 0.5, 'steps': [1, 2]}
    >>> plain({"rates": [abs]}, "state")
    Traceback (most recent call last):
        ...
    risingbandits.RisingBanditsError: state.rates[0] must be made of numbers, strings and tensors to be saved, got ...
    """
    import torch  # here, so that the arm says what a missing library is needed for

    if isinstance(state, np.ndarray):
        return torch.from_numpy(np.array(state))
    if isinstance(state, np.generic):
        return state.item()
    if isinstance(state, Mapping):
        return {key: plain(part, f"{where}.{key}") for key, part in state.items()}
    if isinstance(state, tuple | list) and not isinstance(state, torch.Size):
        return type(state)(plain(part, f"{where}[{i}]") for i, part in enumerate(state))
    if isinstance(state, (*_PLAIN, torch.Tensor, torch.Size, torch.dtype, torch.device)):
        return state
    raise RisingBanditsError(f"{where} must be made of numbers, strings and tensors to be saved, got {shown(state)}.")


class FolderArm(TrainingArm):
    """An arm that trains from the framework's last checkpoint, whether that was written here or elsewhere.

    A checkpoint of the arm is a folder: ``arm.pt`` with the random states and the weights; after the first pull also
    ``checkpoint``, what the framework wrote, which any program of the framework can load.
    """

    def __init__(self, metric: str | None, direction: str | None, cost: Any, costs: tuple[str, ...], seed: int) -> None:
        super().__init__(metric, direction, cost, costs, seed)
        #: A folder of its own for the framework to write to; it is removed with the arm.
        self.work = Path(tempfile.mkdtemp(prefix="risingbandits-"))
        weakref.finalize(self, shutil.rmtree, self.work, ignore_errors=True)
        self.last: Path | None = None  # the framework's checkpoint of the last pull

    @property
    @abstractmethod
    def _module(self) -> Any:
        """The PyTorch module that learns."""

    def _keep_last(self, path: Path) -> None:
        """``path`` is the checkpoint to continue from; the one before is no longer needed."""
        before, self.last = self.last, path
        if before is not None and before != path:
            remove(before)

    def save(self, path: Path) -> None:
        """Write the folder ``path``, atomically."""
        import torch  # here, so that a missing Lightning or Transformers is reported first

        with whole(Path(path)) as temporary:
            temporary.mkdir()
            state: dict[str, Any] = {"format": _FORMAT, "pulls": self.pulls, "random": self._randomness.states}
            # The framework's checkpoint has the weights, too, but is read only when training goes on: an arm that is
            # loaded to be used, not trained further, needs them at once.
            torch.save({**plain(state, "state"), "model": self._module.state_dict()}, temporary / "arm.pt")
            if self.last is not None:
                _copy(self.last, temporary / "checkpoint")

    def load(self, path: Path) -> None:
        """Read what `save` wrote."""
        import torch

        try:
            state = torch.load(Path(path) / "arm.pt", map_location="cpu", weights_only=True)
            if state["format"] != _FORMAT:
                raise ValueError(f"format {state['format']}")
            last = None
            if (Path(path) / "checkpoint").exists():
                last = self.work / f"loaded-{state['pulls']}"
                remove(last)
                _copy(Path(path) / "checkpoint", last)
            elif state["pulls"]:
                raise FileNotFoundError("no checkpoint in it")
            self._module.load_state_dict(state["model"])
        except Exception as error:  # whatever PyTorch makes of a file that is none of its own
            raise not_a_checkpoint(path, type(self).__name__, error) from None
        if self.last is not None and self.last != last:
            remove(self.last)
        self.last, self.pulls, self._randomness.states = last, state["pulls"], state["random"]


def _copy(source: Path, target: Path) -> None:
    """Copy a file or a folder, by links if possible: such files are replaced, never changed."""
    if source.is_dir():
        shutil.copytree(source, target, copy_function=_link)
    elif source.exists():
        _link(source, target)
    else:
        raise FileNotFoundError(str(source))


def _link(source: Any, target: Any) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk, or one without links
        shutil.copy2(source, target)


def run_piece(train: Callable[[], Any], arm: str) -> Any:
    """Train; if a framework cannot use a checkpoint, the error is one sentence."""
    try:
        return train()
    except (KeyError, RuntimeError, ValueError, OSError) as error:
        if isinstance(error, RisingBanditsError):
            raise
        said = (str(error).strip().splitlines() or [""])[0]
        raise RisingBanditsError(f"arm {arm!r} cannot be trained further: {type(error).__name__}: {said}") from error


def planned_schedule(scheduler: Any) -> str | None:
    """The schedule that ends at a planned step, as ``Name(setting=value)``; None if there is none.

    Warm-ups also end, but leave the rate constant afterwards, and steps such as those of StepLR do not depend on when
    training ends.
    """
    name = type(scheduler).__name__
    for part in getattr(scheduler, "_schedulers", ()):  # SequentialLR, ChainedScheduler
        if found := planned_schedule(part):
            return found
    if name in _PLANNED:
        return f"{name}({_PLANNED[name]}={getattr(scheduler, _PLANNED[name], '?')})"
    if name == "LinearLR" and scheduler.end_factor < scheduler.start_factor:
        return f"LinearLR(total_iters={scheduler.total_iters})"
    for function in getattr(scheduler, "lr_lambdas", ()):
        keywords = getattr(function, "keywords", None) or {}
        for keyword in _LAMBDA_KEYWORDS:
            if keywords.get(keyword) is not None:
                return f"LambdaLR({keyword}={keywords[keyword]})"
    return None
