"""The paper's 15 arms: reward curves of the first 6,000 pulls, cumulative regret, pulls of the arms."""

from __future__ import annotations

from risingbandits.paper.regret_study import RegretStudy

__all__ = ["STUDY"]

STUDY = RegretStudy("15arms", "15 arms", "paper-15arms", curves_until=6_000 / 200_000)
