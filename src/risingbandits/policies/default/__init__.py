"""The default policy, `Auto`, and its two rules: `best_arm` and `cumulative`."""
