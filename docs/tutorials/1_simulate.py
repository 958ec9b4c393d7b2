"""
Simulate: which policy for my curves?
=====================================

You have an idea of how your learners improve and want to know which policy spends a budget on them best. Describe the
curves, play many runs and look at the regret.
"""

# %%
# There are three learners. The small one is good at once; the large one is poor for a long time but best in the end;
# the third is never any good. Rewards are noisy scores in [0, 1].

import matplotlib.pyplot as plt

import risingbandits as rb

small = rb.problems.Exponential(limit=0.55, rate=0.02)
large = rb.problems.LinearCapped(slope=1 / 2_500, cap=0.9)
weak = rb.problems.Exponential(limit=0.3, rate=0.005)
problem = rb.RisingBandit([small, large, weak], noise=rb.problems.Gaussian(0.05), horizon=20_000, name="three learners")
print(problem.arm_names[problem.oracle_arm()], "is the arm that pays most over 20,000 pulls")

# %%
# In run i, every policy sees the same noise, so the differences between policies are paired.

result = rb.simulate(["commit-ucb", "red-ucb", "kl-ucb", "round-robin"], problem, runs=20, seed=1)
for policy in result.policies:
    low, high = result.interval(policy)
    print(f"{policy:12s} {result.mean(policy)[-1]:7.0f}   95 % interval {low[-1]:6.0f} to {high[-1]:6.0f}")

# %%
# KL-UCB assumes that arms are constant and stays with the small one. Where a policy's regret goes flat, it has found
# the best arm and sticks to it.

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
result.plot(axes)
plt.show()

# %%
# To do the same on the command line, put your own curves in a CSV file, with a column per arm and a row per pull::
#
#     risingbandits simulate --curves my.csv --policies commit-ucb,red-ucb,kl-ucb --runs 20 --out study
