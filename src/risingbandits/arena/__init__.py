"""The arena: every policy on real learning curves, variants of them, and simulated problems, judged alike.

`Contest` plays, `risingbandits arena` is the command, docs/arena.md says how to read the tables.

Stability: experimental.
"""

from risingbandits.arena.contest import Contest
from risingbandits.arena.curve_tasks import CurveTask
from risingbandits.arena.entrants import Tuned
from risingbandits.arena.leave_one_out import best_without
from risingbandits.arena.outcome import Outcome
from risingbandits.arena.suite import load_tasks
from risingbandits.arena.synthetic import Sizes

__all__ = ["Contest", "CurveTask", "Outcome", "Sizes", "Tuned", "best_without", "load_tasks"]
