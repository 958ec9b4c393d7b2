"""
Simulate: which policy for my curves?
=====================================

You have an idea of how your learners improve, and want to know which policy spends a budget best on them. Describe the
curves, play many runs, look at the regret.
"""

# %%
# Three learners. The small one is good at once, the large one is poor for long and best in the end, and one is never
# any good. Rewards are noisy scores in [0, 1].

import matplotlib.pyplot as plt

import risingbandits as rb

small = rb.problems.Exponential(limit=0.55, rate=0.02)
large = rb.problems.LinearCapped(slope=1 / 2_500, cap=0.9)
weak = rb.problems.Exponential(limit=0.3, rate=0.005)
problem = rb.RisingBandit([small, large, weak], noise=rb.problems.Gaussian(0.05), horizon=20_000, name="three learners")
print(problem.arm_names[problem.oracle_arm()], "is the arm that pays most over 20,000 pulls")

# %%
# Every policy meets the same noise in run number i, so differences between policies are paired.

result = rb.simulate(["commit-ucb", "red-ucb", "kl-ucb", "round-robin"], problem, runs=20, seed=1)
for policy in result.policies:
    low, high = result.interval(policy)
    print(f"{policy:12s} {result.mean(policy)[-1]:7.0f}   95 % interval {low[-1]:6.0f} to {high[-1]:6.0f}")

# %%
# KL-UCB takes arms for constant and stays with the small one. Regret that goes flat means that a policy has found the
# best arm and keeps to it.

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
result.plot(axes)
plt.show()

# %%
# The same on the command line, with your own curves in a CSV file (a column per arm, a row per pull)::
#
#     risingbandits simulate --curves my.csv --policies commit-ucb,red-ucb,kl-ucb --runs 20 --out study
