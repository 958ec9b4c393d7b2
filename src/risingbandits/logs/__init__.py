"""Training runs that other programs recorded: read from their logs, and made into learning curves.

Stability: experimental.
"""

from risingbandits.logs.curves import Curves, curves_of
from risingbandits.logs.reading import read_runs
from risingbandits.logs.runs import RecordedRun, Recording, Series

__all__ = ["Curves", "RecordedRun", "Recording", "Series", "curves_of", "read_runs"]
