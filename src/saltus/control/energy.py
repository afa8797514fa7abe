"""The energy controller of [yang2016, 7.4]: swing up to a bar by adding energy, pose for it, catch it, go on."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus.contact import Grip, JointUnit, World
from saltus.control import _energy_law as W
from saltus.control._energy_gains import LAWS, about_gains, gain_rows, tuned_gains
from saltus.control._energy_states import PLACES
from saltus.control._hands import must_hold, one_motor
from saltus.control._motor import Motor
from saltus.control._protocol import check_period, finite
from saltus.control._swing_model import L1, L2, models
from saltus.engine import Control
from saltus.engine._layout import SAMPLED
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating

if TYPE_CHECKING:
    from saltus.control._hardware import Hardware

# Options that are gains.
OWN = (
    "buffer", "reduction", "hysteresis", "fade", "bootstrap_torque", "bootstrap_time", "kp", "kd", "ki",
    "approach_weight",
)  # fmt: skip


@equal_by_content
@dataclass(frozen=True)
class Energy:
    """Brachiation by energy, for robots of two links with a grip at each end and a motor between, on bars or a rope.

    While both hands hold, the one behind is asked to open (``release``). The elbow then adds energy (``inject``), with
    the sign of its rate, which is exactly the sign of the power, or of its momentum, as the thesis has it; and turns
    (``blend``) to the pose in which the free hand is at the next bar (``pose``). When to do so is found by running the
    model of the robot ahead along several ways to pose, or by the total energy. Near the bar the free hand is asked to
    close (``catch``); on the last bar it rests. From hanging at rest it begins with a bootstrap torque. Bars are gone
    in their order, to whichever side; on a rope every ``stride``.

    A start in which no hand holds, or in which one is closed where there is no bar, is refused.

    The model has the robot's own masses, or those of ``model``; the bars are where they are in each run. The first
    place of its memory tells the state, as its number in `Energy.states`; the next ones the cost of the way to pose
    (J), the energy (J), the kinetic energy (J) and miss (m) that are expected at the bar, and how often it has looked
    ahead.

    Parameters
    ----------
    law
        Of inject: ``power`` or ``momentum``.
    tuned
        Which gains: ``mid`` for centres of mass in the middle of the links, ``heavy`` for such near the elbow. Each has
        its own for each law; `Energy.gains_of` tells them.
    lookahead
        Whether the model is run ahead; else the transition is that of [yang2016, 7.4.6], and the model is only asked
        when a hand that takes time to close has to be told to.
    buffer
        Energy above that of rest at the bar that inject aims for, J. This and what follows is as tuned if None.
    reduction
        Share of the energy from hanging to the bar that is taken off the aim.
    hysteresis
        Of the sign of the torque: momentum, N m s; for the power law a tenth of the rate, rad/s.
    fade
        Angle over which the torque fades towards the elbow's ends, rad.
    bootstrap_torque, bootstrap_time
        From rest, N m and s.
    kp, kd, ki
        Of pose: 1/s^2, 1/s, N m/(rad s).
    approach_weight
        Cost of a way above the bar, J: large values ask for catches from below.
    release_delay
        From when both hands hold until one is asked to open, s.
    close_time
        That a hand takes to close, s: it is asked so early that it is there then. Zero for one that closes at once.
    observer
        Whether the state is estimated, from an inertial unit on the first link and an encoder at the elbow; else it is
        taken as it is told.
    motor
        The motor whose curve the model is to have; none if None.
    stride
        On a rope, from hand to hand, m; negative to the left.
    model
        Values of parameters that the controller believes in, by name, where they are not the robot's own:
        ``robot.values`` makes it believe in that robot in all runs of a batch.
    gains
        Any gains, by name, beside those above: `Energy.all_gains` tells what there is.
    period
        How often it acts, s. The observer's gains are for 1 ms.
    """

    law: str = "power"
    tuned: str = "mid"
    lookahead: bool = True
    buffer: float | None = None
    reduction: float | None = None
    hysteresis: float | None = None
    fade: float | None = None
    bootstrap_torque: float | None = None
    bootstrap_time: float | None = None
    kp: float | None = None
    kd: float | None = None
    ki: float | None = None
    approach_weight: float | None = None
    release_delay: float = 0.0
    close_time: float = 0.0
    observer: bool = False
    motor: Motor | None = None
    stride: float | None = None
    model: Mapping[str, float] | None = None
    gains: Mapping[str, float] = field(default_factory=dict)
    period: float = 1e-3

    def __post_init__(self) -> None:
        self._gains()
        for name in ("release_delay", "close_time"):
            if finite(getattr(self, name), f"energy: {name}") < 0:
                raise InputError(f"energy: {name} must not be negative, got {getattr(self, name):g} s")
        if self.motor is not None and not isinstance(self.motor, Motor):
            raise InputError(f"energy: motor is a saltus.control.Motor or None, got {self.motor!r}")
        if self.stride is not None and finite(self.stride, "energy: stride") == 0:
            raise InputError("energy: a stride of zero leads nowhere")
        if self.model is not None and not isinstance(self.model, Mapping):
            raise InputError(f"energy: model is values of parameters by name, got {self.model!r}")
        check_period(self.period)

    def suited(self, hardware: Hardware, keep: Collection[str] = ()) -> Energy:
        """The same controller as it knows of the hardware that it is to stand behind, but for options to ``keep``.

        It looks through the sensors by its observer, asks for a close as early as the claws need, and its model has the
        motor.
        """
        known: dict[str, Any] = {}
        if hardware.encoder is not None or hardware.imu is not None:
            known["observer"] = True
        if hardware.gripper is not None:
            known["close_time"] = hardware.gripper.close_time
        if isinstance(hardware.motor, Motor):
            known["motor"] = hardware.motor
        return replace(self, **{name: value for name, value in known.items() if name not in keep})

    @staticmethod
    def states() -> tuple[str, ...]:
        """Names of the states, in the order of their numbers."""
        return ("rest", "release", "inject", "blend", "pose", "catch")

    @staticmethod
    def all_gains() -> dict[str, str]:
        """What each gain is, and its unit."""
        return about_gains()

    @staticmethod
    def gains_of(tuned: str = "mid", law: str = "power") -> dict[str, float]:
        """All gains of a tuned set."""
        return tuned_gains(tuned, law)

    def _gains(self) -> list[float]:
        if not isinstance(self.gains, Mapping):
            raise InputError(f"energy: gains are numbers by name, got {self.gains!r}")
        changes = dict(self.gains)
        for name in OWN:
            value = getattr(self, name)
            if value is None:
                continue
            if name in changes:
                raise InputError(f"energy: {name} is given twice, as an option and among gains")
            changes[name] = value
        return gain_rows(self.tuned, self.law, changes)

    def bind(self, system: HybridSystem) -> Control:
        parts = system.once("energy: parts", lambda: _Parts(system))
        values = self._believed(system)
        rows = models(system, (parts.angle, parts.elbow), parts.hands[1].point.position, values)
        reach = float(rows[0, L1] + rows[0, L2])
        m = system.mechanism
        places = {name: k for k, name in enumerate(m.parameters)}
        stop, capture, *links = (float(value) for value in np.array(parts.sizes(system.parameter_values)).ravel())
        bars = _checked_bars(system, links, stop)
        data = np.zeros(W.BAR_PLACES + 2 * len(bars))
        data[[W.FIRST, W.SECOND]] = parts.units
        data[[W.X, W.Y, W.ANGLE, W.ELBOW]] = [m.index(name) for name in parts.coordinates]
        data[[W.RATE, W.ELBOW_RATE]] = [m.nq + m.velocity_index(name) for name in (parts.angle, parts.elbow)]
        data[W.BARS], data[W.ROPE] = len(bars), places.get("rope_height", -1)
        data[W.STRIDE] = self._stride(system, bars, reach)
        data[[W.MOMENTUM, W.AHEAD, W.SENSORS]] = LAWS.index(self.law), bool(self.lookahead), bool(self.observer)
        data[W.DELAY] = self.release_delay
        stall, free = (0.0, 1.0) if self.motor is None else (self.motor.stall, self.motor.free_speed)
        limit = float(system.input_limits[0])
        if self.motor is not None:
            limit = min(limit, self.motor.limit)
        if limit == 0:
            raise InputError(f"energy: the motor of {system.name} gives no torque: its limit is 0 N m")
        if not limit < math.inf:
            raise InputError(f"energy: the motor of {system.name} needs a limit to its torque, it has none")
        data[W.FIXED : W.MODELS] = limit, stall, free, stop, capture, self.close_time, self.period
        data[W.MODELS : W.GAINS] = rows.ravel()
        data[W.GAINS : W.BAR_PLACES] = self._gains()
        data[W.BAR_PLACES :] = [places[f"bar{k}_{axis}"] for k in range(len(bars)) for axis in "xy"]
        return Control(
            kind=SAMPLED,
            address=W.entry().place,
            alive=W.entry(),
            data=data,
            memory=np.zeros(PLACES),
            period=check_period(self.period),
            name="energy",
            check_start=must_hold(system, "energy"),
        )

    def _believed(self, system: HybridSystem) -> Mapping[str, float]:
        """Values of parameters that the model has."""
        if self.model is None:
            return system.values
        for name, value in self.model.items():
            # those of a world may be of another one
            if name not in system.values and not name.startswith(("bar", "rope")):
                raise unknown_name("parameter", name, system.values, system.name)
            finite(value, f"energy: {name} of the model")
        return {**system.values, **{name: value for name, value in self.model.items() if name in system.values}}

    def _stride(self, system: HybridSystem, bars: tuple[tuple[float, float], ...], reach: float) -> float:
        """The stride on a rope; refused where there is no way ahead."""
        if not bars:
            if self.stride is None:
                raise InputError(f"energy: {system.name} is on a rope: give a stride, m, such as 0.55")
            if abs(self.stride) >= reach:
                raise InputError(f"energy: a stride of {self.stride:g} m is beyond the robot's reach of {reach:g} m")
            return float(self.stride)
        if self.stride is not None:
            raise InputError(f"energy: stride is for ropes; {system.name}'s world has {len(bars)} bars")
        if len(bars) < 2:
            raise InputError(f"energy: the world of {system.name} has one bar, and none ahead to swing to")
        return 0.0


class _Parts:
    """The parts of a robot of two links: hands, motor, angles; refused where it has others."""

    def __init__(self, system: HybridSystem):
        m = system.mechanism
        motor = m.actuators[one_motor(system, "energy")]
        grips = [(k, unit) for k, unit in enumerate(system.units) if isinstance(unit, Grip)]
        if len(grips) != 2:
            raise InputError(f"energy is for robots with two grips; {system.name} has {len(grips)}")
        self.units, self.hands = [k for k, _ in grips], [unit for _, unit in grips]
        joint = next(iter(m.bodies.values())).joint
        if motor.coordinate is None or len(m.bodies) != 2 or not isinstance(joint, Floating) or joint.sense != 1:
            raise InputError(f"energy is for robots of two links with a motor between them, not {system.name}")
        if not all(hand.holds for hand in self.hands):
            raise InputError(f"energy is for hands that hold bars or a rope; those of {system.name} hold anywhere")
        if World.of(system.values) is None:
            raise InputError(f"energy: {system.name} is in no world of bars, nor on a rope")
        self.angle, self.elbow = joint.angle, str(motor.coordinate)
        self.coordinates = (joint.x, joint.y, self.angle, self.elbow)
        first = self.hands[0].point.position - ca.vertcat(m.coordinate(joint.x).symbol, m.coordinate(joint.y).symbol)
        if not ca.simplify(first).is_zero():
            raise InputError(f"energy: the first hand of {system.name} must be where its first link begins")
        stops = [u for u in system.units if isinstance(u, JointUnit) and u.coordinate.name == self.elbow]
        low, high = (stops[0].lower, stops[0].upper) if stops else (None, None)
        ends = [ca.fabs(ca.SX(end)) for end in (low, high) if end is not None]
        stop = ca.fmin(*ends) if len(ends) == 2 else ends[0] if ends else ca.SX(math.inf)
        hold: Any = self.hands[0].holds[0]
        # how far down the other hand is with the links straight and folded tells how long both are
        places = ca.SX.zeros(m.nq, 2)
        places[m.index(self.elbow), 1] = math.pi
        straight, folded = (-ca.substitute(self.hands[1].point.position[1], m.q, places[:, k]) for k in range(2))
        lengths = ((straight + folded) / 2, (straight - folded) / 2)
        self.sizes = ca.Function("sizes", [m.p], [ca.vertcat(stop, ca.SX(hold.capture), *lengths)])


def _checked_bars(system: HybridSystem, links: list[float], stop: float) -> tuple[tuple[float, float], ...]:
    """Centres of the bars, in their order; refused where hands cannot go from each to the next.

    That is so of the robot itself, whatever the controller believes of it.
    """
    world = World.of(system.values) or World()
    one, two = links
    least = math.sqrt(one**2 + two**2 + 2 * one * two * math.cos(min(stop, math.pi)))
    return world.check(one + two, system.values.get("bar_radius", 0.0), least).bars


CONTROLLER = Energy
