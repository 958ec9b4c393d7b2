"""The commands about the paper."""
