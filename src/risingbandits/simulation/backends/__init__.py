"""Where the runs of a simulation are played."""
