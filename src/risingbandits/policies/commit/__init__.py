"""CommitUCB: optimism about committing to an arm, with a bound on the regret."""
