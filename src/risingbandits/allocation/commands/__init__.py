"""Arms that are commands, and the plans that name them."""
