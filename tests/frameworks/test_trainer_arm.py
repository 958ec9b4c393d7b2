"""`TrainerArm`: a Hugging Face Trainer in pieces is the Trainer in one go."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

from frameworks.digits import IMAGES, LABELS, TRAIN, VALID
from risingbandits import RisingBanditsError
from risingbandits.allocation import Pull
from risingbandits.integrations import TrainerArm
from risingbandits.integrations.frameworks._randomness import Randomness
from risingbandits.testing import check_arm, check_failing_arm, check_killed_arm


def rows(part: slice) -> list[dict[str, Any]]:
    """Digits as texts of 64 words, one for each shade of grey."""
    words = torch.tensor(IMAGES[part] * 16).long()
    return [{"input_ids": one, "labels": int(label)} for one, label in zip(words, LABELS[part], strict=True)]


def accuracy(predicted: Any) -> dict[str, float]:
    return {"accuracy": float((predicted.predictions.argmax(-1) == predicted.label_ids).mean())}


class Diverging(Trainer):
    after = 10**9

    def compute_loss(self, *given: Any, **more: Any) -> Any:
        loss = super().compute_loss(*given, **more)
        broken = self.model.training and self.state.global_step >= self.after
        return loss * float("nan") if broken else loss


def trainer(folder: Path | str = "", diverges_after: int = 10**9, **settings: Any) -> Trainer:
    set_seed(0)
    config = BertConfig(
        vocab_size=17,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        num_labels=10,
    )
    arguments = TrainingArguments(
        output_dir=str(folder) or tempfile.gettempdir(),
        per_device_train_batch_size=50,
        per_device_eval_batch_size=300,
        learning_rate=0.01,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        **{"lr_scheduler_type": "constant", **settings},
    )
    made = Diverging(
        BertForSequenceClassification(config),
        arguments,
        train_dataset=rows(TRAIN),
        eval_dataset=rows(VALID),
        compute_metrics=accuracy,
    )
    made.after = diverges_after
    return made


def make(*, diverges_after: int = 10**9, arguments: Any = None, **settings: Any) -> TrainerArm:
    return TrainerArm(trainer(diverges_after=diverges_after, **(arguments or {})), **{"steps": 3, **settings})


def test_contract() -> None:
    """8 steps an epoch: pulls of 3 end in the middle of it."""
    check_arm(make, pulls=4)


def test_killed() -> None:
    check_killed_arm(make, pulls=3)


def test_equals_training_in_one_go(tmp_path: Path) -> None:
    found: list[float] = []

    class Note(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            control.should_evaluate = state.global_step % 3 == 0

        def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any) -> None:
            found.append(metrics["eval_loss"])

    arm = make()
    rewards = [arm.pull(Pull(n, "a", n)).reward for n in (1, 2, 3, 4)]
    plain = trainer(tmp_path, max_steps=12, save_strategy="no")
    plain.add_callback(Note())
    with Randomness(0).inside():
        plain.train()
    assert rewards == found
    for mine, expected in zip(arm.trainer.model.parameters(), plain.model.parameters(), strict=True):
        assert torch.equal(mine, expected)


def test_checkpoint_is_the_trainers_own(tmp_path: Path) -> None:
    arm = make(steps=None)
    arm.pull(Pull(1, "a", 1))
    arm.save(tmp_path / "saved")
    model = BertForSequenceClassification.from_pretrained(tmp_path / "saved" / "checkpoint")
    assert torch.equal(model.classifier.weight, arm.trainer.model.classifier.weight)
    state = (tmp_path / "saved" / "checkpoint" / "trainer_state.json").read_text()
    assert '"global_step": 8' in state
    assert [path.name for path in arm.work.iterdir()] == ["checkpoint-8"]


def test_costs() -> None:
    first = Pull(1, "a", 1)
    assert make(cost="steps").pull(first).cost == 3
    assert make(cost="samples").pull(first).cost == 150
    arm = make(cost="tokens")
    assert [arm.pull(Pull(n, "a", n)).cost for n in (1, 2)] == [150 * 64, 150 * 64]


def test_metric_and_direction() -> None:
    assert (make().metric, make().direction) == ("eval_loss", "minimize")
    assert (make(metric="accuracy").metric, make(metric="accuracy").direction) == ("eval_accuracy", "maximize")
    arm = make(arguments={"metric_for_best_model": "accuracy"})
    assert (arm.metric, arm.direction) == ("eval_accuracy", "maximize")
    assert make(metric="error", greater_is_better=False).direction == "minimize"
    assert make(metric="perplexity").direction == "minimize"
    with pytest.raises(RisingBanditsError, match=r"trainer must be a transformers\.Trainer, got None"):
        TrainerArm(None)
    with pytest.raises(RisingBanditsError, match="cost must be one of samples, steps, tokens; got 'epochs'"):
        make(cost="epochs")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"lr_scheduler_type": "linear"}, r"^lr_scheduler_type='linear' is bound to a planned length"),
        ({"lr_scheduler_type": "cosine"}, r"^lr_scheduler_type='cosine' is bound"),
        ({"lr_scheduler_type": "constant_with_warmup", "warmup_steps": 0.1}, "^a warm-up of a share of all steps"),
    ],
)
def test_schedules_with_a_planned_length_are_named(arguments: Any, said: str) -> None:
    with pytest.warns(UserWarning, match=said):
        make(arguments=arguments)


def test_failures() -> None:
    said = check_failing_arm(partial(make, metric="acuracy"))
    assert "got 'eval_acuracy', did you mean 'eval_accuracy'?" in said
    said = check_failing_arm(partial(make, diverges_after=3), good_pulls=1)
    assert "the training loss of arm 'fails' is nan" in said
