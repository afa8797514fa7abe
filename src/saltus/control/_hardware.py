"""What stands between a controller and a robot: motors, play, encoders, an inertial unit, current sensors and claws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus._native import double_bits
from saltus.control import _hardware_law as H
from saltus.control._current import Current
from saltus.control._encoder import Encoder
from saltus.control._gripper import CLAW, COUNTS, SIDE, SIDES, Gripper, grips_of
from saltus.control._imu import Imu, angle_in_world
from saltus.control._motor import FREE_SPEED, JOINT_MEMORY, Motor
from saltus.control._protocol import check_period, finite
from saltus.engine import Control, Trajectory
from saltus.engine._control import compiled_control, seeing
from saltus.engine._layout import MEM, PASSIVE, SAMPLED
from saltus.engine._simulate import bind
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem
from saltus.mechanism import Actuator

# Play is less than this, rad: beyond it there are no gears.
MOST_PLAY = math.pi


@equal_by_content
@dataclass(frozen=True)
class Hardware:
    """A controller behind real parts: it sees what sensors tell, and motors and claws do what they can of its wishes.

    It is sampled, as the controller behind it is, and so are the parts: what they do is held for a period. Parts that
    are None are ideal. A motor, an encoder and backlash are at every actuator that drives an angle.

    Parameters
    ----------
    controller
        A sampled controller, compiled or not; a function ``(t, state, mode, memory) -> command``; or None for none.
    motor
        What the motors can do: one for all, or by actuator.
    encoder
        Reads the angles that are driven, on the motor's side of any backlash.
    imu
        Reads the angle of the first link in the world.
    current
        Reads the torque of each motor. A compiled controller finds it in ``u`` when it is asked: the torque given
        since the last sample, as the sensor tells it. `Current.measured` makes the same of torques of a run.
    gripper
        The claws, at all grips.
    backlash
        Play between each motor and its joint, rad. The motor is ahead of the joint by up to half of it either way,
        in the middle at the start of a run. A torque passes only at the end that it pushes against; else the motor
        crosses the play at its free speed (that of a default motor if none is given) and none passes. The motor's own
        inertia is neglected, and so is that the joint moves meanwhile.
    seed
        Of noise and of times that are drawn. Runs of one seed are the same, whatever runs beside them.
    period
        Of the samples, s, where there is no controller behind it, or a bare function; any other has its own.
    """

    controller: Any
    motor: Motor | Mapping[str, Motor] | None = None
    encoder: Encoder | None = None
    imu: Imu | None = None
    current: Current | None = None
    gripper: Gripper | None = None
    backlash: float = 0.0
    seed: int = 0
    period: float = 1e-3

    def __post_init__(self) -> None:
        for name, kind in (("encoder", Encoder), ("imu", Imu), ("current", Current), ("gripper", Gripper)):
            part = getattr(self, name)
            if part is not None and not isinstance(part, kind):
                raise InputError(f"hardware: {name} is a saltus.control.{kind.__name__} or None, got {part!r}")
        motors = self.motor.values() if isinstance(self.motor, Mapping) else [self.motor]
        if not all(motor is None or isinstance(motor, Motor) for motor in motors):
            raise InputError(f"hardware: motor is a saltus.control.Motor, or them by actuator, got {self.motor!r}")
        if not 0 <= finite(self.backlash, "hardware: backlash") < MOST_PLAY:
            raise InputError(f"hardware: backlash is an angle from 0 to less than pi, got {self.backlash:g} rad")
        if not isinstance(self.seed, int) or isinstance(self.seed, bool) or not 0 <= self.seed < 2**53:
            raise InputError(f"hardware: seed is a whole number from 0 to less than 2^53, got {self.seed!r}")
        check_period(self.period)

    def bind(self, system: HybridSystem) -> Control:
        inner = self._behind(system)
        return _Numbers(self, system, inner).control()

    def claws(self, run: Trajectory) -> dict[str, dict[str, Any]]:
        """What the claws of a run went through, by grip.

        How often they tried to close, missed, and were refused for the side they came from or for the energy; and the
        ``side`` from which the hand last came within reach of something, None if it never did.
        """
        if run.control.parts[0] is not H.entry() or not run.control.data[H.GRIPPERS] > 0:
            raise InputError("hardware: claws are told of runs that were made with a gripper in front")
        first = int(run.integers[MEM] + run.control.data[H.CLAW_PLACES])
        told = {}
        for k, (_, grip) in enumerate(grips_of(run.system)):
            memory = run.doubles[first + CLAW * k : first + CLAW * (k + 1)]
            told[grip.name] = {
                **{name: int(memory[place]) for name, place in COUNTS.items()},
                "side": SIDES[int(memory[SIDE])] if memory[SIDE] >= 0 else None,
            }
        return told

    def _behind(self, system: HybridSystem) -> Control:
        """The controller behind the parts, bound; it must be sampled."""
        given = self.controller
        if given is not None and not hasattr(given, "bind") and callable(given) and not isinstance(given, type):
            from saltus.control._function import Sampled

            given = Sampled(given, self.period)
        inner = bind(given, system)
        if inner.kind == PASSIVE:
            return replace(inner, kind=SAMPLED, period=check_period(self.period))
        if inner.kind != SAMPLED:
            raise InputError(
                f"hardware: sensors and motors are sampled, and so must be the controller behind them; {inner.name} "
                f"is continuous: give it a period, such as {self.period:g} s, if it can have one"
            )
        return inner


class _Numbers:
    """The data and the memory of the law, as they are laid out for one robot and one controller behind it."""

    def __init__(self, hardware: Hardware, system: HybridSystem, inner: Control):
        self.hardware, self.system, self.inner = hardware, system, inner
        self.data = [0.0] * H.HEAD
        self.memory = H.FIRST
        self.begins: dict[int, float] = {}
        self.alive: tuple[Any, ...] = (H.entry(), *(() if inner.alive is None else inner.parts))

    def control(self) -> Control:
        mechanism, units, inner = self.system.mechanism, len(self.system.units), self.inner
        states, inputs = mechanism.nq + mechanism.nv, len(mechanism.actuators)
        self.data[H.STATES], self.data[H.INPUTS], self.data[H.UNITS] = states, inputs, units
        for place, size in ((H.MEASURED, states), (H.WISHES, units), (H.STATUSES, units), (H.GIVEN, inputs)):
            self._remember(place, size)
        self._put_joints()
        self._put_sensors()
        self._put_claws()
        self.data[H.SEED], self.data[H.INNER] = self.hardware.seed, double_bits(inner.address)
        self.data[H.INNER_DATA], self.data[H.INNER_MEMORY] = len(self.data), self.memory
        first = len(self.data)
        return replace(
            inner,
            address=H.entry().place,
            data=np.concatenate([self.data, inner.data]),
            memory=np.concatenate([self._first_memory(), inner.memory]),
            parameters=tuple(replace(one, places=tuple(first + k for k in one.places)) for one in inner.parameters),
            arrays={first + place: array for place, array in inner.arrays.items()},
            alive=self.alive,
            name=f"hardware of {inner.name}",
            rough=inner.rough or self._rough(),
        )

    def _rough(self) -> str:
        """Why there is nothing to differentiate: noise of one seed is the same in all runs, but counts are steps."""
        if not self.inner.address:
            return ""
        if self.hardware.encoder is not None:
            return "an encoder counts in steps, and what the controller does follows them"
        if self.hardware.current is not None:
            return "a current sensor reads in steps, and what the controller does may follow them"
        return ""

    def _first_memory(self) -> np.ndarray:
        memory = np.zeros(self.memory)
        for place, value in self.begins.items():
            memory[place] = value
        return memory

    def _put(self, place: int, numbers: list[float]) -> None:
        """A block of data, and in the head where it is."""
        self.data[place] = len(self.data)
        self.data += map(float, numbers)

    def _remember(self, place: int, size: int) -> None:
        """Room in memory, and in the head where it is."""
        self.data[place] = self.memory
        self.memory += size

    def _put_joints(self) -> None:
        """Motors and play of all angles that are driven."""
        mechanism, hardware = self.system.mechanism, self.hardware
        names, motors, numbers = list(mechanism.actuators), self._motors(), []
        driven = driven_angles(self.system)
        for actuator in driven:
            motor = motors.get(actuator.name)
            coordinate = str(actuator.coordinate)
            rate = mechanism.nq + mechanism.velocity_index(coordinate)
            curve = (math.inf,) * 3 if motor is None else (motor.stall, motor.free_speed, motor.limit)
            crossing = FREE_SPEED if motor is None else motor.free_speed
            numbers += [names.index(actuator.name), mechanism.index(coordinate), rate, *curve]
            numbers += [hardware.backlash / 2, crossing]
        if not driven and (hardware.encoder is not None or hardware.backlash > 0):
            raise InputError(f"hardware: no actuator of {self.system.name} drives an angle: no encoder, no backlash")
        self._put(H.JOINTS, numbers)
        self.data[H.JOINT_COUNT] = len(driven)
        self._remember(H.PLAYS, JOINT_MEMORY * len(driven))

    def _motors(self) -> dict[str, Motor]:
        """The motor of each actuator that has one."""
        given, driven = self.hardware.motor, [actuator.name for actuator in driven_angles(self.system)]
        if given is None:
            return {}
        if isinstance(given, Motor):
            if not driven:
                raise InputError(f"hardware: no actuator of {self.system.name} drives an angle, so it has no motor")
            return dict.fromkeys(driven, given)
        for name in given:
            if name not in driven:
                raise unknown_name("actuator that drives an angle", name, driven, self.system.name)
        return dict(given)

    def _put_sensors(self) -> None:
        hardware, system, mechanism = self.hardware, self.system, self.system.mechanism
        driven = driven_angles(system)
        if hardware.encoder is not None:
            self._put(H.ENCODERS, [1 / hardware.encoder.step, hardware.encoder.window])
            self._remember(H.ENCODER_RING, (hardware.encoder.window + 1) * (1 + len(driven)))
        if hardware.imu is not None:
            imu, angle = hardware.imu, angle_in_world(system)
            if hardware.encoder is not None and angle in [actuator.coordinate for actuator in driven]:
                raise InputError(f"hardware: {angle} of {system.name} has an encoder and an imu; leave out one of them")
            delay = imu.samples(self.inner.period)
            place, rate = mechanism.index(angle), mechanism.nq + mechanism.velocity_index(angle)
            noise = [imu.angle_noise, imu.rate_noise, imu.angle_bias, imu.rate_bias]
            self._put(H.INERTIAL, [place, rate, *noise, delay])
            self._remember(H.IMU_RING, 2 * (delay + 1))
        if hardware.current is not None:
            self._put(H.SENSED, [hardware.current.quantum, hardware.current.top])

    def _put_claws(self) -> None:
        gripper, system = self.hardware.gripper, self.system
        if gripper is None:
            return
        self._put(H.GRIPPERS, gripper.data(system))
        limited = gripper.impact_limit is not None
        look, size = system.once(f"claws {limited}", lambda: _looking(system, gripper))
        seen = compiled_control(look)
        self.data[H.LOOK] = double_bits(seen.address)
        self.alive += (seen.alive,)
        count = len(grips_of(system))
        self.begins = {self.memory + CLAW * k + SIDE: -1.0 for k in range(count)}
        self._remember(H.CLAW_PLACES, CLAW * count)
        self._remember(H.SEEN, size)


def _looking(system: HybridSystem, gripper: Gripper) -> tuple[Any, int]:
    seen = gripper.seen(system)
    return seeing(H.nothing, system, "claws", seen), int(seen.numel())


def driven_angles(system: HybridSystem) -> list[Actuator]:
    """The actuators that drive an angle."""
    return [one for one in system.mechanism.actuators.values() if one.coordinate is not None and one.unit == "N m"]
