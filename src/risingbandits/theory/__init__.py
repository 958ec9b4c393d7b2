"""The theory of rising rested bandits as functions: how hard a problem is, what is promised, what is impossible.

Numbers of theorems and lemmas are those of "Rising Rested Bandits: Lower Bounds and Efficient Algorithms" where the
docstrings name them; slips of the paper are corrected, and each correction is stated where it is made and in the
documentation. What is about CommitUCB (``commit_...``) has the numbers of the page "What is proved".

Stability: experimental.
"""

from risingbandits.theory import complexity, estimators, lower_bounds, upper_bounds

__all__ = ["complexity", "estimators", "lower_bounds", "upper_bounds"]
