"""Self-contained HTML pages about a study or a store."""
