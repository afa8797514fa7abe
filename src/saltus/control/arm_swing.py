"""The swing-up of [yang2016, 2.2.1]: swing at the natural frequency, then put the free hand where the bar is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus.contact import GRIP
from saltus.contact._grip import CLOSED
from saltus.contact._unit import CLOSE, JOINT, RELEASE
from saltus.control._function import bind_compiled
from saltus.control._hands import must_hold
from saltus.control._linearize import linearize
from saltus.control._protocol import check_period, finite, per_actuator
from saltus.engine import Control, ControlParameter
from saltus.engine._control import seeing
from saltus.errors import InputError
from saltus.hybrid import HybridSystem, wrapped
from saltus.mechanism._dh import ELBOWS, hanging, two_link_angles

# What such a robot has: grips, points, joints with a motor each, lengths of the links of an arm.
HANDS, POINTS = ("A", "B"), ("A", "shoulder", "B")
JOINTS = ("elbow_a", "shoulder_a", "shoulder_b", "elbow_b")
LENGTHS = ("L_upper", "L_fore")
GAINS = ("kp", "ki", "kd")

# Where each joint is while the robot hangs by hand A, the other arm along the body.
REST = (0.0, 0.0, -math.pi, 0.0)

# Until the swing is this large, rad, the drive follows the clock; then it follows the swing.
FOLLOWED = 0.05

# The drive fades as the energy comes within this share of what is wanted, and turns to take energy out beyond.
FADE = 0.05

# After a miss the energy wanted is this share more, if the shoulder stayed too far from the bar, or less; its bounds.
STEP, LEAST, MOST = 0.05, 0.3, 1.6

# The hand is sent to a place before the bar's centre, by this share of the capture radius: one that shoots over
# it a little is caught, and does not lay its forearm on the bar.
SHORT = 0.9

# Phases.
SWING, REACH, HOLD = range(3)

# Memory: what is seen (angle and mean rate of the swing, energy as a share of that of the pose, how far the bar is
# beyond the free arm's reach, where each joint is to be for the bar), then what is remembered, and a sum of errors for
# each joint.
ANGLE, RATE, SHARE, BEYOND, POSE = 0, 1, 2, 3, 4
PHASE, LAST, WANTED, NEAREST, BEGUN, SUMS = range(8, 14)
PLACES = SUMS + len(JOINTS)

# Numbers: the free hand's unit, frequency, energy wanted, angle at which the arm snaps, period; then for each joint its
# places in the state, gains, amplitude, where it hangs, and its motor's limit.
HAND, OMEGA, ENERGY, SNAP, PERIOD, EACH = range(6)
COORDINATE, VELOCITY, KP, KI, KD, AMPLITUDE, HANGS, LIMIT, WIDTH = range(9)


def law(t, x, status, memory, p, data, piece, u, request):
    phase, hand = int(memory[PHASE]), int(data[HAND])
    if memory[BEGUN] == 0.0:
        memory[BEGUN], memory[WANTED], memory[LAST] = 1.0, data[ENERGY], memory[ANGLE]
    angle, rate, share, beyond = memory[ANGLE], memory[RATE] / data[OMEGA], memory[SHARE], memory[BEYOND]
    ready = share >= memory[WANTED] - FADE
    if phase == SWING and ready and rate > 0.0 and memory[LAST] < data[SNAP] <= angle:
        phase, memory[NEAREST] = REACH, beyond
        for k in range(len(JOINTS)):
            memory[SUMS + k] = 0.0
    if phase == REACH:
        memory[NEAREST] = min(memory[NEAREST], beyond)
        if rate < 0.0 and beyond > 0.0:
            phase = SWING
            wanted = memory[WANTED] + (STEP if memory[NEAREST] > 0.0 else -STEP)
            memory[WANTED] = min(max(wanted, LEAST), MOST)
    if status[hand] == CLOSED:
        phase = HOLD
    memory[PHASE], memory[LAST] = phase, angle
    size = math.sqrt(angle * angle + rate * rate)
    drive = math.sin(data[OMEGA] * t) if size < FOLLOWED else rate / size
    drive *= min(max((memory[WANTED] - share) / FADE, -1.0), 1.0)
    for k in range(len(JOINTS)):
        d = EACH + WIDTH * k
        q, v = x[int(data[d + COORDINATE])], x[int(data[d + VELOCITY])]
        goal = data[d + HANGS] + data[d + AMPLITUDE] * drive
        if phase == REACH:
            goal = memory[POSE + k]
        elif phase == HOLD:
            goal = q
        u[k] = data[d + KP] * (goal - q) - data[d + KD] * v
        if phase == REACH:
            u[k] += memory[SUMS + k]
            # not while the motor is at its limit
            if abs(u[k]) < data[d + LIMIT]:
                memory[SUMS + k] += data[PERIOD] * data[d + KI] * (goal - q)
    request[hand] = RELEASE if phase == SWING else CLOSE
    return 0


@equal_by_content
@dataclass(frozen=True)
class ArmSwing:
    """Swing up by hand A to a bar ahead and catch it with hand B.

    For robots of two arms of two links each and a body that hang by their hand A. Until the swing has the energy that
    is wanted, each joint follows a sinusoid by PD control: by the clock at first, at the lowest natural frequency of
    the robot as it hangs with these gains, and once the swing is seen, in phase with its rate, so that larger swings,
    which are slower, are followed too. Then, on the way to the bar, the joints snap to the arm configuration that
    inverse kinematics gives: the holding arm straight, the free arm from where the shoulder is to the bar, or
    stretched towards it while that is too far; and the free hand is asked to close. After a miss the robot swings on,
    with a little more energy if the shoulder did not come near enough to the bar, else with a little less. When it has
    caught the bar, the joints are damped.

    Parameters
    ----------
    bar
        Which bar of the world is to be caught.
    amplitude
        Of each joint in the swing, rad: one for all, by actuator, or in order.
    kp, kd
        Gains of each joint, N m/rad and N m s/rad.
    ki
        The same of the sum of errors, N m/(rad s), which counts while the arm reaches: it takes up the arm's weight.
    energy
        Of the swing when the arm snaps, above that of hanging at rest, as a share of what it takes to be in the pose
        with both arms straight, body hanging, at rest. The motors add to it while they lift the arm.
    snap
        Angle at which the arm snaps: of the centre of mass about hand A from straight down, towards the bar, rad.
    body
        Angle in the world at which the body is kept while the arm reaches, rad.
    elbow
        ``down`` or ``up``: on which side the elbow of the free arm is.
    period
        How often the state is looked at, s.
    """

    bar: int = 1
    amplitude: float | Mapping[str, float] | Sequence[float] = field(
        default_factory=lambda: {"shoulder_a": 0.8, "shoulder_b": 0.8}
    )
    kp: float | Mapping[str, float] | Sequence[float] = (100.0, 60.0, 80.0, 40.0)
    kd: float | Mapping[str, float] | Sequence[float] = (10.0, 6.0, 8.0, 3.0)
    ki: float | Mapping[str, float] | Sequence[float] = (0.0, 50.0, 50.0, 30.0)
    energy: float = 0.9
    snap: float = 0.3
    body: float = 0.0
    elbow: str = "down"
    period: float = 1e-3

    def bind(self, system: HybridSystem) -> Control:
        _check_robot(system)
        gains = {name: per_actuator(system, getattr(self, name), f"arm_swing: {name}") for name in GAINS}
        for name, values in gains.items():
            for joint, value in zip(JOINTS, values, strict=True):
                if value < 0 or (value == 0 and name != "ki"):
                    wanted = "must not be negative" if name == "ki" else "must be positive"
                    raise InputError(f"arm_swing: {name} of {joint} {wanted}, got {value:g}")
        amplitudes = per_actuator(system, self.amplitude, "arm_swing: amplitude")
        for joint, value in zip(JOINTS, amplitudes, strict=True):
            if value < 0:
                raise InputError(
                    f"arm_swing: amplitude of {joint} must not be negative, it would take energy out of the swing, "
                    f"got {value:g} rad"
                )
        if not any(amplitudes):
            raise InputError("arm_swing: some joint must have an amplitude, or the robot never swings")
        energy, body = finite(self.energy, "arm_swing: energy"), finite(self.body, "arm_swing: body")
        if not LEAST <= energy <= MOST:
            raise InputError(f"arm_swing: energy is a share from {LEAST:g} to {MOST:g}, got {energy:g}")
        snap = finite(self.snap, "arm_swing: snap")
        if not abs(snap) < math.pi / 2:
            raise InputError(f"arm_swing: snap is an angle within a right angle of straight down, got {snap:g} rad")
        if self.elbow not in ELBOWS:
            raise InputError(f"arm_swing: an elbow is {' or '.join(ELBOWS)}, got {self.elbow!r}")
        _check_bar(system, self.bar)
        check = partial(_check_start, system, self.bar, must_hold(system, "arm_swing", ("A",)))
        units, m = [unit.name for unit in system.units], system.mechanism
        omega = natural_frequency(system, gains["kp"], gains["kd"])
        period = check_period(self.period)
        data = [float(units.index("B")), omega, energy, snap, period]
        named = [ControlParameter(name, (place,)) for name, place in (("energy", ENERGY), ("snap", SNAP))]
        for k, joint in enumerate(JOINTS):
            named += [
                ControlParameter(f"{name}.{joint}", (len(data) + place,))
                for name, place in (*zip(GAINS, (KP, KI, KD), strict=True), ("amplitude", AMPLITUDE))
            ]
            data += [m.index(joint), m.nq + m.velocity_index(joint), *(of[k] for of in gains.values())]
            data += [amplitudes[k], REST[k], system.input_limits[k]]
        seen = system.once(
            f"arm_swing to {self.bar} {body} {self.elbow}", lambda: _seen(system, self.bar, body, self.elbow)
        )
        bound = bind_compiled(
            seeing(law, system, "arm_swing", seen),
            data,
            period,
            memory=PLACES,
            name="arm_swing",
            parameters=named,
        )
        return replace(bound, check_start=check)


def natural_frequency(
    system: HybridSystem, kp: Sequence[float] | None = None, kd: Sequence[float] | None = None
) -> float:
    """The lowest frequency at which a robot of two arms swings about hanging by hand A, without dry friction, rad/s.

    Parameters
    ----------
    kp, kd
        Gains of its joints, which keep them where they are; without, they are loose.
    """
    _check_robot(system)
    mode = {unit.name: "free" if unit.kind == JOINT else "open" for unit in system.units} | {"A": "closed"}
    rest = {"theta1": 0.0, **dict(zip(JOINTS, REST, strict=True))}
    near = linearize(system, rest, mode=mode, keep=list(rest))
    gain = np.zeros((len(JOINTS), len(near.states)))
    for k, joint in enumerate(JOINTS):
        for name, values in ((joint, kp), (f"d{joint}", kd)):
            if values is not None:
                gain[k, near.states.index(name)] = values[k]
    swings = np.linalg.eigvals(near.A - near.B @ gain).imag
    if not (swings > 1e-6).any():
        raise InputError(f"arm_swing: {system.name} does not swing with so much friction or such gains")
    return float(swings[swings > 1e-6].min())


def _check_robot(system: HybridSystem) -> None:
    m = system.mechanism
    grips = [unit.name for unit in system.units if unit.kind == GRIP]
    drives = [actuator.coordinate for actuator in m.actuators.values()]
    has = all(name in m.points for name in POINTS) and all(name in m.parameters for name in LENGTHS)
    if not has or sorted(grips) != sorted(HANDS) or drives != list(JOINTS):
        raise InputError(
            f"arm_swing is for robots of two arms and a body, with grips {' and '.join(HANDS)} and motors at "
            f"{', '.join(JOINTS)}, such as five_link_brachiator, not {system.name}"
        )


def _check_bar(system: HybridSystem, bar: Any) -> None:
    values = system.values
    count = sum(f"bar{k}_x" in values for k in range(len(values)))
    if count == 0:
        raise InputError(f"arm_swing needs a world with bars; {system.name} is in one without")
    if not isinstance(bar, int) or not 0 <= bar < count:
        raise InputError(f"arm_swing: {system.name}'s world has bars 0 to {count - 1}, got {bar!r}")


def _check_start(
    system: HybridSystem, bar: int, hold: Callable[..., None], state: np.ndarray, statuses: Sequence[int], p: np.ndarray
) -> None:
    """Refuse a start in which hand A does not hold, or from which the bar is out of reach."""
    hold(state, statuses, p)
    values = dict(zip(system.mechanism.parameters, p.tolist(), strict=True))
    x, y = (state[system.mechanism.index(name)] for name in ("x", "y"))
    ahead, up = values[f"bar{bar}_x"] - x, values[f"bar{bar}_y"] - y
    away, reach = math.hypot(ahead, up), 2 * sum(values[name] for name in LENGTHS)
    if away > reach:
        raise InputError(
            f"arm_swing: bar {bar} is out of reach: {away:.6g} m from hand A, and the arms reach {reach:.6g} m"
        )
    if ahead <= values["capture"]:
        raise InputError(f"arm_swing: bar {bar} must be ahead of hand A, in the direction of x; it is at {ahead:.6g} m")


def pose_angles(
    system: HybridSystem, bar: int, shoulder: Any, body: Any, elbow: str = "down", short: Any = 0.0
) -> tuple[Any, Any]:
    """Angles of shoulder_b and elbow_b that put hand B on a bar, or stretch the arm towards it, rad; expressions.

    Parameters
    ----------
    shoulder
        Where the shoulder is, m.
    body
        The body's angle, rad.
    elbow
        ``down`` or ``up``.
    short
        How far before the bar's centre the hand stays, m.
    """
    number = _numbers(system)
    upper, fore = (number[name] for name in LENGTHS)
    way = ca.vertcat(number[f"bar{bar}_x"], number[f"bar{bar}_y"]) - shoulder
    far = ca.norm_2(way)
    # never quite straight, nor nearer than the hand can come: there the angles have no slope
    near = ca.fmin(ca.fmax(far - short, (1 + 1e-6) * ca.fabs(upper - fore) + 1e-6), (1 - 1e-6) * (upper + fore))
    first, second = two_link_angles(way[0] * near / far, way[1] * near / far, upper, fore, elbow)
    # a link of arm B points along the y-axis of its frame; the arm is raised in front of the body
    return wrapped(first - body) - math.pi / 2, second


def _numbers(system: HybridSystem) -> dict[str, Any]:
    m = system.mechanism
    return {name: m.p[k] for k, name in enumerate(m.parameters)}


def _seen(system: HybridSystem, bar: int, body: float, elbow: str) -> Any:
    m, d, number = system.mechanism, system.dynamics, _numbers(system)
    hand, shoulder = m.points["A"].position, m.points["shoulder"].position
    bodies = list(m.bodies.values())
    centre = sum(one.mass * one.pose.point(one.com) for one in bodies) / sum(one.mass for one in bodies) - hand
    turn = m.velocity_index("theta1")
    # angular momentum about the hand that holds: no motor changes it at once
    rate = ca.dot(d.M[turn, :].T, d.v) / d.M[turn, turn]
    reach = sum(number[name] for name in LENGTHS)
    target = ca.vertcat(number[f"bar{bar}_x"], number[f"bar{bar}_y"])
    arm = m.coordinate("theta1").symbol + m.coordinate("elbow_a").symbol
    raised, bent = pose_angles(
        system, bar, shoulder, arm + m.coordinate("shoulder_a").symbol, elbow, SHORT * number["capture"]
    )
    # the pose: both arms straight, the shoulder below the bars
    way = target - hand
    there = hanging(two_link_angles(way[0], way[1], reach, reach)[0])
    straight, _ = pose_angles(system, bar, hand + reach * ca.vertcat(ca.sin(there), -ca.cos(there)), body, elbow)
    pose = _potential(system, {"theta1": there, "shoulder_a": body - there, "shoulder_b": straight})
    rest = _potential(system, {"theta1": 0.0, **dict(zip(JOINTS, REST, strict=True))})
    share = (d.kinetic + d.potential - rest) / (pose - rest)
    beyond = ca.norm_2(target - shoulder) - reach - number["capture"]
    return ca.vertcat(ca.atan2(centre[0], -centre[1]), rate, share, beyond, 0.0, body - arm, raised, bent)


def _potential(system: HybridSystem, angles: Mapping[str, Any]) -> Any:
    """Potential energy of the robot with its angles as told, zero for the rest, the hand where it is."""
    m, d = system.mechanism, system.dynamics
    q = [m.coordinate(name).symbol for name in ("x", "y")]
    q += [ca.SX(angles.get(name, 0.0)) for name in ("theta1", *JOINTS)]
    return ca.substitute(ca.SX(d.potential), d.q, ca.vertcat(*q))


CONTROLLER = ArmSwing
