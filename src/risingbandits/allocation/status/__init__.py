"""Where a run stands: sentences, the table of arms, progress."""
