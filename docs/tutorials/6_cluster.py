"""
Use a cluster
=============

``simulate`` and ``Allocator.run`` work on as many machines as Ray has. Here Ray runs on this machine only;
the environment variable ``RAY_ADDRESS`` names a cluster. You need ``pip install 'risingbandits[ray]'``.
"""

# %%
# First, a study: blocks of runs become tasks on the cluster. The result is bit for bit the same as on one machine.

import logging

import matplotlib.pyplot as plt
import numpy as np
import ray

import risingbandits as rb

ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)

local = rb.simulate(["commit-ucb", "red-ucb"], "paper-2arms", horizon=20_000, runs=10, seed=1)
spread = rb.simulate(["commit-ucb", "red-ucb"], "paper-2arms", horizon=20_000, runs=10, seed=1, backend="ray")
for policy in local.policies:
    print(policy, "equal:", np.array_equal(local.regret[policy], spread.regret[policy]))

figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
spread.plot(axes)
plt.show()

# %%
# Now learners: each arm is a process on the cluster that keeps its learner in memory. If its machine is lost, a learner
# that can save itself is restored, and the pull is repeated.

import json  # noqa: E402
import tempfile  # noqa: E402
from pathlib import Path  # noqa: E402

from risingbandits.allocation.cluster.ray_arms import RayArms  # noqa: E402


class Learner:
    """A learner that gets closer to its ceiling with every pull."""

    def __init__(self, ceiling, rate):
        self.ceiling, self.rate, self.skill = ceiling, rate, 0.0

    def pull(self, pull):
        self.skill += self.rate * (self.ceiling - self.skill)
        return self.skill

    def save(self, path):
        path.write_text(json.dumps(self.skill))

    def load(self, path):
        self.skill = json.loads(path.read_text())


learners = {"fast": lambda: Learner(0.5, 0.6), "slow": lambda: Learner(0.9, 0.1)}
store = Path(tempfile.mkdtemp()) / "study.db"  # checkpoints are kept beside it
with RayArms(learners) as arms, rb.Allocator(list(arms), budget=40, store=store) as allocator:
    allocator.run(jobs=2, arms=arms, progress=False)
    print(allocator.explain())

ray.shutdown()
