"""A PyTorch training loop as an arm: `TorchArm`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int, missing, shown
from risingbandits._core.files import whole
from risingbandits.allocation.pull import Pull
from risingbandits.integrations.frameworks._pytorch import plain, planned_schedule
from risingbandits.integrations.frameworks._randomness import as_tensor, capture, restore
from risingbandits.integrations.frameworks._training import (
    TrainingArm,
    check_loss,
    not_a_checkpoint,
    rows_of,
    warn_of_schedule,
    warn_user,
)

try:
    import torch
except ImportError:
    raise missing("PyTorch", "TorchArm", "torch") from None

_FORMAT = 1


class TorchArm(TrainingArm):
    """A model, its optimiser and the body of its loop; a pull is an epoch, or a number of steps.

    Pull n is the same, bit for bit on a CPU, whether the pulls before it were made in one go, between those of other
    arms or by processes that have ended since: a checkpoint holds the model, the optimiser, the schedule, the scaler,
    the states of all random generators and the place in the data.

    Parameters
    ----------
    model : torch.nn.Module
        What learns.
    optimizer : torch.optim.Optimizer
        The optimiser of the parameters of ``model``.
    loader : function without arguments, or iterable of batches
        Makes the data loader, or is one; each pass over it starts with ``iter``.
    train_step : callable ``train_step(model, batch)``
        The body of the loop. If it returns a loss with a gradient, the arm does the rest: ``zero_grad``, ``backward``,
        and the steps of the optimiser and the schedule. If it does all of that itself, it returns None or a number.
    evaluate : callable ``evaluate(model)``
        Returns the metric, or several by name; called without gradients and in evaluation mode.
    scheduler : learning-rate scheduler of PyTorch, optional
        Stepped after each epoch or step, see ``schedule``; a ReduceLROnPlateau after each pull, with the metric.
    scaler : torch.amp.GradScaler, optional
        For training in half precision.
    steps : int, optional
        Batches per pull; None is one pass over the data.
    schedule : {"epoch", "step"}
        Whether the scheduler is stepped after each epoch or each step.
    metric : str, optional
        Which of the numbers of ``evaluate`` is the reward, if it returns several.
    direction : {"maximize", "minimize"}, optional
        Whether higher is better; None: by the name of the metric, or as the allocator says.
    cost : None, "samples", "steps", or callable ``cost(batch)``
        What a pull reports as its cost, such as tokens; None leaves it to the allocator's budget.
    seed : int
        Seed of the random numbers in training. The initial weights are drawn before: call ``torch.manual_seed`` first.
    device : device, callable ``device(slot)``, or None
        Where to train; None: on the slot of the pull if that names a device, such as "cuda:1", otherwise where the
        model is.
    park : bool
        Whether to move the model and the optimiser to the CPU after each pull, so that idle arms leave the device free.

    Examples
    --------
    >>> import torch
    >>> from sklearn.datasets import load_digits
    >>> images, labels = (torch.tensor(part) for part in load_digits(return_X_y=True))
    >>> data = torch.utils.data.TensorDataset(images[:1200].float() / 16, labels[:1200])
    >>> def make():
    ...     torch.manual_seed(0)
    ...     model = torch.nn.Linear(64, 10)
    ...     return TorchArm(
    ...         model,
    ...         torch.optim.SGD(model.parameters(), lr=0.1),
    ...         lambda: torch.utils.data.DataLoader(data, batch_size=32, shuffle=True),
    ...         train_step=lambda model, batch: torch.nn.functional.cross_entropy(model(batch[0]), batch[1]),
    ...         evaluate=lambda model: (model(images[1200:].float() / 16).argmax(1) == labels[1200:]).float().mean(),
    ...     )
    >>> arm = make()
    >>> rewards = [arm.pull(Pull(n, "linear", n)).reward for n in (1, 2, 3)]
    >>> rewards[0] < rewards[-1] < 1
    True
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        loader: Callable[[], Iterable[Any]] | Iterable[Any],
        train_step: Callable[[Any, Any], Any],
        evaluate: Callable[[Any], Any],
        *,
        scheduler: Any = None,
        scaler: Any = None,
        steps: int | None = None,
        schedule: str = "epoch",
        metric: str | None = None,
        direction: str | None = None,
        cost: str | Callable[[Any], float] | None = None,
        seed: int = 0,
        device: Any = None,
        park: bool = False,
    ) -> None:
        if not isinstance(model, torch.nn.Module):
            raise RisingBanditsError(f"model must be a torch.nn.Module, got {shown(model)}.")
        self.model, self.optimizer, self.scheduler, self.scaler = model, optimizer, scheduler, scaler
        self.train_step, self.evaluate = train_step, evaluate
        self.steps = None if steps is None else check_positive_int("steps", steps)
        self.schedule = check_choice("schedule", schedule, ("epoch", "step"))
        self.device, self.park = device, park
        self.epoch, self.batch, self.trained = 0, 0, 0  # whole passes, batches of the present one, steps in all
        self._given_loader = loader
        self._loader: Any = None
        self._batches: Iterator[Any] | None = None
        self._epoch_began: dict[str, Any] = {}  # the random states at that time, to find the place in the data again
        self._steps_schedule = False  # whether the arm does: not where train_step does it all
        self._generator_state: Any = None  # of the loader's own generator, if it has one
        super().__init__(metric, direction, cost, ("samples", "steps"), seed)
        if scheduler is not None and (found := planned_schedule(scheduler)):
            warn_of_schedule(found)

    def _trained_further(self, pull: Pull) -> Any:
        device = self._device_of(pull.slot)
        if device is not None:
            self._move_to(device, pull)
        try:
            self._prepare_loader()
            self.model.train()
            self._train(pull.arm)
            self.model.eval()
            with torch.no_grad():
                results = self.evaluate(self.model)  # the model stays in this mode, ready to be used
            if self._on_plateau:
                value = results[self.metric] if isinstance(results, Mapping) and self.metric in results else results
                if not isinstance(value, Mapping):
                    self.scheduler.step(value)
            return results
        finally:
            self._generator_state = None if self._generator is None else self._generator.get_state().numpy().copy()
            if self.park:
                self._move_to(torch.device("cpu"), pull)

    def _train(self, arm: str) -> None:
        total: Any = 0.0  # stays on the device: looking at each loss would wait for it
        done, epoch = 0, self.epoch
        before = _copied(self.model) if self.trained == 0 else None  # until it is known that there is a loss to step by
        while self.epoch == epoch if self.steps is None else done < self.steps:
            batch = self._next_batch()
            if batch is None:
                if self._steps_schedule and self.schedule == "epoch":
                    self.scheduler.step()
                continue
            loss = self._stepped(batch)
            done += 1
            self.trained += 1
            self._count(batch)
            if isinstance(loss, torch.Tensor) and loss.requires_grad:
                before = None
            if loss is not None:
                total = total + (loss.detach() if isinstance(loss, torch.Tensor) else loss)
        check_loss(float(total), arm)
        if before is not None and all(map(torch.equal, before, _copied(self.model) or ())):
            warn_user(
                f"training of arm {arm!r} did nothing: train_step returned no loss with a gradient, and no parameter "
                "has changed in the first pull, so return the loss, or step the optimiser yourself."
            )

    def _stepped(self, batch: Any) -> Any:
        """One step; the loss."""
        if (device := next((p.device for p in self.model.parameters()), None)) is not None:
            batch = _moved(batch, device)
        loss = self.train_step(self.model, batch)
        leaves_the_rest = isinstance(loss, torch.Tensor) and loss.requires_grad
        self._steps_schedule = leaves_the_rest and self.scheduler is not None and not self._on_plateau
        if not leaves_the_rest:
            return loss
        self.optimizer.zero_grad()
        if self.scaler is None:
            loss.backward()
            self.optimizer.step()
        else:
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        if self._steps_schedule and self.schedule == "step":
            self.scheduler.step()
        return loss

    @property
    def _on_plateau(self) -> bool:
        return isinstance(self.scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau)

    def _count(self, batch: Any) -> None:
        if callable(self.cost):
            self._spent += float(self.cost(batch))
        elif self.cost == "steps":
            self._spent += 1
        elif self.cost == "samples":
            self._spent += rows_of(batch)

    # -- the data -----------------------------------------------------------------------------------------------

    @property
    def _generator(self) -> Any:
        return getattr(self._loader, "generator", None)

    def _prepare_loader(self) -> None:
        if self._loader is None:
            given = self._given_loader
            self._loader = given() if callable(given) else given
        if self._generator is not None and self._generator_state is not None:  # which other arms may share
            self._generator.set_state(as_tensor(self._generator_state))

    def _next_batch(self) -> Any:
        """The next batch; None at the end of an epoch."""
        if self._batches is None:
            self._batches = self._found_again() if self.batch else self._begun()
        try:
            found = next(self._batches)
        except StopIteration:
            self._batches = None
            if self.batch == 0:
                raise RisingBanditsError("loader must give at least one batch in each pass, got none.") from None
            self.epoch, self.batch = self.epoch + 1, 0
            return None
        self.batch += 1
        return found

    def _begun(self) -> Iterator[Any]:
        self._epoch_began = self._all_states()
        return self._iterated()

    def _iterated(self) -> Iterator[Any]:
        sampler: Any = getattr(self._loader, "sampler", None)
        if hasattr(sampler, "set_epoch"):
            sampler.set_epoch(self.epoch)
        return iter(self._loader)

    def _found_again(self) -> Iterator[Any]:
        """The present epoch from where it was left: the order is drawn as at the start of the epoch."""
        now = self._all_states()
        self._set_states(self._epoch_began)
        batches = self._iterated()
        for _ in range(self.batch):
            next(batches)
        self._set_states(now)
        return batches

    def _all_states(self) -> dict[str, Any]:
        own = {} if self._generator is None else {"loader": self._generator.get_state().numpy().copy()}
        return {**capture(), **own}

    def _set_states(self, states: Mapping[str, Any]) -> None:
        restore(states)
        if self._generator is not None and "loader" in states:
            self._generator.set_state(as_tensor(states["loader"]))

    # -- devices ------------------------------------------------------------------------------------------------

    def _device_of(self, slot: str) -> Any:
        """Where to train, or None to stay."""
        if callable(self.device):
            return torch.device(self.device(slot))
        if self.device is not None:
            return torch.device(self.device)
        try:
            return torch.device(slot) if slot else None
        except RuntimeError:  # the slot is called otherwise
            return None

    def _move_to(self, device: Any, pull: Pull) -> None:
        if all(parameter.device == device for parameter in self.model.parameters()):
            return
        try:
            self.model.to(device)
        except (AssertionError, RuntimeError) as error:
            said = str(error).splitlines()[0]
            raise RisingBanditsError(f"{pull.arm!r} cannot be trained on {str(device)!r} here: {said}") from None
        # An optimiser puts its state where the parameters are when it is loaded, but for what it keeps on the CPU.
        self.optimizer.load_state_dict(self.optimizer.state_dict())

    # -- checkpoints --------------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Write the whole state to ``path``, atomically, as a file that ``torch.load(weights_only=True)`` reads."""
        model = self.model.state_dict()  # as it is: it knows the versions of its modules
        plain(model, "model")
        state = {
            "format": _FORMAT,
            "optimizer": self.optimizer.state_dict(),
            "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
            "scaler": None if self.scaler is None else self.scaler.state_dict(),
            "random": self._randomness.states,
            "loader": self._generator_state,
            "epoch_began": self._epoch_began if self.batch else {},
            "place": {"epoch": self.epoch, "batch": self.batch, "trained": self.trained, "pulls": self.pulls},
            "steps_schedule": self._steps_schedule,
        }
        with whole(Path(path)) as temporary:
            torch.save({"model": model, **plain(state, "state")}, temporary)

    def load(self, path: Path) -> None:
        """Read what `save` wrote; the file cannot run code."""
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            if state["format"] != _FORMAT:
                raise ValueError(f"format {state['format']}")
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            for part, name in ((self.scheduler, "scheduler"), (self.scaler, "scaler")):
                if (part is None) != (state[name] is None):
                    raise ValueError(f"{name}: {'none' if part is None else 'one'} here, but not there")
                if part is not None:
                    part.load_state_dict(state[name])
            place = state["place"]
            self.epoch, self.batch, self.trained, self.pulls = (
                place[name] for name in ("epoch", "batch", "trained", "pulls")
            )
            self._randomness.states, self._epoch_began = state["random"], state["epoch_began"]
            self._generator_state, self._steps_schedule = state["loader"], state["steps_schedule"]
            self._batches = None
        except Exception as error:  # whatever PyTorch makes of a file that is none of its own
            raise not_a_checkpoint(path, "TorchArm", error) from None


def _copied(model: Any) -> list[Any] | None:
    """Copies of the parameters, on the CPU to leave the device free; None if there are none yet to compare."""
    parameters = list(model.parameters())
    if not parameters or any(map(torch.nn.parameter.is_lazy, parameters)):
        return None
    return [parameter.detach().to("cpu", copy=True) for parameter in parameters]


def _moved(batch: Any, device: Any) -> Any:
    """A batch with all its tensors on the device."""
    if isinstance(batch, torch.Tensor) or (hasattr(batch, "to") and not isinstance(batch, type)):
        return batch.to(device)
    if isinstance(batch, Mapping):
        return {name: _moved(part, device) for name, part in batch.items()}
    if isinstance(batch, tuple | list):
        parts = [_moved(part, device) for part in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return batch
