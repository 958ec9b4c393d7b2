"""Text that users read has the words of the field, and none of the private ones that stood for them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRIVATE = (
    *("arm to keep", "told nothing", r"\bto earn\b", "late[- ]bloomer", r"\bkin\b", "equal age"),
    *(r"\bshel(?:f|ves)\b", r"\bstranger", "left the race", "opened arm", r"\barena\b", r"\bcontests?\b"),
)
# Where no code is: names of variables and keywords have some of these words, too.
PRIVATE_ON_PAGES = (
    *(r"\bearn(?:s|ed|ing|ings)?\b", r"in the race\b", "won the race", r"keeps? paying", r"\blate bloom"),
    r"\btold (?:the noise|wrong|as (?:half|double|[\d.]+))",
    r"\bopen(?:s|ed|ing)? (?:an|the|every|each|few|new|more|another) arms?\b",
    r"\bfamil(?:y|ies) of (?:real )?curves",
)
FOUND = re.compile("|".join(PRIVATE), re.IGNORECASE)
FOUND_ON_PAGES = re.compile("|".join((*PRIVATE, *PRIVATE_ON_PAGES)), re.IGNORECASE)
SOURCE = "src/risingbandits/"
PLACES = ("*.md", "docs/**/*", "examples/**/*", "benchmarks/*", "records/figures/*", f"{SOURCE}**/*.py")
ENDINGS = {".md", ".py", ".sh", ".toml", ".txt"}


def private_words(text: str, page: bool = False) -> list[str]:
    """The private words in a text, also those that a line break or a sign of a comment divides."""
    return (FOUND_ON_PAGES if page else FOUND).findall(re.sub(r"\s*\n[\s#]*|\s+", " ", text))


@pytest.mark.parametrize("place", PLACES)
def test_no_private_words(place: str) -> None:
    names = [path.relative_to(ROOT).as_posix() for path in ROOT.glob(place) if path.suffix in ENDINGS]
    assert names, f"{place} must name files"
    found = {name: private_words((ROOT / name).read_text(), name.endswith(".md")) for name in names}
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The arm\n    # to keep is a late bloomer.", ["arm to keep", "late bloomer"]),
        ("Told  nothing, it opens an unopened\narm to earn.", ["Told nothing", "opened arm", "to earn"]),
        ("Kin of strangers,\nat equal age, on shelves", ["Kin", "stranger", "equal age", "shelves"]),
        ("It left the race for the shelf.", ["left the race", "shelf"]),
        ("A contest in the arena.", ["contest", "arena"]),
        ("A kind arm keeps what it earned; equally aged arms of others are opened.", []),
    ],
)
def test_private_words_are_found(text: str, words: list[str]) -> None:
    assert private_words(text) == words


def test_pages_have_more_of_them() -> None:
    text = "It earns most, told the noise, by opening few arms\nof two families of curves; learned by racers."
    assert private_words(text, page=True) == ["earns", "told the noise", "opening few arms", "families of curves"]
    assert private_words(text) == []
