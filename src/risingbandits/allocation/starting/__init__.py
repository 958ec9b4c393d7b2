"""What is known before the first pull."""
