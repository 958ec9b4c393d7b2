"""Policies from the literature on rising bandits, for cumulative reward."""
