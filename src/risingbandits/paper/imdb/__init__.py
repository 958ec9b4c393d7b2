"""Compiled online learners on sparse rows, and as arms of a live rested bandit."""

from risingbandits.paper.imdb.data import Rows, load_digits, load_imdb
from risingbandits.paper.imdb.learners import seven_learners
from risingbandits.paper.imdb.live import Learner, LiveArms, LiveBandit
from risingbandits.paper.imdb.logistic import LogisticRegression
from risingbandits.paper.imdb.network import Network

__all__ = [
    "Learner",
    "LiveArms",
    "LiveBandit",
    "LogisticRegression",
    "Network",
    "Rows",
    "load_digits",
    "load_imdb",
    "seven_learners",
]
