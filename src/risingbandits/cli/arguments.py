"""Noise and rounds from what is written on the command line."""

from __future__ import annotations

from collections.abc import Container

from risingbandits._core.errors import RisingBanditsError, check_choice, shown
from risingbandits.policies.parsing import split_policies
from risingbandits.problems import Bernoulli, Beta, Gaussian, Noise, NoNoise

_LONGEST = 300  # characters of what was written that a complaint repeats


def parse_noise(text: str) -> Noise:
    """Noise from its name and, after a colon, its number.

    >>> parse_noise("gaussian:0.2"), parse_noise("beta:2"), parse_noise("none")
    (Gaussian(sigma=0.2), Beta(b=2.0), NoNoise())
    """
    name, colon, number = text.strip().partition(":")
    check_choice("noise", name, ("gaussian", "bernoulli", "beta", "none"))
    if colon and name in ("bernoulli", "none"):
        raise RisingBanditsError(f"noise {name} takes no number, got {shown(text, _LONGEST)}.")
    try:
        value = float(number) if colon else None
    except ValueError:
        raise RisingBanditsError(
            f"noise must be like gaussian:0.1, with a number after the colon, got {shown(text, _LONGEST)}."
        ) from None
    if name == "gaussian":
        return Gaussian(0.1 if value is None else value)
    if name == "beta":
        return Beta(b=value)
    return Bernoulli() if name == "bernoulli" else NoNoise()


def parse_pair(text: str, labels: Container[str]) -> tuple[str, str]:
    """Two of the labels, with a comma between them.

    >>> parse_pair("red-ucb(eps=0.1, ties='random'), round-robin", ["red-ucb(eps=0.1, ties='random')", "round-robin"])
    ("red-ucb(eps=0.1, ties='random')", 'round-robin')
    """
    parts = split_policies(text)
    if len(parts) != 2 or parts[0] == parts[1] or not all(part in labels for part in parts):
        raise RisingBanditsError(
            f"compare must be two of the policies, as written in --policies, got {shown(text, _LONGEST)}."
        )
    return parts[0], parts[1]


def parse_record_at(text: str) -> int | list[int]:
    """A number of rounds to record at, or the rounds themselves, separated by commas.

    >>> parse_record_at("100"), parse_record_at("10, 1_000")
    (100, [10, 1000])
    """
    try:
        rounds = [int(part) for part in text.split(",")]
    except ValueError:
        raise RisingBanditsError(
            f"record_at must be a number of rounds, or rounds separated by commas, got {shown(text, _LONGEST)}."
        ) from None
    return rounds[0] if len(rounds) == 1 else rounds
