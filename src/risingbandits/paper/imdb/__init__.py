"""Compiled online learners on sparse rows, and as arms of a live rested bandit."""

from risingbandits.learners.data import Rows, load_digits, load_imdb
from risingbandits.learners.live import Learner, LiveBandit
from risingbandits.learners.logistic import LogisticRegression
from risingbandits.learners.network import Network

__all__ = ["Learner", "LiveBandit", "LogisticRegression", "Network", "Rows", "load_digits", "load_imdb"]
