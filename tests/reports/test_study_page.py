"""Pages of studies: what they hold, what they refuse, and that texts of users stay texts."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingbandits import Result, RisingBandit, RisingBanditsError, get_policy, simulate
from risingbandits._core import tables
from risingbandits.cli import run
from risingbandits.lab.related.triggers import with_triggers
from risingbandits.policies import RoundRobin
from risingbandits.reports._matplotlib_figures import plot_curves, plot_pulls, plot_regret
from risingbandits.reports._style import look
from risingbandits.reports.pages import layout, write_html
from risingbandits.reports.pages.layout import plotly_script
from risingbandits.reports.study import Study, StudyNotes
from sample_stores import WICKED


class Reader(HTMLParser):
    """Elements and scripts of a page, as a browser's parser meets them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br", "input"):
            self._open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}> ends something else"

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.scripts[-1] += data
        else:
            self.text.append(data)

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def study() -> Study:
    """Policies and arms with names that must stay names."""
    curves = [np.linspace(0.1, 0.5 + 0.1 * arm, 40) for arm in range(len(WICKED))]
    problem = RisingBandit.from_array(curves, name="<i>mine</i>", arm_names=WICKED)
    policies = {WICKED[0]: get_policy("commit-ucb"), WICKED[1]: RoundRobin()}
    return Study(problem, simulate(policies, problem, horizon=40, runs=3))


def save(problem: RisingBandit, result: Result, folder: Path, command: str = "cmd") -> Path:
    """What `write_report` writes, without its figures."""
    Study(problem, result).save(folder, command)
    return folder


@pytest.fixture
def folder(study: Study, tmp_path: Path) -> Path:
    return save(*study, tmp_path / "study", f"risingbandits simulate --problem '{WICKED[0]}'")


def figures(page: str) -> dict[str, dict[str, list[dict[str, object]]]]:
    found: dict[str, dict[str, list[dict[str, object]]]] = json.loads(Reader(page).scripts[0])
    return found


def test_one_file_that_loads_nothing_and_runs_only_its_own_scripts(folder: Path) -> None:
    page = write_html(folder, folder / "page.html").read_text()
    reader = Reader(page)
    assert len(reader.scripts) == 3
    assert not any("src" in attributes for _, attributes in reader.tags)
    assert {a["href"] for a in reader.attributes("link")} == {"data:,"}
    assert all(str(a["href"]).startswith("#") for a in reader.attributes("a"))
    (policy,) = [str(a["content"]) for a in reader.attributes("meta") if "http-equiv" in a]
    hashes = re.findall(r"'sha256-([^']+)'", policy)
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in reader.scripts[1:]]
    assert hashes == digests
    assert "unsafe-eval" not in policy
    assert "default-src 'none'" in policy
    assert page.count("* plotly.js v") == 1


def test_texts_of_users_are_texts(folder: Path) -> None:
    page = write_html(folder, folder / "page.html").read_text()
    without_plotly = page.replace(plotly_script(), "")
    reader = Reader(without_plotly)
    assert [tag for tag, _ in reader.tags].count("script") == 3
    assert not {"img", "b", "i"} & {tag for tag, _ in reader.tags}
    assert not any(key.startswith("on") for _, attributes in reader.tags for key in attributes)
    text = "".join(reader.text)
    assert all(name in text for name in (*WICKED, "<i>mine</i>"))
    names = {trace.get("name") for figure in figures(without_plotly).values() for trace in figure["data"]}
    assert layout.label(WICKED[0]) in names
    assert not any("<" in str(name) for name in names)


def test_numbers_of_the_page_are_those_of_the_result(folder: Path, study: Study) -> None:
    page = write_html(folder, folder / "page.html").read_text()
    drawn = figures(page)
    result = study.result
    policy = WICKED[0]
    (line,) = [t for t in drawn["study-1-regret"]["data"] if t["legendgroup"] == policy and "fill" not in t]
    assert line["x"] == [0, *result.record_at]
    np.testing.assert_allclose(np.array(line["y"], float)[1:], result.mean(policy), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(np.array(line["customdata"], float)[1:], result.half_width(policy), rtol=1e-2, atol=1e-9)
    (heat,) = drawn["study-1-pulls"]["data"]
    shares = [100 * result.pulls[p].mean(axis=0) / result.horizon for p in result.policies]
    np.testing.assert_allclose(np.array(heat["z"], float) ** 2, shares, rtol=1e-3)
    curve = drawn["study-1-curves"]["data"][0]
    arm = study.problem.oracle_arm(40)
    assert curve["legendgroup"] == WICKED[arm] + " (best)"
    np.testing.assert_allclose(np.array(curve["y"], float), study.problem.means(np.array(curve["x"]))[arm], rtol=1e-5)


def test_matplotlib_and_plotly_draw_the_same(folder: Path, study: Study) -> None:
    drawn = figures(write_html(folder, folder / "page.html").read_text())
    for key, ax in (("regret", plot_regret(study.result)), ("curves", plot_curves(study.problem, 40))):
        lines = {str(line.get_label()): np.asarray(line.get_xydata(), float) for line in ax.lines}
        traces = {str(trace["legendgroup"]): trace for trace in drawn[f"study-1-{key}"]["data"] if "fill" not in trace}
        assert set(lines) == set(traces)
        for name, trace in traces.items():
            points = np.array([trace["x"], trace["y"]], float)
            np.testing.assert_allclose(points[1], np.interp(points[0], *lines[name].T), rtol=1e-5, atol=1e-6)
            place = trace["look"]["place"]  # type: ignore[index]
            assert look(place).color in {line.get_color() for line in ax.lines if line.get_label() == name}
    cells = [text.get_text() for text in plot_pulls(study.result, problem=study.problem).texts]
    (heat,) = drawn["study-1-pulls"]["data"]
    assert cells == [text for row in heat["text"] for text in row]  # type: ignore[attr-defined]


def test_equal_studies_give_equal_bytes_and_the_command_is_there(folder: Path) -> None:
    first = write_html(folder, folder / "a.html").read_bytes()
    assert write_html(folder, folder / "b.html").read_bytes() == first
    notes = StudyNotes.load(folder)
    assert notes is not None
    assert f"<code>{html.escape(str(notes.command))}</code>" in first.decode()


def test_several_studies_and_one_without_curves(study: Study, tmp_path: Path) -> None:
    study.result.save(tmp_path / "b" / "late")
    save(*study, tmp_path / "a", "the first command")
    page = write_html(tmp_path, tmp_path / "page.html").read_text()
    drawn = figures(page)
    assert "study-1-curves" in drawn
    assert "study-2-regret" in drawn
    assert "study-2-curves" not in drawn
    assert "The folder holds no learning curves" in page
    assert "the first command" in page
    assert "2 studies" in page


def test_a_single_run_of_a_single_policy_on_one_arm(tmp_path: Path) -> None:
    problem = RisingBandit.from_array([[0.5, 0.6]], name="tiny")
    save(problem, simulate("round-robin", problem, horizon=2, runs=1), tmp_path)
    drawn = figures(write_html(tmp_path, tmp_path / "page.html").read_text())
    assert [len(figure["data"]) for figure in drawn.values()] == [1, 1, 1]


def test_many_arms_are_shown_together(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    problem = RisingBandit.from_array(np.sort(rng.random((300, 50)), axis=1), name="many")
    save(problem, simulate("round-robin", problem, horizon=600, runs=2), tmp_path)
    page = write_html(tmp_path, tmp_path / "page.html")
    drawn = figures(page.read_text())
    assert len(drawn["study-1-pulls"]["data"][0]["x"]) == 21  # type: ignore[arg-type]
    assert len(drawn["study-1-curves"]["data"]) == 40
    assert page.stat().st_size - len(plotly_script().encode()) < 1_000_000


def test_what_reproduce_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(["lab", "paper", "reproduce", "2arms", "--runs", "2", "--quick", "--no-extra", "--out", str(out)]) == 0
    assert run(["report", str(out), "-o", str(tmp_path / "page.html")]) == 0
    assert f"Report: {tmp_path / 'page.html'}" in capsys.readouterr().out
    page = (tmp_path / "page.html").read_text()
    assert "paper-2arms-v1: 2arms / gaussian" in page
    assert "risingbandits lab paper reproduce 2arms --runs 2" in page
    assert "study-1-curves" in figures(page)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("nothing", "nothing does not exist."),
        ("empty", "holds no study"),
        ("damaged", "holds no readable study"),
    ],
)
def test_refusals(source: str, sentence: str, study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    study.result.save(tmp_path / "damaged")
    (tmp_path / "damaged" / "study.json").write_text("{")
    assert run(["report", str(tmp_path / source), "-o", str(tmp_path / "page.html")]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


def test_a_folder_is_no_file_to_write(folder: Path) -> None:
    with pytest.raises(RisingBanditsError, match="out must be a file, got the folder"):
        write_html(folder, folder)


def test_without_plotly_the_extra_is_named(folder: Path) -> None:
    program = (
        "import sys; sys.modules['plotly'] = None; sys.modules['plotly.offline'] = None\n"
        "from risingbandits.cli import run; sys.exit(run(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "report", str(folder), "-o", str(folder / "page.html")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "Plotly is needed for reports: pip install 'risingbandits[report]'" in done.stderr


@given(st.text())
def test_any_text_is_escaped_everywhere(text: str) -> None:
    assert not {"<", ">", '"', "'"} & set(tables.escape(text))
    assert not {"<", ">"} & set(layout.label(text))
    assert len(html.unescape(layout.label(text))) <= 28
    script = layout.json_for_script(text)
    assert not {"<", ">", "&"} & set(script)
    assert json.loads(script) == text
    tables.escape(text).encode()  # also with halves of surrogate pairs


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_numbers_are_json_and_near(value: float) -> None:
    number = layout.number(value)
    json.dumps(number, allow_nan=False)
    assert number is None or number == pytest.approx(value, rel=1e-5)
    assert (number is None) == (not np.isfinite(value))


def test_curves_of_arms_that_make_each_other_rise_are_over_what_moves_them(tmp_path: Path) -> None:
    rested = RisingBandit.from_array([[0.1, 0.2, 0.3], [0.2, 0.25, 0.26], [0.1, 0.1, 0.5]])
    between = with_triggers(rested, [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    for problem, over in ((rested, "over the pulls of the arm"), (between, "over the pulls that trigger the arm")):
        simulate("round-robin", problem).save(tmp_path)
        notes = StudyNotes.of(problem, 3)
        notes.save(tmp_path)
        assert StudyNotes.load(tmp_path) == notes
        assert (notes.best is None) == (problem is between)
        assert over in write_html(tmp_path, tmp_path / "page.html").read_text()
    assert plot_curves(between).get_xlabel() == "pulls that trigger the arm"
