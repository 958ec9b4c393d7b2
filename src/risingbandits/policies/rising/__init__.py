"""Policies from the literature on rising bandits, to earn on the way."""
