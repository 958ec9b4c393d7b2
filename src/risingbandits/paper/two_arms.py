"""The paper's 2 arms: reward curves up to T/4, cumulative regret, pulls of the arms."""

from __future__ import annotations

from risingbandits.paper.regret_study import RegretStudy

__all__ = ["STUDY"]

STUDY = RegretStudy("2arms", "2 arms", "paper-2arms", curves_until=1 / 4)
