"""`TorchArm`: pull n is the same whatever happened in between, and whatever goes wrong is one sentence."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, Dataset

from frameworks.digits import TRAIN, VALID, network, tensors
from risingbandits import Allocator, Budget, RisingBanditsError
from risingbandits.allocation import Pull
from risingbandits.integrations import TorchArm
from risingbandits.testing import check_arm, check_failing_arm, check_killed_arm


class Shaky(Dataset):
    """Pictures that are shaken at random, by the generators of Python, NumPy and PyTorch."""

    data = tensors(TRAIN)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, row: int) -> Any:
        image, label = self.data[row]
        shift = random.random() + np.random.rand() + torch.rand(())  # noqa: NPY002
        return image + 0.1 * shift, label


def loss_of(model: Any, batch: Any) -> Any:
    return functional.cross_entropy(model(batch[0]), batch[1])


def accuracy(model: Any) -> Any:
    images, labels = tensors(VALID).tensors
    logits = model(images)
    return {
        "accuracy": (logits.argmax(1) == labels).float().mean(),
        "loss": functional.cross_entropy(logits, labels).item(),
    }


def make(
    *,
    steps: int | None = None,
    workers: int = 0,
    schedule: str | None = None,
    own_generator: bool = False,
    metric: str | None = "loss",
    scaled: bool = False,
    evaluate: Any = accuracy,
    train_step: Any = loss_of,
    **settings: Any,
) -> TorchArm:
    model = network()
    model.register_buffer("seen", torch.zeros(()))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedulers: dict[str | None, Any] = {
        None: lambda: None,
        "steps": lambda: lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.5),
        "warm-up": lambda: lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=20),
        "plateau": lambda: lr_scheduler.ReduceLROnPlateau(optimizer, patience=0),
    }

    def loader() -> Any:
        generator = torch.Generator().manual_seed(3) if own_generator else None
        return DataLoader(Shaky(), batch_size=64, shuffle=True, num_workers=workers, generator=generator)

    scaler = torch.amp.GradScaler("cpu") if scaled else None
    settings = {"scaler": scaler, "direction": "minimize" if metric == "loss" else "maximize", **settings}
    return TorchArm(
        model,
        optimizer,
        loader,
        train_step,
        evaluate,
        scheduler=schedulers[schedule](),
        steps=steps,
        metric=metric,
        **settings,
    )


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"steps": 3},  # 7 batches an epoch: pulls end in the middle of it, and at its end
        {"steps": 3, "own_generator": True},
        {"steps": 10, "schedule": "steps", "park": True},
        {"steps": 4, "schedule": "warm-up", "cost": "samples"},
        {"schedule": "plateau"},
        {"scaled": True},
    ],
    ids=str,
)
def test_contract(settings: dict[str, Any]) -> None:
    """Losses, which differ in their last bits wherever anything differs, must be equal."""
    check_arm(partial(make, **settings), pulls=5)


def test_contract_with_worker_processes() -> None:
    check_arm(partial(make, steps=3, workers=1), pulls=3)


def test_killed() -> None:
    check_killed_arm(partial(make, steps=3), pulls=3)


def test_two_arms_do_not_disturb_each_other_nor_the_program() -> None:
    alone = [make(steps=3).pull(Pull(1, "a", 1)).reward]
    first, second = make(steps=3), make(steps=3)
    outside = random.getstate(), torch.get_rng_state()
    rewards = [(first.pull(Pull(n, "a", n)).reward, second.pull(Pull(n, "b", n)).reward) for n in (1, 2, 3)]
    assert rewards[0][0] == alone[0]
    assert all(one == other for one, other in rewards)
    assert random.getstate() == outside[0]
    assert torch.equal(torch.get_rng_state(), outside[1])


def test_equals_the_plain_loop() -> None:
    """The reference: the loop as everybody writes it."""
    arm = make(schedule="steps", steps=None)
    losses = [arm.pull(Pull(n, "a", n)).reward for n in (1, 2, 3)]
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.5)
    random.seed(0), np.random.seed(0), torch.manual_seed(0)  # noqa: NPY002
    expected = []
    for _ in range(3):
        model.train()
        for batch in DataLoader(Shaky(), batch_size=64, shuffle=True):
            optimizer.zero_grad()
            loss_of(model, batch).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            expected.append(accuracy(model)["loss"])
    assert losses == expected


def test_a_step_that_does_all_itself(recwarn: pytest.WarningsRecorder) -> None:
    def own(optimizer: Any, model: Any, batch: Any) -> float:
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    arm, other = make(), make()
    arm.train_step = partial(own, arm.optimizer)
    for n in (1, 2):
        assert arm.pull(Pull(n, "a", n)) == other.pull(Pull(n, "a", n))
    assert not list(recwarn), "training that does something is not doubted"


def forgotten(model: Any, batch: Any) -> None:
    loss_of(model, batch).backward()


def no_gradient(model: Any, batch: Any) -> float:
    return float(loss_of(model, batch).item())


@pytest.mark.parametrize("train_step", [forgotten, no_gradient])
def test_training_that_does_nothing_is_noticed_in_the_first_pull(train_step: Any) -> None:
    said = "training of arm 'a' did nothing: .*return the loss, or step the optimiser yourself"
    with pytest.warns(UserWarning, match=said) as warned:
        pulled_twice(train_step=train_step, steps=2)
    assert len(warned) == 1


def test_costs() -> None:
    assert make(steps=7, cost="samples").pull(Pull(1, "a", 1)).cost == 400
    assert make(steps=3, cost="steps").pull(Pull(1, "a", 1)).cost == 3
    assert make(steps=3, cost=lambda batch: batch[0].numel()).pull(Pull(1, "a", 1)).cost == 3 * 64 * 64
    allocator = Allocator(
        {"a": partial(make, cost="samples")}, Budget(cost=1000), direction="minimize", reward_range=None
    )
    allocator.run(progress=False)
    assert allocator.spent == 1200


def test_devices_from_slots() -> None:
    """There is one device here, so that its name is looked at: cpu:0 is another one than cpu for PyTorch."""
    arm = make(steps=1, park=True)
    seen = []
    step = arm.train_step
    arm.train_step = lambda model, batch: (seen.append(str(batch[0].device)), step(model, batch))[1]  # type: ignore[func-returns-value]
    moves: list[str] = []
    move = arm._move_to
    arm._move_to = lambda device, pull: (moves.append(str(device)), move(device, pull))[1]  # type: ignore[func-returns-value, method-assign]
    arm.pull(Pull(1, "a", 1, slot="cpu"))
    arm.pull(Pull(2, "a", 2, slot="the machine in the corner"))  # no device: it stays where it is
    assert moves == ["cpu", "cpu", "cpu"]
    assert seen == ["cpu", "cpu"]
    with pytest.raises(RisingBanditsError, match=r"^'a' cannot be trained on 'cuda:99' here: .+"):
        make(device=lambda slot: f"cuda:{slot}").pull(Pull(1, "a", 1, slot="99"))


def test_state_of_the_optimiser_moves_with_the_model() -> None:
    arm = make(steps=1)
    arm.pull(Pull(1, "a", 1))
    arm.model.to = lambda device: arm.model.double()  # seen from the optimiser, as good as another device
    arm._move_to(torch.device("cuda:0"), Pull(2, "a", 2))
    assert {state["exp_avg"].dtype for state in arm.optimizer.state.values()} == {torch.float64}


@pytest.mark.parametrize(
    ("scheduler", "said"),
    [
        (lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=50), "CosineAnnealingLR(T_max=50)"),
        (lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=70), "OneCycleLR(total_steps=70)"),
        (lambda o: lr_scheduler.PolynomialLR(o, total_iters=30), "PolynomialLR(total_iters=30)"),
        (lambda o: lr_scheduler.LinearLR(o, 1.0, 0.1, total_iters=9), "LinearLR(total_iters=9)"),
        (
            lambda o: lr_scheduler.SequentialLR(
                o, [lr_scheduler.LinearLR(o, 0.1, 1.0), lr_scheduler.CosineAnnealingLR(o, 20)], [5]
            ),
            "CosineAnnealingLR(T_max=20)",
        ),
    ],
)
def test_schedules_with_a_planned_length_are_named(scheduler: Any, said: str) -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.warns(UserWarning, match="is bound to a planned length") as warned:
        TorchArm(model, optimizer, list, loss_of, accuracy, scheduler=scheduler(optimizer))
    [warning] = [str(one.message) for one in warned if "planned" in str(one.message)]
    assert warning.startswith(said)
    assert warning.count(".") - said.count(".") - warning.count(".md") == 1  # one sentence


def test_other_schedules_are_not(recwarn: pytest.WarningsRecorder) -> None:
    for schedule in ("steps", "warm-up", "plateau"):
        make(schedule=schedule)
    assert [str(one.message) for one in recwarn if "planned" in str(one.message)] == []


def diverge(model: Any, batch: Any) -> Any:
    """A loss that is none after 14 steps, two pulls, which the model counts itself."""
    model.seen += 1
    return loss_of(model, batch) * (float("nan") if model.seen > 14 else 1.0)


def test_failures_are_one_sentence_and_lose_nothing() -> None:
    said = check_failing_arm(partial(make, metric="acuracy"))
    assert "metric must be one of accuracy, loss; got 'acuracy', did you mean 'accuracy'?" in said
    said = check_failing_arm(partial(make, train_step=diverge), good_pulls=2)
    assert "the training loss of arm 'fails' is nan, so this pull does not count" in said
    said = check_failing_arm(partial(make, evaluate=lambda model: float("inf"), metric=""))
    assert "the evaluation of arm 'fails' is inf" in said


def test_bad_arguments() -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for settings, said in (
        ({"steps": 0}, "steps must be an integer >= 1, got 0."),
        ({"cost": "rows"}, "cost must be one of samples, steps; got 'rows'."),
        ({"direction": "up"}, "direction must be one of maximize, minimize; got 'up'."),
        ({"schedule": "batch"}, "schedule must be one of epoch, step; got 'batch'."),
    ):
        with pytest.raises(RisingBanditsError) as error:
            TorchArm(model, optimizer, list, loss_of, accuracy, **settings)
        assert str(error.value) == said
    with pytest.raises(RisingBanditsError, match=r"model must be a torch\.nn\.Module"):
        TorchArm(None, optimizer, list, loss_of, accuracy)
    with pytest.raises(RisingBanditsError, match="loader must give at least one batch"):
        TorchArm(model, optimizer, list, loss_of, accuracy).pull(Pull(1, "a", 1))


def test_checkpoints_of_others(tmp_path: Path) -> None:
    arm = make(schedule="steps")
    arm.save(tmp_path / "checkpoint")
    with pytest.raises(RisingBanditsError, match=r"is not a checkpoint of this TorchArm \(ValueError: scheduler"):
        make().load(tmp_path / "checkpoint")
    wide = network(width=20)
    other = TorchArm(wide, torch.optim.SGD(wide.parameters(), lr=0.1), list, loss_of, accuracy)
    with pytest.raises(RisingBanditsError, match=r"is not a checkpoint of this TorchArm \(RuntimeError"):
        other.load(tmp_path / "checkpoint")


def only(name: str, model: Any) -> Any:
    return {name: accuracy(model)["loss"]}


def pulled_twice(**settings: Any) -> None:
    arm = make(**settings)
    for n in (1, 2):
        arm.pull(Pull(n, "a", n))


@pytest.mark.parametrize(
    ("name", "direction"),
    [("loss", "minimize"), ("accuracy", "maximize"), ("neg_log_loss", "maximize"), ("width", None)],
)
def test_the_name_of_the_metric_says_the_direction(name: str, direction: str | None) -> None:
    given: dict[str, Any] = {"metric": name, "evaluate": partial(only, name), "steps": 1}
    arm = make(**given, direction=None)
    assert arm.direction == direction
    with Allocator({"a": arm}, 2, reward_range=None) as allocator:
        assert allocator.settings.direction == (direction or "maximize")
        allocator.run(progress=False)
    assert make(**given, direction="maximize").direction == "maximize", "what is given wins"


def test_an_inferred_loss_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        make(metric="val_error_rate", direction=None)
    assert [r.message for r in caplog.records] == ["val_error_rate is minimised, by the word 'error' in its name."]
