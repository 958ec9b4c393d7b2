"""The same on a cluster, where the learner lives in a process of Ray: see test_stops.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from ray_cluster import nodes
from stop_campaign import Parent, campaign, drawn


@pytest.mark.slow
def test_20_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with nodes(workers=0, cpus=6) as cluster:
        monkeypatch.setenv("RAY_ADDRESS", cluster.cluster.address)
        parent = Parent()
        try:
            with campaign(parent, "ray", tmp_path, lease=0.5) as made:
                for stop in drawn("ray", 20):
                    made.make(stop)
        finally:
            parent.close()
