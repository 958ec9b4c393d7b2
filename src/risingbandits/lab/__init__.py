"""The laboratory: the paper's studies, the benchmark of all policies, and policies of the literature beside the paper.

No other package imports it: what it adds is found as a plugin, as that of any other package would be.

Stability: experimental.
"""

from risingbandits._core.plugins import Plugin
from risingbandits.lab.paper import PROBLEMS
from risingbandits.lab.related import POLICIES

PLUGIN = Plugin(
    policies=POLICIES,
    problems=PROBLEMS,
    commands={"lab": "risingbandits.lab.cli:commands"},
    backends={"ray": "risingbandits.lab.ray_simulations:ray_backend"},
)
