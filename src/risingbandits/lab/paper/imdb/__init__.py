"""Compiled online learners on sparse rows, and as arms of a live rested bandit."""

from risingbandits.lab.paper.imdb.data import Rows, load_digits, load_imdb
from risingbandits.lab.paper.imdb.learners import seven_learners
from risingbandits.lab.paper.imdb.live import Learner, LiveArms, LiveBandit
from risingbandits.lab.paper.imdb.logistic import LogisticRegression
from risingbandits.lab.paper.imdb.network import Network

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
