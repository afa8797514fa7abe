"""From where to where: inverses of impulse trials, by a committee of nets and by good trials that are polished."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus.control.impulse import Impulse
from saltus.errors import InputError, unknown_name
from saltus.optimize._checked import positive, rising, rows, whole
from saltus.optimize._impulses import TARGETS, TIME, Swinger, Trials

# What counts as soft: kinetic energy at the end, J, or the largest force on the hand that holds, N.
SOFTNESS = ("residual", "force")

# Shares of a committee's data that train, validate and test it [yang2016, 7.3.2].
SPLIT = (0.70, 0.15, 0.15)

# An inverse is judged with impulses that begin so much too early or too late, as shares. Polished ones are to bear as
# much, but at least a time, s: a share of a begin that is nearly zero is nothing. They begin no earlier than that.
OFF = (0.95, 1.0, 1.05)
SHARE, LATE = 0.05, 0.010
BORNE = (-1.0, -0.5, 0.0, 0.5, 1.0)


def softest(
    trials: Trials, by: str = "residual", *, starts: int = 21, targets: int = 21, each: int = 7,
    reach: tuple[float, float] = TARGETS,
) -> Trials:  # fmt: skip
    """The softest trials of each bin of start and end [yang2016, 7.3.2].

    Parameters
    ----------
    by
        ``residual`` or ``force``.
    starts, targets
        How many bins there are of each.
    each
        How many are kept of a bin.
    reach
        Ends that count, m.
    """
    check_softness(by)
    starts, targets = whole(starts, "softest: starts", 1), whole(targets, "softest: targets", 1)
    each, reach = whole(each, "softest: each", 1), rising(reach, "softest: reach")
    good = trials[trials.reached & (trials.x >= reach[0]) & (trials.x <= reach[1])]
    if not len(good):
        raise InputError(f"impulses: no trial ended between {reach[0]:g} and {reach[1]:g} m; make more")
    row = _bin(good.start, starts, (float(trials.start.min()), float(trials.start.max())))
    column = _bin(good.x, targets, reach)
    order = np.lexsort((getattr(good, by), row * targets + column))
    bins = (row * targets + column)[order]
    first = np.searchsorted(bins, bins)
    return good[order[np.arange(len(bins)) - first < each]]


def check_softness(by: str) -> None:
    """Refuse what softness cannot be told by."""
    if by not in SOFTNESS:
        raise unknown_name("softness", by, SOFTNESS, "impulses")


def _bin(values: np.ndarray, count: int, ends: tuple[float, float]) -> np.ndarray:
    low, high = ends
    return np.clip(((values - low) / max(high - low, 1e-12) * count).astype(int), 0, count - 1)


@equal_by_content
@dataclass(frozen=True, eq=False)
class Committee:
    """Nets that tell the impulse from start and end; their mean counts.

    Parameters
    ----------
    nets
        Each with a hidden layer of sigmoid units and linear outputs [yang2016, 7.3.2].
    error
        Root mean square of what the mean of the nets is off on the data that tested it, in the units of begin, size and
        length.
    """

    nets: tuple[Any, ...]
    scale: np.ndarray
    swinger: Swinger
    error: np.ndarray

    def impulse(self, start: float, target: float) -> Impulse:
        """The impulse for a swing from one place, behind, to another, ahead, m."""
        begin, size, length = self.predict(np.array([self.swinger.check_query(start, target)]))[0]
        return Impulse(begin=float(begin), size=float(size), length=float(length))

    def predict(self, places: np.ndarray) -> np.ndarray:
        """Begin, size and length for rows of start and end; cut to what a motor can do."""
        inputs = (places - self.scale[0, :2]) / self.scale[1, :2]
        mean = np.mean([net.predict(inputs) for net in self.nets], axis=0)
        found = mean * self.scale[1, 2:] + self.scale[0, 2:]
        found[:, [0, 2]] = np.maximum(found[:, [0, 2]], 0.0)
        found[:, 1] = np.clip(found[:, 1], -self.swinger.limit, self.swinger.limit)
        return np.asarray(found)


def committee(data: Trials, swinger: Swinger, *, members: int = 10, units: int = 20, seed: int = 0) -> Committee:
    """Train nets on trials, each on its own split; of several lengths of training the best on its validation counts."""
    from sklearn.neural_network import MLPRegressor
    from threadpoolctl import threadpool_limits

    members, units = whole(members, "committee: members", 1), whole(units, "committee: units", 1)
    seed = whole(seed, "committee: a seed", 0)
    if len(data) < 20:
        raise InputError(f"impulses: a committee learns from at least 20 trials, got {len(data)}")
    table = np.column_stack([data.start, data.x, data.begin, data.size, data.length])
    scale = np.array([table.mean(axis=0), np.maximum(table.std(axis=0), 1e-9)])
    scaled = (table - scale[0]) / scale[1]
    draw = np.random.default_rng(seed)
    order = draw.permutation(len(table))
    test, rest = np.split(order, [round(SPLIT[2] * len(order))])
    nets = []
    for _ in range(members):
        mixed = draw.permutation(rest)
        valid, train = np.split(mixed, [round(SPLIT[1] * len(order))])
        best, least = None, math.inf
        state = int(draw.integers(2**31))
        for length in (40, 120, 300):
            net = MLPRegressor(
                hidden_layer_sizes=(units,), activation="logistic", solver="lbfgs", max_iter=length, random_state=state
            )
            # nets so small are slower with several threads
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")  # that it was stopped early is the point
                net.fit(scaled[train, :2], scaled[train, 2:])
            error = float(np.mean((net.predict(scaled[valid, :2]) - scaled[valid, 2:]) ** 2))
            if error < least:
                best, least = net, error
        nets.append(best)
    made = Committee(tuple(nets), scale, swinger, np.zeros(3))
    off = made.predict(table[test, :2]) - table[test, 2:]
    return Committee(made.nets, scale, swinger, np.sqrt(np.mean(off**2, axis=0)))


@equal_by_content
@dataclass(frozen=True, eq=False)
class GoodTrials:
    """The inverse that copes with several right answers: good trials nearby, polished by simulation.

    Trials that came from near the start to near the target softly are moved to the very start, and changed at random by
    less and less; what counts is the catch of a bar at the target, with the impulse on time, early and late.

    Parameters
    ----------
    swinger, trials
        What trials are made by, and those that are known.
    candidates, offspring, rounds
        How many are kept, how many changes of each are tried, how often.
    sure
        How near the bar they are to come, as a share of the distance at which a hand can close: so that an exact run,
        which is not quite that of steps of 1 ms, is caught too.
    rope
        Whether targets are places of a rope on the level, of which the hand takes hold wherever it comes within reach.
    """

    swinger: Swinger
    trials: Trials
    candidates: int = 12
    offspring: int = 15
    rounds: int = 6
    sure: float = 0.8
    rope: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("candidates", 1), ("offspring", 1), ("rounds", 1), ("seed", 0)):
            object.__setattr__(self, name, whole(getattr(self, name), f"good trials: {name}", least))
        if positive(self.sure, "good trials: sure") > 1:
            raise InputError(f"good trials: sure is a share of up to 1, got {self.sure:g}")

    def impulse(self, start: float, target: float) -> Impulse:
        """The impulse for a swing from one place, behind, to a bar at another, ahead, m."""
        begin, size, length = self.best(start, target)
        return Impulse(begin=float(begin), size=float(size), length=float(length))

    def best(self, start: float, target: float) -> np.ndarray:
        """Begin, size and length."""
        start, target = self.swinger.check_query(start, target)
        draw = np.random.default_rng([self.seed, round(1e6 * abs(start)), round(1e6 * abs(target))])
        kept = self._nearest(start, target)
        longer = self.swinger.time / TIME
        spread = np.array([0.02 * longer, 0.1 * self.swinger.limit, 0.02 * longer])
        for _ in range(self.rounds):
            changed = kept[:, None] + draw.normal(size=(len(kept), self.offspring, 3)) * spread
            pool = np.concatenate([kept, changed.reshape(-1, 3)])
            pool[:, 0], pool[:, 2] = np.maximum(pool[:, 0], LATE), np.maximum(pool[:, 2], 0.005)
            pool[:, 1] = np.clip(pool[:, 1], -self.swinger.limit, self.swinger.limit)
            kept = pool[np.argsort(self._cost(pool, start, target))[: self.candidates]]
            spread *= 0.6
        best: np.ndarray = kept[0]
        return best

    def _nearest(self, start: float, target: float) -> np.ndarray:
        good = self.trials[self.trials.reached]
        if not len(good):
            raise InputError("impulses: there are no trials that came anywhere")
        away = ((good.start - start) / 0.01) ** 2 + ((good.x - target) / 0.01) ** 2 + good.residual
        first = np.argsort(away)[: 4 * self.candidates]
        return np.column_stack([good.begin, good.size, good.length])[first]

    def _cost(self, pool: np.ndarray, start: float, target: float) -> np.ndarray:
        """Mean of what is left at the catch, J, over times that are off; a miss costs more the larger it is."""
        many = len(BORNE)
        begin = pool[:, :1] + np.maximum(SHARE * pool[:, :1], LATE) * np.array(BORNE)
        size, length = np.repeat(pool[:, 1], many), np.repeat(pool[:, 2], many)
        near, begin = self.sure * self.swinger.capture, begin.ravel()
        if self.rope:
            made = self.swinger.swing(start, begin, size, length, below=self.swinger.capture)
            miss = np.abs(made.x - target)
        else:
            made = self.swinger.swing(start, begin, size, length, bar=target, radius=near)
            miss = made.miss
        miss = np.nan_to_num(miss, nan=10.0, posinf=10.0)
        cost = np.where(made.reached & (miss <= near), made.residual, 5.0 + 50.0 * miss)
        mean: np.ndarray = cost.reshape(-1, many).mean(axis=1)
        return mean


@equal_by_content
@dataclass(frozen=True, eq=False)
class Asked:
    """What became of queries: every start with every target, by an inverse, begun at some shares of its time.

    Parameters
    ----------
    starts, targets, begins
        What was asked: m, m, and shares of the begin.
    impulses
        Begin, size and length that the inverse tells, for every start and target.
    made
        The trials, in arrays of starts, targets and shares.
    """

    starts: tuple[float, ...]
    targets: tuple[float, ...]
    begins: tuple[float, ...]
    impulses: np.ndarray
    made: Trials

    def __len__(self) -> int:
        return len(self.starts) * len(self.targets)

    @property
    def hit(self) -> np.ndarray:
        """Whether the bar was caught with the impulse on time, for every start and target."""
        return np.asarray(self.made.reached[..., self.begins.index(1.0)])


def hits(
    swinger: Swinger, inverse: Committee | GoodTrials, starts: Sequence[float], targets: Sequence[float],
    begins: Sequence[float] = OFF,
) -> Asked:  # fmt: skip
    """Ask an inverse for every start with every target, and make trials with the impulse on time and off."""
    (early,) = rows("hits", begins=begins)
    if early.min() < 0 or 1.0 not in early:
        raise InputError(f"hits: shares of the begin are not negative, and 1 is among them, got {early.tolist()}")
    places = [rows("hits", **{name: given})[0].tolist() for name, given in (("starts", starts), ("targets", targets))]
    queries = [swinger.check_query(start, target) for start in places[0] for target in places[1]]
    told, made = [], []
    for start, target in queries:
        one = inverse.impulse(start, target)
        told.append((one.begin, one.size, one.length))
        made.append(swinger.swing(start, one.begin * early, one.size, one.length, bar=target))
    shape = (len(places[0]), len(places[1]))
    trials = {name: np.array([vars(row)[name] for row in made]).reshape(*shape, -1) for name in vars(made[0])}
    return Asked(
        tuple(places[0]), tuple(places[1]), tuple(early.tolist()), np.array(told).reshape(*shape, 3), Trials(**trials)
    )
