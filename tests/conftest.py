"""Settings of all tests: property tests try the same examples in every run, so that a failure can be repeated."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")
