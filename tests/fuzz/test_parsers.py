"""Whatever a file or a text holds: its reader gives a result or one sentence, and never another exception.

Contents are arbitrary, or files that can be read with some of their bytes changed, cut out or put in; of JSON also
with values in place of others.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import readable_files as files
from arm_curves import load_columns
from risingbandits import Allocator, Policy, Result, RisingBanditsError
from risingbandits.allocation import open_reader
from risingbandits.allocation._snapshot import unpack
from risingbandits.allocation.commands._plan_file import read_plan
from risingbandits.allocation.settings import Settings
from risingbandits.allocation.starting._memory import read_entry
from risingbandits.allocation.starting.earlier_runs import read_sources
from risingbandits.cli._options import parse_duration, parse_noise
from risingbandits.logs import curves_of, read_runs
from risingbandits.policies._parsing import parse_policies

EXAMPLES = [60, pytest.param(1_000, marks=pytest.mark.slow)]
LONGEST = 2_000  # characters of a sentence; names of files and values in it are cut

# What readers of text and numbers stumble over.
PIECES = st.sampled_from(
    [
        *(
            b"\0",
            b"\xff",
            b"\xef\xbb\xbf",
            b'"',
            b"'",
            b"\n",
            b"\r",
            b"\r\n",
            b",",
            b";",
            b"\t",
            b"{",
            b"}",
            b"[",
            b"]",
        ),
        *(b"(", b")", b"null", b"true", b"nan", b"inf", b"-inf", b"1e999", b"-9", b"0", b"1_0", b"0x" + b"f" * 6_000),
        *(b"[" * 3_000, b"{[]: 1}", b"{{}}", b"\\", b"\xed\xa0\x80", b" ", b"=", b"**x", b"9" * 400),
    ]
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def changed(draw: st.DrawFn, whole: Callable[[], bytes]) -> bytes:
    """A file that can be read, with up to four changes."""
    content = whole()
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(content)))
        length = draw(st.sampled_from([0, 0, 1, 1, 2, 5, 40, len(content)]))
        content = content[:start] + draw(PIECES | st.binary(max_size=8)) + content[start + length :]
    return content


@st.composite
def other_values(draw: st.DrawFn, whole: Callable[[], bytes]) -> bytes:
    """JSON with values in place of others, wherever they are."""
    content: Any = json.loads(whole())
    for _ in range(draw(st.integers(1, 3))):
        above: Any = None
        key: Any = None
        inner = content
        while isinstance(inner, dict | list) and inner and (above is None or draw(st.booleans())):
            keys: list[Any] = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
            above, key = inner, draw(st.sampled_from(keys))
            inner = above[key]
        if above is None:
            content = draw(JSON_VALUES)
        elif isinstance(above, dict) and draw(st.integers(0, 4)) == 0:
            del above[key]
        else:
            above[key] = draw(JSON_VALUES)
    return json.dumps(content).encode()


def contents(whole: Callable[[], bytes], values: bool = False) -> st.SearchStrategy[bytes]:
    """Some that are arbitrary, most of them near to what can be read."""
    near = [changed(whole)] * 3 + ([other_values(whole)] * 3 if values else [])
    return st.one_of(st.binary(max_size=80), st.lists(PIECES, max_size=8).map(b"".join), *near)


# -- readers --------------------------------------------------------------------------------------------------------


def read_log(path: Path) -> None:
    found = read_runs(path)
    curves_of(found, found.metrics[0], "maximize")


def read_store(path: Path) -> None:
    with open_reader(path) as reader:
        list(reader.events())
        reader.ledger().recommend()


def read_result(path: Path) -> None:
    (path.parent / "result.npz").write_bytes(files.result_data())
    str(Result.load(path.parent))


class Reader(NamedTuple):
    file: str
    read: Callable[[Path], object]
    whole: Callable[[], bytes]
    values: bool = False  # whether it is JSON, where other values are put in, too
    packed: Callable[[bytes], bytes] = bytes  # what is done with a content before it is written

    def contents(self) -> st.SearchStrategy[bytes]:
        return contents(self.whole, self.values).map(self.packed)


READERS = {
    "curves": Reader("x.csv", load_columns, files.curves_csv),
    "long form": Reader("x.csv", read_sources, files.long_csv),
    "table of a log": Reader("x.csv", read_log, files.log_csv),
    "columns as a log": Reader("x.csv", read_log, files.curves_csv),
    "long form as a log": Reader("x.csv", read_log, files.long_csv),
    "JSON lines": Reader("result.json", read_log, files.log_lines),
    "trainer": Reader("trainer_state.json", read_log, files.trainer_state, values=True),
    "journal of Optuna": Reader("journal.log", read_log, files.optuna_journal),
    "Weights & Biases": Reader("run.wandb", read_log, files.wandb_file),
    "store": Reader("x.db", read_store, files.store_file),
    "policy": Reader("x.npz", Policy.load, files.policy_file),
    "header of a policy": Reader("x.npz", Policy.load, files.policy_header, True, files.with_policy_header),
    "result": Reader("result.json", read_result, files.result_header, values=True),
    "remembered run": Reader("x.gz", read_entry, files.remembered_run, True, gzip.compress),
    "packed remembered run": Reader("x.gz", read_entry, lambda: gzip.compress(files.remembered_run())),
    "plan": Reader("plan.toml", read_plan, files.plan_file),
    "settings of a store": Reader(
        "x.json", lambda path: Settings.from_json(path.read_text("latin-1")), files.settings_json, values=True
    ),
}


def read_or_refuse(read: Callable[[], object]) -> None:
    try:
        read()
    except RisingBanditsError as error:
        sentence = str(error)
        assert "\n" not in sentence
        assert len(sentence) < LONGEST
        assert sentence.endswith((".", "?"))


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("name", READERS)
def test_a_file_is_read_or_refused_in_one_sentence(name: str, examples: int, tmp_path: Path) -> None:
    reader = READERS[name]
    path = tmp_path / reader.file

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(content=reader.contents())
    def look(content: bytes) -> None:
        for left in tmp_path.iterdir():
            left.unlink()
        path.write_bytes(content)
        read_or_refuse(lambda: reader.read(path))

    look()


@pytest.mark.parametrize("name", READERS)
def test_what_is_changed_could_be_read(name: str, tmp_path: Path) -> None:
    """Or all changes would be refused for the same reason."""
    reader = READERS[name]
    path = tmp_path / reader.file
    path.write_bytes(reader.packed(reader.whole()))
    reader.read(path)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_a_snapshot_is_used_or_left_alone(examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(content=contents(files.snapshot_file))
    def look(content: bytes) -> None:
        ledger = unpack(content, files.allocator_in_memory().settings)
        assert ledger is None or ledger.told == 4

    look()


# -- texts ----------------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        *("red-ucb", "commit-ucb", "auto", "swts", "rest-sure", "(", ")", "eps=", "sigma=", ","),
        *("costs=[1, 2]", "policy=", "settings=", "'", '"', "0.1", "None", "True", "-1", "1e999", "nan", "[", "]"),
        *("{[]: 1}", "{1: {}}", "{{}}", "0x" + "f" * 6_000, "9" * 5_000, "(" * 300, "1j", "b'x'", "...", "**x", " "),
        *("reward_range=(0, 1)", "ties='random'", "gaussian", ":", "beta", "1h", "30m", "1-", "00:", "unlimited", "\0"),
        *("\ud800", "\N{ARABIC-INDIC DIGIT THREE}", "\N{SUPERSCRIPT TWO}", "\\", "\n", "max_pulls=", "objective="),
    ]
)
TEXTS = st.lists(WORDS | st.text(max_size=4), max_size=8).map("".join)


def read_policies(text: str) -> None:
    for policy in parse_policies(text).values():
        policy._validate()


TEXT_READERS: dict[str, tuple[Callable[[str], object], st.SearchStrategy[str]]] = {
    "policies": (read_policies, TEXTS),
    "settings of a policy": (
        read_policies,
        st.builds(
            "{}({}{})".format,
            st.sampled_from(["red-ucb", "commit-ucb", "auto", "sw-ts", "rest-sure", "r-ucbe"]),
            st.sampled_from(["eps=", "sigma=", "policy=", "settings=", "costs=", "max_pulls=", "tau=", "objective="]),
            TEXTS,
        ),
    ),
    "policy of an allocator": (lambda text: Allocator(["a", "b"], 5, policy=text), TEXTS),
    "noise": (parse_noise, TEXTS),
    "duration": (lambda text: parse_duration("time", text), TEXTS),
}


@pytest.mark.parametrize("examples", [200, pytest.param(3_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", TEXT_READERS)
def test_a_text_is_read_or_refused_in_one_sentence(name: str, examples: int) -> None:
    read, texts = TEXT_READERS[name]

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(text=texts)
    def look(text: str) -> None:
        read_or_refuse(lambda: read(text))

    look()
