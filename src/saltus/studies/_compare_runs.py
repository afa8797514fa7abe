"""Runs that are compared: a swing of 0.55 m, a swing-up to 0.568 m, a ladder and a rope, by each controller."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus.contact import World, ladder, rope
from saltus.control import Impulse
from saltus.engine import Trajectory, simulate, simulate_many
from saltus.engine._cases import columns
from saltus.hybrid import HybridSystem
from saltus.optimize import GoodTrials, Swinger
from saltus.robots import hang, put
from saltus.show._scene import positions
from saltus.studies._catches import CATCHES, Caught
from saltus.studies._compare_learning import FAR, NEAR, SPACING, UP, Impulses
from saltus.studies._compare_torque import TorqueUse, torque_use
from saltus.studies._swing_mixes import SwingMixes
from saltus.studies._swing_tasks import _named, bar_parameters, ended_by_catch, find_task, hand_places, last_bar
from saltus.studies._swing_trials import swing_trials
from saltus.studies._swings import Swing, swings

# How long swing-ups and swings may take, s; and an impulse, which has but one forward swing: whatever it comes to after
# that is chance.
LONG, SHORT, FORWARD = 15.0, 6.0, 1.5

# How long a swing-up may take without stops, s: an elbow that only turns faster and faster takes long to compute.
FREE = 8.0

# Bars of a ladder to be climbed, and how many of uneven ones, whose gaps are drawn from a range, m.
BARS, LADDERS, GAPS = 6, 10, (0.50, 0.60)

# How long after a catch runs go on that are drawn, s.
AFTER = 0.05

# Targets on a rope, m.
ROPE = tuple(float(x) for x in np.linspace(NEAR, FAR, 9))

TASKS = ("swing", "swing-up")

# A droop is no swing, s.
DROOP = 0.05


@equal_by_content
@dataclass(frozen=True, eq=False)
class Shown:
    """A run of one swing until a little after its catch, the swing, and what torque it took."""

    run: Trajectory
    swing: Swing | None
    torque: TorqueUse

    @property
    def end(self) -> float:
        """When the swing was over, s."""
        return self.run.end_time if self.swing is None else self.swing.start + self.swing.time

    @property
    def caught(self) -> bool:
        """Whether it ended in a catch of the last bar: one that swings back to the bar that it left has not."""
        return self.swing is not None and self.swing.caught and self.swing.bar == last_bar(self.run.system)

    @property
    def time(self) -> float | None:
        """How long it took to the catch, s; None if there was none."""
        return self.swing.time if self.swing is not None and self.caught else None

    @property
    def residual(self) -> float | None:
        """Kinetic energy that was lost in the catch, J; None if there was none."""
        return self.swing.residual if self.swing is not None and self.caught else None

    @property
    def told(self) -> str:
        """What became of it, in words."""
        one = self.swing
        if not self.run.status.good and not self.caught:
            return f"not caught: {self.run.status.meaning} at {self.run.end_time:.4g} s"
        if one is None or not one.caught:
            return f"not caught within {self.run.end_time:g} s"
        if not self.caught:
            return f"not caught, but back at the bar that it left after {one.time:.2f} s"
        back = f"{one.back_swings} back-swing{'' if one.back_swings == 1 else 's'}"
        return f"caught after {one.time:.2f} s with {one.residual:.2f} J, from {one.approach}, {back}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "swing": None if self.swing is None else self.swing.to_dict(),
            "torque": self.torque.to_dict(),
        }


def world_of(
    robot: str | HybridSystem, task: str, *, stops: bool = True
) -> tuple[HybridSystem, dict[str, str] | None, float]:
    """The robot where a task begins; which hands are open; how long it may take, s."""
    name, values = _named(robot)
    values |= {} if stops else {"elbow_stop": 1e6}
    if task == "swing-up":
        system = hang(name, put(name, World(((0.0, 0.0), (UP, 0.0))), **values))
        return system, {system.units[1].name: "open"}, LONG if stops else FREE
    return put(name, ladder(SPACING, 3), **values), None, SHORT


def shown(system: HybridSystem, controller: Any, until: float, mode: Mapping[str, str] | None = None) -> Shown:
    """Run until a little after the first catch."""
    run = simulate(system, controller=controller, mode=mode, until=until, output_step=1e-3, raise_errors=False)
    swing = _first(run)
    if swing is not None and swing.caught:
        until = min(until, swing.start + swing.time + AFTER)
        run = simulate(system, controller=controller, mode=mode, until=until, output_step=1e-3, raise_errors=False)
        swing = _first(run)
    begin, end = (None, None) if swing is None else (swing.start, swing.start + swing.time)
    lasted = run.end_time > run.start_time
    return Shown(run, swing, torque_use(run, begin, end) if lasted else TorqueUse(*(0.0,) * len(fields(TorqueUse))))


def _first(run: Trajectory) -> Swing | None:
    return next((swing for swing in swings(run) if swing.time > DROOP), None)


def nominal(robot: str | HybridSystem, task: str, controller: Any, *, stops: bool = True) -> Shown:
    """A task by a controller, with nothing off; by an impulse within one forward swing."""
    system, mode, until = world_of(robot, task, stops=stops)
    return shown(system, controller, FORWARD if isinstance(controller, Impulse) else until, mode)


def to_targets(robot: str | HybridSystem, inverse: Any, targets: Sequence[float]) -> dict[float, Shown]:
    """Runs from 0.55 m behind to a bar at each of some targets, m, until the catch, by target."""
    name, values = _named(robot)
    made = {}
    for target in targets:
        world = World(((-SPACING, 0.0), (0.0, 0.0), (target, 0.0)))
        made[target] = shown(put(name, world, **values), inverse.impulse(-SPACING, target), FORWARD)
    return made


def to_bars(
    system: HybridSystem, swinger: Swinger, pairs: Sequence[tuple[float, float]], impulses: Sequence[Impulse],
    begins: Sequence[float],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Impulses from starts to bars at targets, m, each begun at some shares of its time, run exactly.

    Whether the bar was caught and with which kinetic energy, J, a row for each pair and a column for each share; and
    where it was caught with a share of one, m, not a number where it was not.
    """
    count = len(begins)
    places = np.zeros((len(pairs) * count, 3, 2))
    places[:, 0, 0], places[:, 2, 0] = np.repeat(np.array(pairs), count, axis=0).T
    states = np.zeros((len(places), len(system.state_names)))
    states[:, 2:4] = swinger.angles(places[:, 0, 0]).T
    controllers = [replace(one, begin=one.begin * share) for one in impulses for share in begins]
    ended = ended_by_catch(system, find_task("swing"), None)
    batch = simulate_many(
        ended, states, parameters=bar_parameters(places), controllers=controllers, until=FORWARD, rtol=1e-8, atol=1e-10,
        events_kept=0, figures=CATCHES,
    )  # fmt: skip
    caught = Caught(batch, system)
    good = (caught.bars[:, 0] == 2).reshape(-1, count)
    hands, _ = columns(hand_places(system), batch.states, batch.cases.parameters)
    right = list(begins).index(1.0)
    ends = np.where(good[:, right], hands.reshape(-1, count, 4)[:, right, 2], np.nan)
    return good, caught.residuals[:, 0].reshape(-1, count), ends


@equal_by_content
@dataclass(frozen=True)
class Scope:
    """What a controller was seen to do: whether it did it, and what happened, in words."""

    done: bool
    told: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"done": self.done, "told": self.told}


def as_scope(one: Shown) -> Scope:
    """A swing-up in words."""
    return Scope(one.caught, one.told)


def impulse_up(robot: str | HybridSystem, impulse: Impulse) -> Scope:
    """An impulse that is right for a swing, to a robot that hangs at rest with one hand open."""
    return as_scope(nominal(robot, "swing-up", impulse))


def impulse_on_ladder(robot: str | HybridSystem, impulse: Impulse) -> Scope:
    """An impulse that is right for a swing, on a ladder: how many bars further it leads."""
    name, values = _named(robot)
    run = simulate(put(name, ladder(SPACING, BARS), **values), controller=impulse, until=SHORT, raise_errors=False)
    # hands begin on the first and the second bar, and may come back to them
    made = len({one.bar for one in swings(run) if one.bar is not None and one.bar > 1 and one.time <= FORWARD})
    return Scope(made >= BARS - 2, f"{made} of {BARS - 2} bars further")


def ladders(robot: str | HybridSystem, controller: Any, seed: int) -> Scope:
    """An even ladder, and uneven ones, with hands that close at once."""
    even = swing_trials(robot, "ladder", controller, SwingMixes.none(1), gripper=None, bars=BARS)
    mixes = SwingMixes.none(LADDERS, spacing=GAPS)
    uneven = swing_trials(robot, "ladder", controller, replace(mixes, seed=seed).held_out(), gripper=None, bars=BARS)
    words = f"{BARS} bars {SPACING:g} m apart {'climbed' if even.good else 'not climbed'}; "
    words += f"{uneven.good} of {LADDERS} with gaps of {GAPS[0]:.2f} to {GAPS[1]:.2f} m"
    words += "".join(f"; {n} cannot start: {why}" for one in (even, uneven) for why, n in one.refusals.items())
    return Scope(bool(even.good), words)


def along_rope(robot: str | HybridSystem, controller: Any) -> Scope:
    """Hand over hand along a rope."""
    name, values = _named(robot)
    run = simulate(put(name, rope(), **values), controller=controller, until=SHORT, raise_errors=False)
    made = [swing for swing in swings(run) if swing.time > DROOP]
    good = [swing for swing in made if swing.caught]
    # the last one may be under way when time is up
    done = len(good) > 1 and len(made) - len(good) <= 1
    words = f"{len(good)} of {len(made)} swings of {SPACING:g} m caught in {SHORT:g} s"
    return Scope(done, words + (", the last one cut off by the end" if done and len(good) < len(made) else ""))


def impulses_on_rope(robot: str | HybridSystem, impulses: Impulses, inverse: Any) -> tuple[Scope, dict[float, float]]:
    """From 0.55 m behind to targets on a rope: where the hand took hold of it, m, by target."""
    name, values = _named(robot)
    system = put(name, rope(), **values)
    angles = impulses.swinger.angles(np.array([-SPACING]))[:, 0]
    start = dict(zip(("theta1", "theta2"), angles.tolist(), strict=True))
    asked = replace(inverse, rope=True) if isinstance(inverse, GoodTrials) else inverse
    ends = {}
    for target in ROPE:
        run = simulate(
            system,
            start,
            controller=asked.impulse(-SPACING, target),
            mode={"A": "closed", "B": "closed"},
            until=FORWARD,
            raise_errors=False,
        )
        ends[target] = _held_at(run)
    near = system.values["capture"]
    held = sum(end > 0 for end in ends.values())
    good = sum(abs(end - target) <= near for target, end in ends.items())
    words = f"{held} of {len(ROPE)} swings took hold ahead, {good} within {100 * near:g} cm of their target"
    return Scope(good == len(ROPE), words), ends


def _held_at(run: Trajectory) -> float:
    """Where the free hand took hold, m ahead; not a number where it did not."""
    made = _first(run)
    if made is None or not made.caught:
        return math.nan
    states = run.at(np.array([made.start + made.time]))
    places = positions(run.system, ["A", "B"], states)
    return float(places[0, 1, 0] - places[0, 0, 0])
