"""Training runs that other programs recorded: read from their logs, and made into learning curves.

Stability: experimental.
"""

from risingbandits.recorded.curves import Curves, curves_of
from risingbandits.recorded.reading import read_runs
from risingbandits.recorded.runs import RecordedRun, Recording, Series

__all__ = ["Curves", "RecordedRun", "Recording", "Series", "curves_of", "read_runs"]
