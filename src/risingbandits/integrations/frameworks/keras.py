"""A Keras model as an arm: `KerasArm`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_positive_int, missing, shown
from risingbandits._core.files import whole
from risingbandits.allocation.pull import Pull
from risingbandits.integrations.frameworks._randomness import capture, restore
from risingbandits.integrations.frameworks._training import (
    TrainingArm,
    check_loss,
    direction_of,
    not_a_checkpoint,
    warn_of_schedule,
)

try:
    import keras
except ImportError:
    raise missing("Keras", "KerasArm", "keras") from None

_FORMAT = 1
_PLANNED = ("CosineDecay", "PolynomialDecay")  # the schedules of Keras that end after ``decay_steps``


class KerasArm(TrainingArm):
    """A compiled Keras 3 model; a pull is ``model.fit`` for some more epochs.

    A checkpoint holds the weights, the state of the optimiser and the random states, as plain arrays in an npz file.
    Whether a resumed pull is equal bit for bit is tested with PyTorch as the backend; TensorFlow and JAX may shuffle
    with their own generators.

    Parameters
    ----------
    model : keras.Model
        Compiled, with known input shapes.
    x, y
        What ``model.fit`` takes: arrays, or a data set as ``x``.
    validation_data
        What ``model.fit`` takes; without it there are only metrics of the training data.
    monitor : str
        The name of the metric, "val_accuracy".
    mode : {"max", "min"}, optional
        Whether higher or lower is better; None: by the name of the metric.
    epochs : int
        Epochs per pull.
    cost : None, "samples" or "steps"
        What a pull reports as its cost; None leaves it to the allocator's budget.
    seed : int
        Seed of the random numbers in training; call ``keras.utils.set_random_seed`` before you make the model.
    **fit
        Other arguments of ``model.fit``, such as ``batch_size=32``. Callbacks restart with each pull.
    """

    def __init__(
        self,
        model: Any,
        x: Any,
        y: Any = None,
        *,
        validation_data: Any = None,
        monitor: str,
        mode: str | None = None,
        epochs: int = 1,
        cost: str | None = None,
        seed: int = 0,
        **fit: Any,
    ) -> None:
        if not isinstance(model, keras.Model) or not model.built or getattr(model, "optimizer", None) is None:
            raise RisingBanditsError(f"model must be a compiled keras.Model with known inputs, got {shown(model)}.")
        if cost == "samples" and not hasattr(x, "shape"):
            raise RisingBanditsError("cost must be 'steps' if x is not an array, got 'samples'.")
        self.model = model
        self.data = {"x": x, "y": y, "validation_data": validation_data, "verbose": 0, **fit}
        self.epochs = check_positive_int("epochs", epochs)
        self._has_fitted = False
        super().__init__(monitor, direction_of(mode), cost, ("samples", "steps"), seed)
        if not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        schedule = model.optimizer.get_config().get("learning_rate")
        if isinstance(schedule, dict) and schedule.get("class_name") in _PLANNED:
            warn_of_schedule(f"{schedule['class_name']}(decay_steps={schedule['config'].get('decay_steps')})")

    def _trained_further(self, pull: Pull) -> Any:
        done = self.pulls * self.epochs
        steps = _Steps()
        callbacks = [*(self.data.get("callbacks") or ()), steps]
        arguments = {**self.data, "callbacks": callbacks, "initial_epoch": done, "epochs": done + self.epochs}
        history = self.model.fit(**arguments).history
        self._has_fitted = True
        if self.cost == "steps":
            self._spent = steps.count
        elif self.cost == "samples":
            self._spent = self.epochs * self.data["x"].shape[0]
        check_loss(float(history["loss"][-1]), pull.arm)
        return {name: values[-1] for name, values in history.items()}

    def _fit_once(self) -> None:
        """Do a first fit in this process, which looks at the data to build metrics and draws random numbers for it.

        What it changes is overwritten. It is one step; a pull after it draws the same numbers as in the process before.
        """
        if not self._has_fitted:
            outside = capture()
            self.model.fit(**{**self.data, "epochs": 1, "steps_per_epoch": 1, "validation_steps": 1, "callbacks": None})
            self._has_fitted = True
            restore(outside)

    def _variables(self) -> list[Any]:
        """Everything that training changes: weights, states such as dropout's, the optimiser."""
        metrics = {id(variable) for variable in self.model.metrics_variables}
        learnt = [variable for variable in self.model.variables if id(variable) not in metrics]
        return [*learnt, *self.model.optimizer.variables]

    def save(self, path: Path) -> None:
        """Write the whole state to ``path``, atomically, as an npz file."""
        arrays = {f"variable-{i}": _array(variable) for i, variable in enumerate(self._variables())}
        text = json.dumps({"format": _FORMAT, "pulls": self.pulls, "random": _listed(self._randomness.states)})
        with whole(Path(path)) as temporary, temporary.open("wb") as file:
            np.savez(file, state=np.array(text), **arrays)

    def load(self, path: Path) -> None:
        """Read what `save` wrote; the file cannot run code."""
        try:
            with np.load(path, allow_pickle=False) as file:
                state = json.loads(str(file["state"]))
                arrays = [file[f"variable-{i}"] for i in range(len(file.files) - 1)]
            variables = self._variables()
            shapes = [tuple(variable.shape) for variable in variables]
            if state["format"] != _FORMAT or shapes != [array.shape for array in arrays]:
                raise ValueError("its variables differ")
        except Exception as error:  # whatever NumPy makes of a file that is none of its own
            raise not_a_checkpoint(path, "KerasArm", error) from None
        self._fit_once()
        for variable, array in zip(variables, arrays, strict=True):
            variable.assign(array)
        self.pulls, self._randomness.states = state["pulls"], state["random"]


class _Steps(keras.callbacks.Callback):
    """Counts batches."""

    count = 0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.count += 1


def _array(variable: Any) -> Any:
    array = np.asarray(keras.ops.convert_to_numpy(variable.value))
    return array if array.dtype.kind in "biufc" else array.astype(np.float32)  # which holds every bfloat16


def _listed(states: Any) -> Any:
    """Random states as JSON has them."""
    if isinstance(states, np.ndarray):
        return states.tolist()
    if isinstance(states, dict):
        return {name: _listed(part) for name, part in states.items()}
    return [_listed(part) for part in states] if isinstance(states, list) else states
