"""Tables of logs: whoever wrote them, the same runs come out."""

from __future__ import annotations

import json
import math
from ast import literal_eval
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from risingbandits import RisingBanditsError
from risingbandits.logs import Recording, read_runs
from texts import agree, cases


def values(found: Recording, metric: str) -> dict[str, list[float]]:
    return {run.name: run.metrics[metric].values.tolist() for run in found.runs if metric in run.metrics}


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_lightning_has_gaps_and_a_folder_for_each_run(tmp_path: Path) -> None:
    for version, level in ((0, 0.5), (1, 0.6)):
        put(
            tmp_path / f"version_{version}" / "metrics.csv",
            f"epoch,step,train_loss,val_acc\n0,49,1.5,\n0,49,,{level}\n1,99,1.2,\n1,99,,{level + 0.1}\n",
        )
    found = read_runs(tmp_path)
    assert values(found, "val_acc") == {"version_0": [0.5, 0.6], "version_1": [0.6, 0.7]}
    assert found.runs[0].metrics["val_acc"].steps.tolist() == [49.0, 99.0]
    assert found.notes == []


def test_keras_names_the_file(tmp_path: Path) -> None:
    path = put(tmp_path / "wide net.csv", "epoch,accuracy,loss,val_loss\n0,0.1,2,2.5\n1,0.2,1.5,nan\n")
    found = read_runs(path)
    assert found.runs[0].name == "wide net"
    assert found.metrics == ["accuracy", "loss", "val_loss"]
    assert math.isnan(found.runs[0].metrics["val_loss"].values[1])


def test_the_export_of_weights_and_biases(tmp_path: Path) -> None:
    path = put(
        tmp_path / "wandb_export.csv",
        '"Step","brave-sun-1 - val/acc","brave-sun-1 - val/acc__MIN","brave-sun-1 - val/acc__MAX",'
        '"calm-sea-2 - val/acc"\n'
        '"1","0.25","0.2","0.3","0.5"\n"2","0.5","0.4","0.6",""\n"3","","","","0.75"\n',
    )
    found = read_runs(path)
    assert values(found, "val/acc") == {"brave-sun-1": [0.25, 0.5], "calm-sea-2": [0.5, 0.75]}
    assert found.runs[1].metrics["val/acc"].steps.tolist() == [1.0, 3.0]
    assert found.runs[0].kind == "Weights & Biases"


def test_a_history_with_a_column_for_the_run(tmp_path: Path) -> None:
    path = put(tmp_path / "history.csv", "run_name,_step,_timestamp,acc\na,0,100,0.1\nb,0,101,0.2\na,1,160,0.3\n")
    found = read_runs(path)
    assert values(found, "acc") == {"a": [0.1, 0.3], "b": [0.2]}
    seconds = found.runs[0].metrics["acc"].seconds
    assert seconds is not None
    assert seconds.tolist() == [100.0, 160.0]


def test_the_export_of_tensorboard_is_no_curve_of_wall_time(tmp_path: Path) -> None:
    text = "Wall time,Step,Value\n1700000000.5,0,0.25\n1700000060.5,10,0.5\n"
    found = read_runs([put(tmp_path / "run-big_train-tag-acc.csv", text), put(tmp_path / "mine.csv", text)])
    assert values(found, "acc") == {"big_train": [0.25, 0.5]}
    assert values(found, "value") == {"mine": [0.25, 0.5]}


def test_ray_tune_writes_both_forms(tmp_path: Path) -> None:
    rows = [
        {"acc": 0.5 + 0.1 * i, "training_iteration": i + 1, "trial_id": "ab12", "time_total_s": 2.0 * i, "pid": 77,
         "config": {"lr": 0.1, "opt": "adam"}, "done": False}
        for i in range(3)
    ]  # fmt: skip
    lines = "\n".join(json.dumps(row) for row in rows)
    put(tmp_path / "trial_a" / "result.json", lines + '\n{"acc": 0.')  # its writer was killed
    put(tmp_path / "trial_a" / "progress.csv", "acc,training_iteration\n0.5,1\n")
    put(tmp_path / "trial_b" / "progress.csv", "acc,training_iteration,trial_id,config/lr\n0.25,1,cd34,0.01\n")
    found = read_runs(tmp_path)
    assert values(found, "acc") == {"trial_a": pytest.approx([0.5, 0.6, 0.7]), "cd34": [0.25]}
    assert found.runs[0].settings == {"lr": 0.1, "opt": "adam"}
    assert found.runs[1].settings == {"lr": 0.01}
    assert found.metrics == ["acc"]


def test_a_trainer_of_hugging_face(tmp_path: Path) -> None:
    history = [
        {"epoch": 0.5, "step": 10, "loss": 2.0, "learning_rate": 1e-4},
        {"epoch": 1.0, "step": 20, "eval_loss": 1.5, "eval_runtime": 3.2},
        {"epoch": 1.5, "step": 30, "loss": 1.25},
        {"epoch": 2.0, "step": 40, "eval_loss": 1.0, "eval_runtime": 3.1},
    ]
    for step in (8, 20, 40):  # of which 40 has all, whatever the names would be sorted to
        kept = [entry for entry in history if entry["step"] <= step]
        text = json.dumps({"log_history": kept, "global_step": step})
        put(tmp_path / "bert" / f"checkpoint-{step}" / "trainer_state.json", text)
    put(tmp_path / "gpt" / "trainer_state.json", json.dumps({"log_history": history}))
    put(tmp_path / "gpt" / "checkpoint-40" / "trainer_state.json", json.dumps({"log_history": history[:1]}))
    found = read_runs(tmp_path)
    assert values(found, "eval_loss") == {"bert": [1.5, 1.0], "gpt": [1.5, 1.0]}
    assert found.runs[0].metrics["loss"].steps.tolist() == [10.0, 30.0]


def test_parquet_and_the_long_form(tmp_path: Path) -> None:
    frame = pd.DataFrame({"run": ["a", "a", "b"], "step": [1, 2, 1], "acc": [0.25, np.nan, 0.5]})
    frame.to_parquet(tmp_path / "runs.parquet")
    found = read_runs(tmp_path / "runs.parquet")
    assert values(found, "acc")["b"] == [0.5]
    long = put(tmp_path / "long.csv", "task,arm,step,value,lr\nmay,a,1,0.1,0.5\nmay,a,2,0.2,0.5\nmay,b,1,0.3,\n")
    found = read_runs(long)
    assert values(found, "value") == {"a": [0.1, 0.2], "b": [0.3]}
    assert [run.task for run in found.runs] == ["may", "may"]
    assert found.runs[0].settings == {"lr": 0.5}
    two = read_runs(put(tmp_path / "two.csv", "task,arm,step,value\nmay,a,1,0.1\njune,a,1,0.2\n"))
    assert [(run.name, run.task) for run in two.runs] == [("may, a", "may"), ("june, a", "june")]


def test_names_that_are_there_twice_get_a_number(tmp_path: Path) -> None:
    text = "epoch,acc\n0,0.1\n1,0.2\n"
    found = read_runs([put(tmp_path / "x" / "net.csv", text), put(tmp_path / "y" / "net.csv", text)])
    assert [run.name for run in found.runs] == ["net", "net (2)"]
    assert len(found.notes) == 1


@pytest.mark.texts
@cases("logs")
def test_one_sentence_about_files_that_cannot_be_used(tmp_path: Path, given: str, said: str) -> None:
    path = put(tmp_path / "file.csv", literal_eval(given))
    with pytest.raises(RisingBanditsError) as error:
        read_runs(path)
    agree("logs", given, said, str(error.value).replace(str(path), "FILE"))


def test_a_path_that_is_not_there_or_has_no_runs(tmp_path: Path) -> None:
    with pytest.raises(RisingBanditsError, match=r"paths must have runs in them, found none in .* has no numbers"):
        read_runs(put(tmp_path / "words.csv", "step,word\n1,x\n2,y\n"))
    with pytest.raises(RisingBanditsError, match=r"nothing.csv does not exist\.$"):
        read_runs(tmp_path / "nothing.csv")
