"""A Hugging Face Trainer as an arm: `TrainerArm`."""

from __future__ import annotations

import math
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_positive_int, missing, shown
from risingbandits._core.files import remove
from risingbandits.allocation.pull import Pull
from risingbandits.integrations.frameworks._pytorch import FolderArm, planned_schedule, run_piece
from risingbandits.integrations.frameworks._training import check_loss, warn_of_schedule

try:
    from transformers import Trainer, TrainerCallback
except ImportError:
    raise missing("Transformers", "TrainerArm", "transformers") from None

# The schedules that do not ask how long training will take.
_OPEN_ENDED = ("constant", "constant_with_warmup", "inverse_sqrt", "reduce_lr_on_plateau", "greedy")


class TrainerArm(FolderArm):
    """A Trainer; a pull is some more steps, with ``max_steps`` raised and ``resume_from_checkpoint``.

    The arm evaluates and saves at the end of each pull, in its own folder; the strategies in the arguments are turned
    off. Other callbacks, including loggers, work as usual.

    Parameters
    ----------
    trainer : transformers.Trainer
        With a model, training and evaluation data. Its process decides on the device, as CUDA_VISIBLE_DEVICES says.
    metric : str, optional
        What the evaluation gives, "eval_loss" or "accuracy" for "eval_accuracy"; None is ``metric_for_best_model`` of
        the arguments, else "eval_loss".
    greater_is_better : bool, optional
        None: that of the arguments, otherwise by the name of the metric.
    steps : int, optional
        Steps of the optimiser in a pull; None is an epoch.
    cost : None, "samples", "steps" or "tokens"
        What a pull reports as its cost; tokens are those of the inputs, as the Trainer counts them. None leaves it to
        the allocator's budget.
    seed : int
        Seed of the random numbers in training; call ``transformers.set_seed`` before you make the model.
    """

    def __init__(
        self,
        trainer: Any,
        *,
        metric: str | None = None,
        greater_is_better: bool | None = None,
        steps: int | None = None,
        cost: str | None = None,
        seed: int = 0,
    ) -> None:
        if not isinstance(trainer, Trainer):
            raise RisingBanditsError(f"trainer must be a transformers.Trainer, got {shown(trainer)}.")
        self.trainer, arguments = trainer, trainer.args
        metric = metric or arguments.metric_for_best_model or "eval_loss"
        metric = metric if metric.startswith("eval_") else f"eval_{metric}"
        if greater_is_better is None:
            greater_is_better = arguments.greater_is_better
        direction = {True: "maximize", False: "minimize", None: None}[greater_is_better]
        super().__init__(metric, direction, cost, ("samples", "steps", "tokens"), seed)
        self.steps = self._steps_of_an_epoch() if steps is None else check_positive_int("steps", steps)
        self._take_over(arguments)
        self._piece = _Piece(self)
        trainer.add_callback(self._piece)
        if found := _planned(trainer):
            warn_of_schedule(found)

    def _steps_of_an_epoch(self) -> int:
        batches = len(self.trainer.get_train_dataloader())
        return math.ceil(batches / int(self.trainer.args.gradient_accumulation_steps))

    def _take_over(self, arguments: Any) -> None:
        """The arm evaluates and saves, and must see losses that are not finite."""
        arguments.output_dir = str(self.work)
        for name in ("eval_strategy", "save_strategy"):
            setattr(arguments, name, type(getattr(arguments, name))("no"))
        arguments.load_best_model_at_end = arguments.logging_nan_inf_filter = False
        if self.cost == "tokens":
            arguments.include_num_input_tokens_seen = "all"

    @property
    def _module(self) -> Any:
        return self.trainer.model

    def _trained_further(self, pull: Pull) -> Any:
        arguments = self.trainer.args
        arguments.max_steps = (self.pulls + 1) * self.steps
        written = self.work / f"checkpoint-{arguments.max_steps}"
        remove(written)
        self._piece.metrics = {}
        path = None if self.last is None else str(self.last)
        done = run_piece(lambda: self.trainer.train(resume_from_checkpoint=path), pull.arm)
        check_loss(done.training_loss, pull.arm)
        self._keep_last(written)
        return {name: value for name, value in self._piece.metrics.items() if isinstance(value, int | float)}

    def _count(self, state: Any, tokens_before: int) -> None:
        arguments = self.trainer.args
        if self.cost == "steps":
            self._spent = self.steps
        elif self.cost == "samples":
            self._spent = self.steps * arguments.train_batch_size * arguments.gradient_accumulation_steps
        elif self.cost == "tokens":
            self._spent = state.num_input_tokens_seen - tokens_before


class _Piece(TrainerCallback):
    """Makes the Trainer evaluate and save at the end of a pull, and records the result."""

    def __init__(self, arm: TrainerArm) -> None:
        self.arm = arm
        self.metrics: dict[str, Any] = {}
        self.tokens = 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.tokens = state.num_input_tokens_seen

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step >= args.max_steps:
            control.should_evaluate = control.should_save = control.should_training_stop = True
            self.arm._count(state, self.tokens)

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any) -> None:
        self.metrics = dict(metrics or {})


def _planned(trainer: Any) -> str | None:
    """The schedule of a Trainer that is bound to a planned length, or None."""
    if trainer.lr_scheduler is not None:
        return planned_schedule(trainer.lr_scheduler)
    arguments = trainer.args
    name = str(getattr(arguments.lr_scheduler_type, "value", arguments.lr_scheduler_type))
    if name not in _OPEN_ENDED:
        return f"lr_scheduler_type={name!r}"
    if arguments.get_warmup_steps(1_000) != arguments.get_warmup_steps(2_000):
        return f"a warm-up of a share of all steps (lr_scheduler_type={name!r})"
    return None
