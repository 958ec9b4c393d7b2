"""The benchmark: every policy on real learning curves, variants of them, and simulated problems, compared alike.

`play_benchmarks` plays, `risingbandits lab benchmark` is the command, docs/benchmark.md says how to read the tables.

Stability: experimental.
"""

from risingbandits.lab.benchmark._play import Outcome, play_benchmarks
from risingbandits.lab.benchmark.curve_tasks import CurveTask
from risingbandits.lab.benchmark.suite import load_tasks
from risingbandits.lab.benchmark.synthetic import Sizes

__all__ = ["CurveTask", "Outcome", "Sizes", "load_tasks", "play_benchmarks"]
