"""Watching a store while others write to it: a page, and a table on the terminal."""
