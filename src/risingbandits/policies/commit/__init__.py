"""Policies that are optimistic about committing to an arm: CommitUCB, CommitEnsemble, OpenByValue."""
