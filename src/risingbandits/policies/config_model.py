"""ConfigModel: which configuration to train next, by one model of configs, earlier runs and this run."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from risingbandits._core.errors import check_finite
from risingbandits._core.stats import normal_shares
from risingbandits._core.types import Floats, Ints
from risingbandits.policies import _config_process as process
from risingbandits.policies._config_points import Features, plain_config
from risingbandits.policies._config_process import Points, Process, Scales
from risingbandits.policies._knowledge import Knowledge
from risingbandits.policies._settings import integer
from risingbandits.policies.explanation import Moment
from risingbandits.policies.plain import PlainPolicy, PlainState, extend
from risingbandits.policies.registry import register

START, RUNG = 3, 1.5  # pulls of a start; factor to the next rung
FIRST, RANDOM = 3, 5  # starts at random without a prior; every fifth start is random, in case the model is wrong
LEAST = 5  # started arms before configs count
GROWTH, FIT = 1.1, 80  # the model learns again after 10 % more pulls, from at most 80 arms
ROWS, OLDEST, HIGHEST = 256, 48, 48  # of the matrix; the started arms that have two of them, the others have one
LOOK = 300  # other arms that are candidates between two looks at all arms
_FAR = 300.0  # between arms whose configs are not known, and from them to all others: nothing is alike
_LEAST_END = 8  # the resource at which arms are compared is not below, if no end is known


class _View(NamedTuple):
    """The rows of some state of the run: what the pulls told until then say."""

    point: int  # pulls told
    counts: Ints  # of each arm
    seen: Points
    scores: Floats
    inside: Ints  # the started arms that have rows
    outside: Points  # those that have none: their last row
    outside_scores: Floats
    pending: Points  # what is on its way
    best: float  # the highest score
    rates: Floats  # what a pull of each arm costs


class Space(NamedTuple):
    """What was known about arms before they were pulled."""

    points: Floats  # of their configs,
    groups: Ints  # and the number of its hyperparameter for each coordinate,
    names: list[str]  # and what these are called
    prior: Floats  # what earlier runs say of their scores
    deviations: Floats
    alike: Ints  # arms of which nothing is known, next to others

    @classmethod
    def of(cls, knowledge: Knowledge | None, n_arms: int) -> Space:
        """The space of all arms."""
        known = knowledge or Knowledge()
        configs = [plain_config(config) for config in known.configs or [{}] * n_arms]
        features = Features([config for config in configs if config])
        prior = np.zeros(n_arms) if known.means is None else known.means
        deviations = np.ones(n_arms) if known.deviations is None else known.deviations
        points, unknown = features.points(configs), np.flatnonzero([not config for config in configs])
        if len(unknown) < n_arms:
            points[unknown] = _FAR * np.arange(1, len(unknown) + 1)[:, None]
        alike = unknown[prior[unknown] == 0.0] if features.names else unknown[:0]
        return cls(points, features.groups(), features.names, prior, deviations, alike)


class _Learnt(NamedTuple):
    """What the model keeps until it learns again."""

    point: int
    scales: Scales
    hope: Floats  # log of the expected improvement of each arm per unit of cost


@register
class ConfigModel(PlainPolicy):
    """Choose by a Gaussian process over configs and resource, for best-arm identification among arms with configs.

    The score of an arm at a resource is a normal score of its value among all values seen. Its mean is what earlier
    runs predict, times a slope that is learnt; configs, the arm itself and the resource covary. The arm with the
    highest expected improvement per unit of cost is trained up to its next rung: 3 pulls, then half as many again as
    it has had. Every fifth start is random.

    `auto` plays it for best-arm identification where arms have configs or earlier runs say something about them
    (`inform`). Without either, the rest of `auto` is better.

    A decision follows from the rewards in their order, the number of decisions, the seed and the arms that are free:
    scales are learnt anew, from the same start, after fixed numbers of pulls.

    Parameters
    ----------
    max_pulls : int, optional
        Pulls after which an arm has reached its end, if that is known: arms are compared there.

    Examples
    --------
    >>> policy = ConfigModel(max_pulls=9)
    >>> policy.inform(Knowledge([{"lr": 10.0 ** -(i / 10), "seed": i % 3} for i in range(40)]))
    True
    >>> policy = policy.reset(n_arms=40, horizon=100, seed=1)
    >>> for _ in range(100):
    ...     arm = policy.ask(policy.pulls < 9)
    ...     n = policy.pulls[arm] + 1
    ...     policy.tell(arm, n / (n + 3) - abs(arm - 25) / 40)
    >>> policy.recommend() in (24, 25, 26)
    True
    >>> policy.what_matters()
    'lr matters most (length scale 0.2), seed least (...)'
    """

    name = "config-model"
    summary = "a Gaussian process over configs, earlier runs and resource"
    verified = "derived here"
    objective = "best-arm"
    _takes_costs = True

    max_pulls: int | None = integer(None)

    # -- what is known about the arms ---------------------------------------------------------------------------

    def inform(self, knowledge: Knowledge) -> bool:
        self._knowledge = knowledge.checked(None if self._state is None else self.n_arms)
        if self._state is not None:
            self._state.run._know(self._knowledge)
        return True

    def _extend(self, n_arms: int, horizon: int | None, knowledge: Knowledge) -> bool:
        self._check_begun("extend")
        self._knowledge = knowledge.checked(n_arms)
        extend(self, n_arms, horizon)
        self._state.run._know(self._knowledge)
        return True

    def _know(self, knowledge: Knowledge) -> None:
        """In a run: use this from now on, with the present arms and horizon."""
        more = self.n_arms - len(self.curves)
        self.curves += [[] for _ in range(more)]
        for name in ("counts", "goals", "asked"):
            setattr(self, name, np.pad(getattr(self, name), (0, more)))
        self._knowledge = knowledge
        self._forget()

    def _forget(self) -> None:
        self._space: Space | None = None
        self._learnt: _Learnt | None = None

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> PlainState:
        state = super()._new_state(n_arms, horizon, capacity)
        state.run._knowledge = self._knowledge
        return state

    @property
    def _given(self) -> Space:
        """What is known before pulls, of a run; found when it is first needed."""
        if self._space is None:
            self._space = Space.of(self._knowledge, self.n_arms)
        return self._space

    @property
    def _length(self) -> int | None:
        """The pulls after which arms end, if known."""
        known = None if self._knowledge is None else self._knowledge.max_pulls
        return known if self.max_pulls is None else self.max_pulls

    def tell(self, arm: int, reward: float, cost: float | None = None) -> None:
        """Report the reward of one pull of ``arm`` and what it cost, in any unit; None if that is not known."""
        if cost is not None:
            cost = check_finite("cost", cost, minimum=0.0)
        super().tell(arm, reward)
        self._state.run.costs[-1] = cost

    def predicted(self) -> tuple[Floats, Floats]:
        """Mean and deviation of each arm's score at the end; for arms without pulls, what is believed beforehand."""
        self._check_begun("predicted")
        run: Self = self._state.run
        view = run._view(len(run.told), run._pending(np.zeros(run.n_arms, dtype=np.bool_)))
        return run._predict(view, run._learn().scales, np.arange(run.n_arms), run._end(view))

    def what_matters(self) -> str:
        """A sentence on the hyperparameters that matter most and least; empty if nothing was learnt about them."""
        self._check_begun("what_matters")
        run: Self = self._state.run
        return run._matters() if run.told else ""

    def _matters(self) -> str:
        """The same, of a run."""
        scales, names = self._learn().scales, self._given.names
        if not names or scales.signal == 0.0:
            return ""
        order = np.argsort(scales.lengths, kind="stable")
        first, last = order[0], order[-1]
        said = f"{names[first]} matters most (length scale {scales.lengths[first]:.1f})"
        return said + (f", {names[last]} least ({scales.lengths[last]:.1f})" if len(order) > 1 else "")

    # -- a run --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self.seed = int(self.rng.integers(2**32))
        self.curves: list[list[float]] = [[] for _ in range(self.n_arms)]
        self.told: list[int] = []  # the arm of each pull,
        self.costs: list[float | None] = []  # and what it cost
        self.counts = np.zeros(self.n_arms, dtype=np.int64)
        self.goals = np.zeros(self.n_arms, dtype=np.int64)  # the rung to which an arm was sent
        self.asked = np.zeros(self.n_arms, dtype=np.int64)  # pulls given out
        self.asks = self.starts = 0
        self._forget()

    def _select(self, available: Any) -> int:
        arm = self._decide(available)
        self._note(arm)
        return arm

    def _propose(self, available: Any = None) -> int:
        self._check_begun("propose")
        everyone = np.ones(self.n_arms, dtype=np.bool_)
        return int(self._state.run._decide(everyone if available is None else np.asarray(available)))

    def _give(self, arm: int) -> None:
        self._check_begun("give")
        self._state.run._note(arm)

    def _decide(self, available: Any) -> int:
        """The arm to pull next; it changes nothing."""
        below = np.flatnonzero(available & (self.counts < self.goals))
        return int(below[np.argmax(self.counts[below])]) if len(below) else self._send(available)

    def _note(self, arm: int) -> None:
        count = len(self.curves[arm])
        if count >= self.goals[arm]:
            self.starts += int(self.goals[arm] == 0 and count == 0)
            self.goals[arm] = self._rungs(np.array([count]))[0]
        self.asked[arm] = count + 1
        self.asks += 1

    def _update(self, arm: int, reward: float) -> None:
        self.curves[arm].append(float(reward))
        self.told.append(arm)
        self.costs.append(None)
        self.counts[arm] += 1

    def _send(self, available: Any) -> int:
        """The arm that is sent to its next rung."""
        rng = np.random.default_rng([self.seed, self.asks])
        alike = self._given.alike
        alike = alike[available[alike] & (self.counts[alike] == 0) & (self.goals[alike] == 0)]
        if len(alike) > 1:  # the first stands for all, so that they are started in the order of their numbers
            available = available.copy()
            available[alike[1:]] = False
        new = np.flatnonzero(available & (self.counts == 0) & (self.goals == 0))
        has_prior = bool(self._given.prior.any())
        if len(new) and has_prior and not self.starts and not self.told:
            return _drawn(new, self._given.prior[new], rng)
        if len(new) and not has_prior and np.count_nonzero((self.counts > 0) | (self.goals > 0)) < FIRST:
            return int(rng.choice(new))
        learnt = self._learn()
        view = self._view(len(self.told), self._pending(available))
        candidates = np.flatnonzero(available)
        if len(candidates) > ROWS + LOOK:
            others = np.setdiff1d(candidates, view.inside)
            promising = others[np.argpartition(-learnt.hope[others], LOOK)[:LOOK]] if len(others) > LOOK else others
            candidates = np.union1d(np.intersect1d(candidates, view.inside), promising)
        arm = _drawn(candidates, self._gain(view, learnt.scales, candidates), rng)
        if len(new) and not self.counts[arm] and (self.starts + 1) % RANDOM == 0:
            return int(rng.choice(new))
        return arm

    # -- what is learnt -----------------------------------------------------------------------------------------

    def _learn(self) -> _Learnt:
        """Scales, and the hope of each arm, as of the last of the fixed numbers of pulls at which the model learns."""
        point = last_point(len(self.told))
        if self._learnt is None or self._learnt.point != point:
            view = self._view(point, np.zeros(0, dtype=np.int64))
            scales = self._scales(view)
            everyone = np.arange(self.n_arms)
            self._learnt = _Learnt(point, scales, self._gain(view, scales, everyone))
        return self._learnt

    def _scales(self, view: _View) -> Scales:
        started = np.flatnonzero(view.counts)
        hyperparameters = int(self._given.groups.max()) + 1 if len(self._given.groups) else 0
        if not hyperparameters or len(started) < LEAST:
            return Scales(0.0, 1.0, np.ones(hyperparameters))
        picked = np.random.default_rng([self.seed, 1, view.point]).permutation(started)[:FIT]
        curves = [np.array(self.curves[arm][: view.counts[arm]]) for arm in picked.tolist()]
        scores = process.scores_at_equal_resource(curves)
        known = self._given
        return process.most_probable(known.points[picked], known.groups, known.prior[picked], scores)

    def _pending(self, available: Any) -> Ints:
        """Arms of which a pull is given out and not told."""
        return np.flatnonzero((self.asked > self.counts) & ~available)

    def _view(self, point: int, pending: Ints) -> _View:
        """The rows after these pulls: of each arm its last value and that at half its resource, at most `ROWS`."""
        counts = np.bincount(self.told[:point], minlength=self.n_arms)
        costs = np.array(self.costs[:point], float)  # None is NaN
        paid = np.bincount(self.told[:point], ~np.isnan(costs), minlength=self.n_arms)
        spent = np.bincount(self.told[:point], np.nan_to_num(costs), minlength=self.n_arms)
        usual = float(spent.sum()) / max(1.0, float(paid.sum())) or 1.0
        started = np.flatnonzero(counts)
        half = (counts[started] + 1) // 2
        arms = started.tolist()
        last = np.array([self.curves[arm][n - 1] for arm, n in zip(arms, counts[started].tolist(), strict=True)])
        middle = np.array([self.curves[arm][n - 1] for arm, n in zip(arms, half.tolist(), strict=True)])
        has_two = counts[started] > 2
        scores = process.normal_scores(np.concatenate([last, middle[has_two]]))
        of_last, of_middle = scores[: len(arms)], np.zeros(len(arms))
        of_middle[has_two] = scores[len(arms) :]
        two, one = self._kept(point, counts[started], of_last, started, pending)
        both = two & has_two
        seen = self._rows(np.r_[started[both], started[two | one]], np.r_[half[both], counts[started[two | one]]])
        left = ~(two | one)
        return _View(
            point=point,
            counts=counts,
            seen=seen,
            scores=np.r_[of_middle[both], of_last[two | one]],
            inside=started[two | one],
            outside=self._rows(started[left], counts[started[left]]),
            outside_scores=of_last[left],
            pending=self._rows(pending, np.maximum(self.goals, 1)[pending]),
            best=float(scores.max(initial=0.0)),
            rates=np.where(spent > 0.0, spent, usual) / np.where(spent > 0.0, paid, 1.0),
        )

    def _kept(self, point: int, counts: Ints, scores: Floats, started: Ints, pending: Ints) -> tuple[Any, Any]:
        """Which started arms have two rows, and which one: the oldest, the best, those in flight, and random ones."""
        two, one = np.ones(len(counts), dtype=np.bool_), np.zeros(len(counts), dtype=np.bool_)
        if 2 * len(counts) <= ROWS:
            return two, one
        two[:] = np.isin(started, pending)
        two[np.lexsort((-scores, -counts))[:OLDEST]] = True
        two[np.argsort(np.where(two, np.inf, -scores), kind="stable")[:HIGHEST]] = True
        others = np.random.default_rng([self.seed, 2, last_point(point)]).permutation(np.flatnonzero(~two))
        one[others[: max(0, ROWS - 2 * int(two.sum()))]] = True
        return two, one

    def _rows(self, arms: Ints, resources: Any) -> Points:
        return Points(arms, np.asarray(resources, float), self._given.points[arms], self._given.prior[arms])

    def _predict(self, view: _View, scales: Scales, arms: Ints, to: Floats) -> tuple[Floats, Floats]:
        """Mean and deviation of the scores of these arms at these resources."""
        model = Process(scales, self._given.groups, view.seen, view.scores, view.pending)
        rows = self._rows(arms, to)
        mean, var = model.predict(rows)
        place = np.searchsorted(view.outside.arms, arms)
        own = place < len(view.outside.arms)
        own[own] = view.outside.arms[place[own]] == arms[own]
        if own.any():
            seen, scores = view.outside.take(place[own]), view.outside_scores[place[own]]
            mean[own], var[own] = model.predict_after(rows.take(own), seen, scores)
        return mean, np.sqrt(var)

    def _end(self, view: _View) -> Floats:
        """The resource at which each arm is compared: its end, as far as the budget reaches."""
        counts = view.counts
        end = self._length or max(_LEAST_END, 2 * int(counts.max(initial=0)))
        to = np.full(self.n_arms, float(end)) if self._length else np.maximum(end, self._rungs(counts)).astype(float)
        if self.horizon is not None:
            to = np.minimum(to, counts + max(0, self.horizon - view.point))
        return np.maximum(to, 1.0)

    def _gain(self, view: _View, scales: Scales, arms: Ints) -> Floats:
        """The logarithm of the expected improvement of each arm over the best score, per unit of cost."""
        mean, deviation = self._predict(view, scales, arms, self._end(view)[arms])
        counts = view.counts[arms]
        pulls = (self._rungs(counts) - counts).astype(float)
        if self.horizon is not None:
            pulls = np.minimum(pulls, max(1, self.horizon - view.point))
        costs = view.rates[arms] * np.maximum(1.0, pulls)
        gain: Floats = log_improvement((mean - view.best) / deviation) + np.log(deviation) - np.log(costs)
        return gain

    def _rungs(self, counts: Ints) -> Ints:
        """The resource to which an arm with so many pulls is sent next."""
        following = np.where(counts < START, START, np.maximum(counts + 1, np.ceil(RUNG * counts))).astype(np.int64)
        return following if self._length is None else np.minimum(following, self._length)

    # -- what it says -------------------------------------------------------------------------------------------

    def _why_next(self, at: Moment) -> str:
        run = at.state.run
        if 0 < at.pulls[at.arm] < run.goals[at.arm]:
            return f"on its way to {run.goals[at.arm]} pulls"
        if at.pulls[at.arm] == 0 and not run._given.prior.any() and run.starts < FIRST:
            return "one of the first, at random"
        return "highest expected improvement per pull, or every fifth start at random"

    def _described(self) -> str:
        said = self.what_matters() if self._state is not None else ""
        return f"{self!r}, {said}" if said else repr(self)


def log_improvement(margins: Floats) -> Floats:
    """The logarithm of the expected improvement of a standard normal variable plus each of the margins over 0.

    >>> log_improvement(np.array([0.0, -40.0])).round(2).tolist()
    [-0.92, -808.3]
    """
    squares = margins * margins / 2.0 + 0.5 * math.log(2.0 * math.pi)
    near = np.maximum(margins, -6.0)
    density = np.exp(-near * near / 2.0) / math.sqrt(2.0 * math.pi)
    direct = np.log(density + near * normal_shares(near))
    far = np.minimum(margins, -6.0)
    return np.where(margins > -6.0, direct, -squares + np.log1p(-3.0 / far**2) - 2.0 * np.log(-far))


def _drawn(arms: Ints, values: Floats, rng: np.random.Generator) -> int:
    """The arm with the highest value; of equals a random one, as the order of a table must not count."""
    return int(rng.choice(arms[values >= values.max() - 1e-12]))


def last_point(told: int, growth: float = GROWTH) -> int:
    """The last of the numbers of pulls at which the model learns, 1, 2, 3, ..., in steps of a tenth.

    >>> [last_point(told) for told in (0, 1, 12, 24, 25, 1000)]
    [0, 1, 12, 24, 24, 972]
    """
    point = 0
    while (following := max(point + 1, math.floor(growth * point))) <= told:
        point = following
    return point
