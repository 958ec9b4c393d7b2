"""Curves of one's own: values, shape, horizon, and that their arms do not end."""

from __future__ import annotations

import math
import pickle

import numpy as np

from risingbandits.problems import FunctionCurve, NoNoise, RisingBandit, Tabulated
from risingbandits.simulation import simulate


def root(n: int) -> float:
    return 1.0 - math.pow(n, -0.5)


def test_a_function_is_a_table_that_does_not_end() -> None:
    curve, table = FunctionCurve(root, 50), Tabulated([root(n) for n in range(1, 51)])
    np.testing.assert_array_equal(curve(range(1, 51)), table(range(1, 51)))
    assert curve.prefix_sum(50) == table.prefix_sum(50)
    assert curve.is_non_decreasing()
    assert curve.is_concave()
    assert repr(curve) == "FunctionCurve(root, horizon=50)"
    assert RisingBandit([curve]).lengths is None
    assert RisingBandit([curve, table], horizon=50).longest is None
    copy = pickle.loads(pickle.dumps(curve))
    assert (copy, repr(copy), RisingBandit([copy]).lengths) == (curve, repr(curve), None)
    assert pickle.loads(pickle.dumps(FunctionCurve(lambda n: 0.5, 3))).horizon == 3


def test_a_simulation_equals_that_of_the_table() -> None:
    steps = [[root(n) for n in range(1, 301)], [n / 400 for n in range(1, 301)]]
    own = RisingBandit([FunctionCurve(root, 300), FunctionCurve(lambda n: n / 400, 300)], NoNoise(), 300)
    result = simulate(["round-robin", "red-ucb"], own, seed=1)
    tables = simulate(["round-robin", "red-ucb"], RisingBandit.from_array(steps, NoNoise()), seed=1)
    for label in result.policies:
        np.testing.assert_array_equal(result.regret[label], tables.regret[label])
