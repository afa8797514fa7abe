"""The claw at a robot's hand: how long it takes to close and open, what it can catch, and how it droops."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import casadi as ca

from saltus._content import equal_by_content
from saltus._native import compiled
from saltus.contact import GRIP, Bar, Grip
from saltus.contact._grip import CLOSED, OPEN, REACHING, RELEASED
from saltus.contact._unit import AGAIN, CLOSE, RELEASE
from saltus.control._noise import uniform
from saltus.control._protocol import finite
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem
from saltus.mechanism import MassSolver

SIDES = ("below", "side", "above")

# Times are told apart from samples by this, s.
SAME = 1e-9

# In data: times to close and open, which sides are allowed (as bits), the largest energy of a catch, how long a droop
# takes; how many claws there are, and of each its unit. In what is seen: the kinetic energy (if there is a limit),
# then of each claw its distance from where it can hold, where it is from the centre of that, and what a catch would
# cost with each choice of the other claws closed.
CLOSING_TIME, OPENING_LEAST, OPENING_MOST, ALLOWED, MOST_ENERGY, DROOP_TIME, COSTS, CLAWS, FIRST_CLAW = range(9)

# What a claw does.
IDLE, CLOSING, REOPENING, OPENING, DROOPING = range(5)

# Of each claw, in memory: what it does, until when; whether it is within reach, from which side it came there, whether
# it has to leave; how often it was let go; how far it is from where it can hold, and was one and two samples ago; how
# often it tried, missed, and was refused by the side it came from and by the energy.
DOES, UNTIL, INSIDE, SIDE, BARRED, RELEASES, NOW, BEFORE, OLDER, TRIES, MISSES, WRONG_SIDES, TOO_HARD, CLAW = range(14)

# What is told of a claw after a run, and where it is.
COUNTS = {"tries": TRIES, "misses": MISSES, "wrong sides": WRONG_SIDES, "too hard": TOO_HARD}


@equal_by_content
@dataclass(frozen=True)
class Gripper:
    """Claws that take their time, at all grips of a robot.

    A wish to close starts a try. ``close_time`` later the claw closes where it is, if the hand is within reach of
    something to hold then and the limits below allow it; the hand moves freely until that. Otherwise the try has
    failed, and the claw takes the mean of ``open_time`` to open for the next. A wish to open is carried out after a
    time that is drawn between both of ``open_time``, for each release anew; until then the hand stays where it is. A
    wish that has begun to be carried out need not last; a wish to open turns a closing claw round. All of it happens
    at the first sample at or after its time.

    With a ``close_time`` of zero a claw waits, closed as soon as the hand is within reach at a sample and the limits
    allow it.

    The controller sees a claw that is about to close as ``reaching``, one that has yet to open for its next try as
    ``released``, and one that droops as ``closed``.

    Parameters
    ----------
    close_time
        From the wish until the claw is closed, s: [yang2016, 4.3.2].
    open_time
        Shortest and longest time from the wish until it has opened, s: [yang2016, 8.3].
    approach
        From where a hand may have come within reach of a bar: some of below, side and above, each a quarter of the
        circle; from anywhere if None. A hand that came from elsewhere has to leave first.
    impact_limit
        Largest kinetic energy that a catch may cost with the other closed grips kept, J. A hand that would cost more is
        not held, and has to leave first.
    slack
        When a hand opens while another holds, that one droops by this, m [yang2016, 8.3]: it is let go for the time in
        which a thing falls so far, and closes again where it is then (or before it would be out of reach).
    """

    close_time: float = 0.18
    open_time: tuple[float, float] = (0.2, 0.3)
    approach: tuple[str, ...] | None = None
    impact_limit: float | None = None
    slack: float = 0.0

    def __post_init__(self) -> None:
        for name in ("close_time", "slack"):
            if finite(getattr(self, name), f"gripper: {name}") < 0:
                raise InputError(f"gripper: {name} must not be negative, got {getattr(self, name):g}")
        try:
            least, most = (finite(time, "gripper: open_time") for time in self.open_time)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"gripper: open_time is a shortest and a longest time, got {self.open_time!r}") from None
        if not 0 <= least <= most:
            raise InputError(f"gripper: open_time is a shortest and a longest time, got {least:g} and {most:g} s")
        if self.approach is not None:
            if isinstance(self.approach, str) or not self.approach:
                raise InputError(f"gripper: approach is some of {', '.join(SIDES)}, or None, got {self.approach!r}")
            for side in self.approach:
                if side not in SIDES:
                    raise unknown_name("approach", side, SIDES, "gripper")
        if self.impact_limit is not None and not finite(self.impact_limit, "gripper: impact_limit") > 0:
            raise InputError(f"gripper: impact_limit must be positive, got {self.impact_limit:g} J")

    def data(self, system: HybridSystem) -> list[float]:
        """Its numbers for the claws of a robot."""
        grips = grips_of(system)
        if not grips:
            raise InputError(f"gripper: {system.name} has no grips")
        if self.approach is not None and not all(grip.holds for _, grip in grips):
            raise InputError(f"gripper: {system.name}'s hands hold anywhere, so there is no side to approach from")
        allowed = SIDES if self.approach is None else self.approach
        costs = 2 ** (len(grips) - 1) if self.impact_limit is not None else 0
        if costs > 8:
            raise InputError(f"gripper: an impact_limit is for up to 4 grips, {system.name} has {len(grips)}")
        return [
            self.close_time,
            *self.open_time,
            sum(1 << SIDES.index(side) for side in set(allowed)),
            math.inf if self.impact_limit is None else self.impact_limit,
            self._droop(system),
            costs,
            len(grips),
            *(place for place, _ in grips),
        ]

    def _droop(self, system: HybridSystem) -> float:
        """How long a fall of the slack takes, s."""
        if self.slack == 0:
            return 0.0
        weight = system.once("gravity", lambda: _gravity(system))
        g = float(weight(system.parameter_values))
        if not g > 0:
            raise InputError(f"gripper: a slack of {self.slack:g} m droops by gravity, which is {g:g} m/s^2")
        return math.sqrt(2 * self.slack / g)

    def seen(self, system: HybridSystem) -> Any:
        """What the claws' law has to see of the state."""
        return seen(system, costs=self.impact_limit is not None)


def _gravity(system: HybridSystem) -> Any:
    d = system.dynamics
    return ca.Function("gravity", [d.p], [ca.SX(system.mechanism.gravity)])


def grips_of(system: HybridSystem) -> list[tuple[int, Any]]:
    """The grips of a robot, each with its place among the units."""
    return [(place, unit) for place, unit in enumerate(system.units) if unit.kind == GRIP]


def seen(system: HybridSystem, *, costs: bool) -> Any:
    """Distances, places and, if they count, energies, in the order that is said above."""
    grips = [grip for _, grip in grips_of(system)]
    rows = [ca.SX(system.dynamics.kinetic)] if costs else []
    for k, grip in enumerate(grips):
        rows += [ca.SX(grip.reach), from_nearest(grip)]
        if costs:
            others = [other for j, other in enumerate(grips) if j != k]
            for choice in itertools.product((False, True), repeat=len(others)):
                # the first of the others is the lowest bit
                kept = [other for other, closed in zip(others, reversed(choice), strict=True) if closed]
                rows.append(cost_of_catch(system, [grip, *kept]))
    return ca.vertcat(*rows)


def from_nearest(grip: Grip) -> Any:
    """Where a hand is from the centre of the nearest bar, or the nearest place of what else it can hold, m."""
    position, best, away = grip.point.position, None, ca.SX.zeros(2)
    sizes = [ca.SX(hold.fixed[-1]) for hold in grip.holds]
    alike = all(
        isinstance(hold, Bar) and ca.is_equal(size, sizes[0], 2) for hold, size in zip(grip.holds, sizes, strict=True)
    )
    for hold in grip.holds:
        # of bars of one size, the nearest by its square: no roots
        distance = hold.square(position) if alike else hold.reach(position)  # type: ignore[attr-defined]
        away = hold.away(position) if best is None else ca.if_else(distance < best, hold.away(position), away)
        best = distance if best is None else ca.fmin(best, distance)
    return away


def cost_of_catch(system: HybridSystem, grips: list[Grip]) -> Any:
    """Kinetic energy that is lost as grips close and come to rest, or stay closed: all of them plastic, J."""
    d = system.dynamics
    J = ca.vertcat(*(d.row(position)[0] for grip in grips for _, position in grip.rows))
    speeds = J @ d.v
    return ca.dot(speeds, MassSolver(J @ d.solver.solve(J.T)).solve(speeds)) / 2


@compiled
def side_of(x, y):
    """From which side of a bar a place is, as its number in SIDES."""
    if abs(x) > abs(y):
        return 1
    return 0 if y <= 0.0 else 2


@compiled
def follow_claws(data, claws, memory, places, look):
    """Note which hands are within reach, and from where they came."""
    limited = int(data[claws + COSTS])
    for k in range(int(data[claws + CLAWS])):
        m, s = places + CLAW * k, look + (1 if limited > 0 else 0) + (3 + limited) * k
        memory[m + OLDER], memory[m + BEFORE], memory[m + NOW] = memory[m + BEFORE], memory[m + NOW], memory[s]
        if memory[s] > 0.0:
            memory[m + INSIDE] = memory[m + BARRED] = 0.0
        elif memory[m + INSIDE] == 0.0:
            memory[m + INSIDE], memory[m + SIDE] = 1.0, side_of(memory[s + 1], memory[s + 2])


@compiled
def show_claws(data, claws, memory, places, status):
    """Let statuses be as the controller sees them."""
    for k in range(int(data[claws + CLAWS])):
        does, unit = int(memory[places + CLAW * k + DOES]), int(data[claws + FIRST_CLAW + k])
        if does == CLOSING:
            status[unit] = REACHING
        elif does == REOPENING:
            status[unit] = RELEASED
        elif does == DROOPING:
            status[unit] = CLOSED


@compiled
def _cost(k, data, claws, memory, look, status, request):
    """What a catch by a claw would cost, J."""
    limited, count, bits, bit = int(data[claws + COSTS]), int(data[claws + CLAWS]), 0, 1
    for j in range(count):
        if j != k:
            unit = int(data[claws + FIRST_CLAW + j])
            if status[unit] == CLOSED and request[unit] != RELEASE:
                bits += bit
            bit *= 2
    cost, all_of_it = memory[look + 1 + (3 + limited) * k + 3 + bits], memory[look]
    # where closed hands say the same twice, it is not known to be less
    return cost if cost <= all_of_it else all_of_it


@compiled
def _try_to_hold(t, k, data, claws, memory, m, look, status, request):
    """Close a claw that has come to that, or begin to open it for the next try."""
    unit = int(data[claws + FIRST_CLAW + k])
    held = False
    if memory[m + INSIDE] == 0.0:
        if data[claws + CLOSING_TIME] > 0.0:
            memory[m + MISSES] += 1.0
    elif memory[m + BARRED] == 0.0:
        if (int(data[claws + ALLOWED]) >> int(memory[m + SIDE])) & 1 == 0:
            memory[m + WRONG_SIDES] += 1.0
            memory[m + BARRED] = 1.0
        elif data[claws + COSTS] > 0.0 and (
            _cost(k, data, claws, memory, look, status, request) > data[claws + MOST_ENERGY]
        ):
            memory[m + TOO_HARD] += 1.0
            memory[m + BARRED] = 1.0
        else:
            held = True
    if held:
        request[unit] = AGAIN
        memory[m + DOES] = IDLE
    elif data[claws + CLOSING_TIME] > 0.0:
        memory[m + DOES] = REOPENING
        memory[m + UNTIL] = t + 0.5 * (data[claws + OPENING_LEAST] + data[claws + OPENING_MOST])


@compiled
def work_claws(t, data, claws, memory, places, look, wishes, status, request, seed):
    """Carry out what is asked of grips, in the time that it takes."""
    count, opened = int(data[claws + CLAWS]), False
    for k in range(count):
        m, unit = places + CLAW * k, int(data[claws + FIRST_CLAW + k])
        wish, does, due = int(memory[wishes + unit]), int(memory[m + DOES]), t >= memory[m + UNTIL] - SAME
        request[unit] = 0
        if does == DROOPING:
            # it is falling faster and faster: where it will be, by the parabola through three samples
            if due or 3.0 * (memory[m + NOW] - memory[m + BEFORE]) + memory[m + OLDER] > 0.0:
                request[unit] = AGAIN
                memory[m + DOES] = IDLE
            continue
        if does == CLOSING and wish == RELEASE:
            waits = data[claws + CLOSING_TIME] == 0.0
            memory[m + DOES] = IDLE if waits else REOPENING
            memory[m + UNTIL] = t + 0.5 * (data[claws + OPENING_LEAST] + data[claws + OPENING_MOST])
        elif does == CLOSING and due:
            _try_to_hold(t, k, data, claws, memory, m, look, status, request)
        elif does == REOPENING and due:
            memory[m + DOES] = does = IDLE
        if does == IDLE:
            ready = status[unit] == OPEN or (wish == AGAIN and status[unit] == RELEASED)
            if wish in (CLOSE, AGAIN) and ready and memory[m + BARRED] == 0.0:
                memory[m + DOES], memory[m + UNTIL] = CLOSING, t + data[claws + CLOSING_TIME]
                memory[m + TRIES] += 1.0
                if data[claws + CLOSING_TIME] == 0.0:
                    _try_to_hold(t, k, data, claws, memory, m, look, status, request)
            elif wish == RELEASE and status[unit] == CLOSED:
                share = uniform(seed, -1 - (k + count * int(memory[m + RELEASES])))
                longest, least = data[claws + OPENING_MOST], data[claws + OPENING_LEAST]
                memory[m + DOES], memory[m + UNTIL] = OPENING, t + least + (longest - least) * share
                memory[m + RELEASES] += 1.0
            elif status[unit] == REACHING:
                # a run that begins so begins with a try
                request[unit] = RELEASE
                if wish != RELEASE:
                    memory[m + DOES], memory[m + UNTIL] = CLOSING, t + data[claws + CLOSING_TIME]
                    memory[m + TRIES] += 1.0
        if memory[m + DOES] == OPENING and t >= memory[m + UNTIL] - SAME:
            request[unit] = RELEASE
            memory[m + DOES] = IDLE
            opened = True
    if opened and data[claws + DROOP_TIME] > 0.0:
        for k in range(count):
            m, unit = places + CLAW * k, int(data[claws + FIRST_CLAW + k])
            if memory[m + DOES] == IDLE and request[unit] == 0 and status[unit] == CLOSED:
                request[unit] = RELEASE
                memory[m + DOES], memory[m + UNTIL] = DROOPING, t + data[claws + DROOP_TIME]
