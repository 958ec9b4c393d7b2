"""The curves of neural networks, from small files of the form they have in MITAutoML/accelerating_nas."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

from curves import epochs, sources
from risingbandits._core.errors import RisingBanditsError
from risingbandits.lab.benchmark.curve_tasks import read_arrays

DATA = os.environ.get("RISINGBANDITS_DATA")
HEADERS = {
    "metaqnn_cifar10": "net,training_dataset,num_params,depth,lr," + ",".join(f"acc_{n}" for n in range(1, 21)),
    "deep_resnets_tinyimagenet": "base_model,training_dataset,num_blocks,num_filters,filter_size,lr,ss,"
    + ",".join(f"acc_{n}" for n in range(141)),
    "lstm_ptb": "location,n_layer,n_inputs,base_lr,ss," + ",".join(f"ep_{n}" for n in range(59)),  # lines have 60
}
FIRST = {  # columns that are not settings: position and value
    "metaqnn_cifar10": [(1, "cifar10")],
    "deep_resnets_tinyimagenet": [(0, "resnet"), (1, "tinyimagenet")],
    "lstm_ptb": [(0, "trained_models/n_layer_2/ ")],
}
SMALL = {
    "metaqnn_cifar10": [
        '"[C(64,5,1), SM(10)]",cifar10,154816,4,0.000026,' + ",".join(["0.3394"] * 20),
        '"[GAP(10), SM(10)]",cifar10,16,2,0.001,' + ",".join(["0.5"] * 20),
    ],
    "deep_resnets_tinyimagenet": ["resnet,tinyimagenet,1,4,3,0.1,35000," + ",".join(f"{n / 1000}" for n in range(141))],
    "lstm_ptb": ["trained_models/x/ ,2,90,0.1,15000," + ",".join(f"{300 - n}" for n in range(60))],
}


def write(folder: Path, lines: dict[str, list[str]]) -> None:
    for name, of_file in lines.items():
        (folder / f"{name}.csv").write_text("\n".join([HEADERS[name], *of_file, ""]))


def test_form_and_order(tmp_path: Path) -> None:
    """Whole numbers stay whole in one file only; the last epoch of lstm_ptb.csv has no name in its header."""
    write(tmp_path, SMALL)
    made = epochs.convert(tmp_path)
    assert list(made) == [f"epochs_{name}.npz" for name in HEADERS]
    nets, residual, recurrent = made.values()
    assert nets["arms"].tolist() == [
        '{"net": "[C(64,5,1), SM(10)]", "num_params": 154816, "depth": 4, "lr": 2.6e-05}',
        '{"net": "[GAP(10), SM(10)]", "num_params": 16, "depth": 2, "lr": 0.001}',
    ]
    assert nets["curves"].dtype == np.float32
    assert nets["curves"][:, 0].tolist() == [np.float32(0.3394), 0.5]
    assert [arrays["curves"].shape for arrays in made.values()] == [(2, 20), (1, 141), (1, 60)]
    settings = '{"num_blocks": 1.0, "num_filters": 4.0, "filter_size": 3.0, "lr": 0.1, "ss": 35000.0}'
    assert residual["arms"].tolist() == [settings]
    assert residual["curves"][0, [0, -1]].tolist() == [0.0, np.float32(0.14)]
    assert recurrent["arms"].tolist() == ['{"n_layer": 2.0, "n_inputs": 90.0, "base_lr": 0.1, "ss": 15000.0}']
    assert recurrent["curves"][0, [0, -1]].tolist() == [300.0, 241.0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "lstm_ptb",
            None,
            "must be the folder data of a copy of MITAutoML/accelerating_nas, .* no lstm_ptb.csv",
        ),
        ("lstm_ptb", "", "lstm_ptb.csv must have the columns n_layer, n_inputs, base_lr, ss, ep_0, lacks n_layer"),
        ("metaqnn_cifar10", HEADERS["metaqnn_cifar10"] + "\n", "metaqnn_cifar10.csv must have lines of equal length"),
        ("metaqnn_cifar10", HEADERS["metaqnn_cifar10"] + "\na,b,1,2,3,.5\n", "at least that of the header"),
        ("lstm_ptb", "\n".join([HEADERS["lstm_ptb"], *SMALL["lstm_ptb"], "a,1,1,1,1"]), "lines of equal length"),
        ("lstm_ptb", "\n".join([HEADERS["lstm_ptb"], SMALL["lstm_ptb"][0] + "x"]), "lstm_ptb.csv must have numbers"),
    ],
)
def test_other_files_are_named(tmp_path: Path, name: str, content: str | None, message: str) -> None:
    write(tmp_path, SMALL)
    if content is None:
        (tmp_path / f"{name}.csv").unlink()
    else:
        (tmp_path / f"{name}.csv").write_text(content)
    with pytest.raises(RisingBanditsError, match=message):
        epochs.convert(tmp_path)


@pytest.mark.skipif(DATA is None, reason="RISINGBANDITS_DATA is not set")
def test_published_files_written_as_csv_come_back(tmp_path: Path) -> None:
    for name, header in HEADERS.items():
        arrays = read_arrays(Path(str(DATA)) / "curves" / f"epochs_{name}.npz")
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header.split(","))
            for arm, curve in zip(arrays["arms"].tolist(), arrays["curves"], strict=True):
                row = [str(value) for value in json.loads(arm).values()]
                for place, value in FIRST[name]:
                    row.insert(place, value)
                writer.writerow([*row, *map(str, curve)])  # the shortest text of a float32, as in the source
    assert sources.rebuild("epochs", tmp_path / "out", tmp_path) == {
        f"epochs_{name}.npz": "as published" for name in HEADERS
    }
