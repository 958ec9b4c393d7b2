"""Arms that live on a Ray cluster."""
