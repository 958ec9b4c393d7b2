"""The command ``demo``: six models share one budget, then policies play the paper's two problems."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from risingbandits._core.errors import RisingBanditsError, check_positive_int, missing
from risingbandits._core.files import remove
from risingbandits._core.progress import progress_bar
from risingbandits._core.tables import TextTable
from risingbandits.cli._options import Jobs, Runs, given_command
from risingbandits.cli._output import Json, Output

if TYPE_CHECKING:
    from risingbandits.simulation import Result

_BUDGET = 400  # batches for all models together
_MODELS = f"""\
Six models of scikit-learn learn to read digits, with {_BUDGET} batches of 32 images for all of them
together. After each batch the default policy decides which model trains next. A score is the
share of 400 validation images that is right."""
_PROBLEMS = ("paper-15arms", "paper-2arms")
_POLICIES = ("auto", "commit-ucb", "red-ucb", "kl-ucb", "sw-ucb", "sw-ts", "rexp3", "round-robin")
_REGRET = """\
The paper's two problems: regret is the reward that the best arm gives in all rounds, less the
reward of the policy (lower is better; ± is half of a 95 % interval). auto is the default for
cumulative reward, commit-ucb has a proved bound, red-ucb is the paper's policy, round-robin pulls
all arms equally often; the others are baselines of the paper."""

commands = typer.Typer()


@commands.command()
def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder for reports, figures and results.")] = Path("risingbandits-demo"),
    runs: Runs = 20,
    horizon: Annotated[int | None, typer.Option(help="Rounds; default: the problems' own 200,000.")] = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Train six models with one budget; play the paper's problems."""
    from risingbandits.problems import get_problem
    from risingbandits.reports.study import Study, prepare_folder, write_report
    from risingbandits.simulation import simulate
    from risingbandits.simulation._summary import summary_dict

    check_positive_int("runs", runs)  # before the models are trained
    if horizon is not None:
        check_positive_int("horizon", horizon)
    prepare_folder(out)
    with Output(as_json) as output:
        try:
            _show_models(out, output)
        except ImportError:
            output.say(f"{missing('scikit-learn', 'the models of the demo', 'sklearn')}\n")
        studies = []
        for name in _PROBLEMS:
            problem = get_problem(name)
            with progress_bar(name, runs * len(_POLICIES)) as advance:
                options: dict[str, Any] = {"jobs": jobs, "progress": advance, "objective": "cumulative"}
                studies.append(Study(problem, simulate(_POLICIES, problem, horizon=horizon, runs=runs, **options)))
        results = [study.result for study in studies]
        page = write_report(studies, out, given_command(context))
        output.say(f"{_REGRET}\n")
        output.tables([_regrets(results)], studies=[summary_dict(result) for result in results])
        output.say(f"Report of the simulations, with figures: {page}", written=page)


# -- models ---------------------------------------------------------------------------------------------------------


class _Trained(NamedTuple):
    """What a run with one budget led to."""

    scores: Mapping[str, list[float]]  # of every batch of each model
    recommended: str
    test: float  # score of the recommended model on images that decided nothing


def _train(policy: str, store: Path | None = None) -> _Trained:
    """Share the budget between new models; as a program of a user would do it."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import SGDClassifier
    from sklearn.neural_network import MLPClassifier

    import risingbandits as rb

    X, y = load_digits(return_X_y=True)
    data = X[:1000] / 16, y[:1000], X[1000:1400] / 16, y[1000:1400]
    models: dict[str, Any] = {
        f"linear {rate}": SGDClassifier(learning_rate="constant", eta0=rate, random_state=0)
        for rate in (0.001, 0.01, 0.1)
    }
    models |= {f"network {size}": MLPClassifier(size, learning_rate_init=0.01, random_state=0) for size in (8, 32, 128)}
    arms = {name: rb.integrations.PartialFitArm(model, *data, batch=32) for name, model in models.items()}
    with rb.Allocator(arms, _BUDGET, policy=policy, store=store) as allocator:
        allocator.run(progress=False)
        best = allocator.recommend()
        test = allocator.load(best).learner.score(X[1400:] / 16, y[1400:])
        return _Trained({name: allocator.rewards(name) for name in arms}, best, test)


def _show_models(out: Path, output: Output) -> None:
    from risingbandits.reports.pages import write_html

    store = out / "models.db"
    for earlier in out.glob(f"{store.name}*"):
        remove(earlier)
    trained = _train("auto", store)
    try:
        written = f"Report of this run: {write_html(store, out / 'models.html')}"
    except RisingBanditsError as error:  # Plotly is not installed
        written = str(error)
    split = _train("round-robin")
    output.say(f"{_MODELS}\n")
    output.tables([_shares(trained)], models=_shares(trained).values(), recommended=trained.recommended)
    output.say(
        f"Recommended: {trained.recommended}, right on {trained.test:.1%} of 397 new images. With equal shares of "
        f"{_BUDGET // len(split.scores)} batches it would be {split.recommended}, right on {split.test:.1%}."
    )
    output.say(written)
    output.say(f"Its decisions: risingbandits status {store}\n")


def _shares(trained: _Trained) -> TextTable:
    """Who got which share of the budget, the most first."""
    order = sorted(trained.scores.items(), key=lambda item: -len(item[1]))
    records = [{"model": name, "batches": len(own), "first": own[0], "last": own[-1]} for name, own in order if own]
    rows = [(str(r["model"]), str(r["batches"]), f"{r['first']:.3f}", f"{r['last']:.3f}") for r in records]
    return TextTable(("model", "batches", "first score", "last score"), rows, frozenset({1, 2, 3}), records=records)


# -- the paper's problems -------------------------------------------------------------------------------------------


def _regrets(results: list[Result]) -> TextTable:
    """A row for each policy, the lowest sum of shares of J* first, and a column for each problem."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for result in results:
        for row in result.summary():
            found.setdefault(str(row["policy"]), []).append(row)
    order = sorted(found, key=lambda policy: sum(row["percent"] for row in found[policy]))
    rows = [
        (policy, *(f"{row['regret']:,.0f} ± {row['regret_half_width']:,.0f}" for row in found[policy]))
        for policy in order
    ]
    header = ("policy", *(f"{result.problem}, {result.horizon:,} rounds" for result in results))
    return TextTable(header, rows, frozenset(range(1, len(header))))
