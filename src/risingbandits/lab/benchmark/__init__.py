"""The arena: every policy on real learning curves, variants of them, and simulated problems, judged alike.

`Contest` plays, `risingbandits lab benchmark` is the command, docs/arena.md says how to read the tables.

Stability: experimental.
"""

from risingbandits.lab.benchmark.contest import Contest
from risingbandits.lab.benchmark.curve_tasks import CurveTask
from risingbandits.lab.benchmark.outcome import Outcome
from risingbandits.lab.benchmark.suite import load_tasks
from risingbandits.lab.benchmark.synthetic import Sizes

__all__ = ["Contest", "CurveTask", "Outcome", "Sizes", "load_tasks"]
