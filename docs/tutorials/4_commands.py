"""
Allocate shell commands
=======================

Arms can be programs, which a plan names. Each pull runs one of them, which continues where it stopped and prints a
number. If you interrupt the plan and run it again, it continues too.
"""

# %%
# One shell script plays all three learners. It reads the state after the last pull from one file and writes the new
# state to another. The fast learner is better at first, the slow one in the end.

import subprocess
import sys
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
(folder / "learner.sh").write_text("""\
skill=$(cat "$RISINGBANDITS_PREVIOUS" 2>/dev/null || echo 0)
awk -v skill="$skill" -v ceiling="$CEILING" -v rate="$RATE" \\
    'BEGIN { print skill + rate * (ceiling - skill) }' | tee "$RISINGBANDITS_CHECKPOINT"
""")
(folder / "plan.toml").write_text("""\
budget = 40
policy = "commit-ucb(sigma=0.01)"

[defaults]
command = ["sh", "{plan}/learner.sh"]

[[arms]]
name = "fast"
environment = { CEILING = 0.5, RATE = 0.6 }

[[arms]]
name = "slow"
environment = { CEILING = 0.9, RATE = 0.08 }

[[arms]]
name = "poor"
environment = { CEILING = 0.2, RATE = 0.3 }
""")

# %%
# On the command line, this is ``risingbandits run plan.toml``.

command = [sys.executable, "-m", "risingbandits", "run", "plan.toml"]
done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
print(done.stdout)

# %%
# Everything that happened is in the store beside the plan, which survives crashes. You can read it while the plan runs
# and afterwards.

import matplotlib.pyplot as plt  # noqa: E402

import risingbandits as rb  # noqa: E402

figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
allocator = rb.Allocator.open(next(folder.glob("*.db")))
for arm in ("fast", "slow", "poor"):
    rewards = allocator.rewards(arm)
    print(f"{arm}: {len(rewards)} pulls, last reward {rewards[-1]:.3f}")
    axes.plot(range(1, len(rewards) + 1), rewards, marker="o", markersize=3, label=f"{arm} ({len(rewards)} pulls)")
allocator.close()
axes.set(xlabel="pulls of the arm", ylabel="reward", ylim=(0, 1))
axes.legend(frameon=False)
plt.show()
