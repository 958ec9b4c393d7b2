"""Text that users read has the words of the field, and none of the private ones that stood for them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRIVATE = (
    *("arm to keep", "told nothing", r"\bto earn\b", "late[- ]bloomer", r"\bkin\b", "equal age"),
    *(r"\bshel(?:f|ves)\b", r"\bstranger", "left the race", "opened arm"),
)
FOUND = re.compile("|".join(PRIVATE), re.IGNORECASE)
SOURCE = "src/risingbandits/"
PLACES = ("*.md", "docs/**/*", "examples/**/*", "benchmarks/*", "records/figures/*", f"{SOURCE}**/*.py")
ENDINGS = {".md", ".py", ".sh", ".toml", ".txt"}


def private_words(text: str) -> list[str]:
    """The private words in a text, also those that a line break or a sign of a comment divides."""
    return FOUND.findall(re.sub(r"\s*\n[\s#]*|\s+", " ", text))


@pytest.mark.parametrize("place", PLACES)
def test_no_private_words(place: str) -> None:
    names = [path.relative_to(ROOT).as_posix() for path in ROOT.glob(place) if path.suffix in ENDINGS]
    assert names, f"{place} must name files"
    found = {name: private_words((ROOT / name).read_text()) for name in names}
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The arm\n    # to keep is a late bloomer.", ["arm to keep", "late bloomer"]),
        ("Told  nothing, it opens an unopened\narm to earn.", ["Told nothing", "opened arm", "to earn"]),
        ("Kin of strangers,\nat equal age, on shelves", ["Kin", "stranger", "equal age", "shelves"]),
        ("It left the race for the shelf.", ["left the race", "shelf"]),
        ("A kind arm keeps what it earned; equally aged arms of others are opened.", []),
    ],
)
def test_private_words_are_found(text: str, words: list[str]) -> None:
    assert private_words(text) == words
