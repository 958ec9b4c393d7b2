"""Settings of the frameworks, before any of them is loaded: nothing is fetched or sent, one thread each."""

from __future__ import annotations

import math
import os

from risingbandits._core import compile_wait

os.environ.update(
    HF_HUB_OFFLINE="1",
    KERAS_BACKEND="torch",
    OMP_NUM_THREADS="1",
    TOKENIZERS_PARALLELISM="false",
    WANDB_MODE="offline",
)
compile_wait._PATIENCE = math.inf  # as in the other tests: what is printed must not depend on the machine
