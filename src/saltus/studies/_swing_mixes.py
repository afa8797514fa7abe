"""What may be off when a robot swings: torque, friction, mass, bars and sensors, drawn at random, run by run."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus._finite import is_finite
from saltus.control import Encoder, Imu
from saltus.errors import InputError, unknown_name

# Ranges, in the order in which they are drawn, and the least value that each may have (None: any).
_LEAST: dict[str, float | None] = {
    "torque_gain": 1e-3, "viscous": 0.0, "coulomb": 0.0, "mass": 1e-3, "behind": 1e-3, "spacing": 1e-3, "incline": None,
}  # fmt: skip

# What other random numbers are for: gaps of a ladder, and starts that are off.
_GAPS, _OFFSETS = 1, 2

# How far the seed of held-out mixes is from that of their own.
_HELD_OUT = 1_000_003

# Seeds of sensor noise and gripper times are whole numbers below this.
_SEEDS = 2**53

# More runs than this are not one study.
MOST = 1_000_000


@equal_by_content
@dataclass(frozen=True)
class SwingMixes:
    """Random mixes of what a controller does not know: each run has its own, drawn evenly from ranges.

    A range is a lowest and a highest value; both the same where nothing is to be drawn. A mix is that of its number
    and its seed, however many are drawn with it.

    Parameters
    ----------
    torque_gain
        Torque over that which was asked for.
    viscous, coulomb
        Friction at all joints and about the hand that holds, N m s/rad and N m.
    mass
        Masses and moments of inertia over those of the robot.
    spacing
        From bar to bar, m; on a ladder of each gap anew.
    behind
        Of a swing: from the bar that is held to the one that the other hand leaves, m; as ``spacing`` if None.
    incline
        How the bars rise, rad.
    start_offset
        How far the bar that is left, at which the free hand begins, is off along the bars, m. A controller that is
        made for each mix is not told.
    encoder
        Whether the elbow is read by an encoder.
    angle_noise, rate_noise
        Of the inertial unit on the first link, rms, rad and rad/s; no such unit where both are zero: that angle is
        told as it is then.
    count, first
        How many mixes are drawn, and the number of the first of them.
    seed
        Of all random numbers.
    """

    torque_gain: tuple[float, float] = (0.9, 1.1)
    viscous: tuple[float, float] = (0.0, 0.06)
    coulomb: tuple[float, float] = (0.0, 0.3)
    mass: tuple[float, float] = (0.95, 1.15)
    spacing: tuple[float, float] = (0.50, 0.65)
    behind: tuple[float, float] | None = None
    incline: tuple[float, float] = (math.radians(-10), math.radians(10))
    start_offset: tuple[float, float] = (0.0, 0.0)
    encoder: bool = True
    angle_noise: float = math.radians(1)
    rate_noise: float = math.radians(5)
    count: int = 500
    first: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in (*_LEAST, "start_offset"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _range(name, getattr(self, name), _LEAST.get(name)))
        if max(map(abs, self.incline)) >= math.pi / 2:
            raise InputError(f"mixes: incline is less than a right angle, got {self.incline} rad")
        if not isinstance(self.encoder, bool):
            raise InputError(f"mixes: encoder is True or False, got {self.encoder!r}")
        for name in ("angle_noise", "rate_noise"):
            object.__setattr__(self, name, _number(name, getattr(self, name), 0.0))
        for name, least, most in (("count", 1, MOST), ("first", 0, MOST), ("seed", 0, 1 << 62)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
                raise InputError(f"mixes: {name} is a whole number from {least} to {most}, got {value!r}")
            object.__setattr__(self, name, int(value))

    @staticmethod
    def ranges() -> tuple[str, ...]:
        """Names of all ranges."""
        return (*_LEAST, "start_offset")

    @staticmethod
    def none(count: int = 1, **ranges: tuple[float, float]) -> SwingMixes:
        """Mixes of which nothing is off and all is told as it is, on level bars 0.55 m apart, but for some ranges."""
        for name in ranges:
            if name not in SwingMixes.ranges():
                raise unknown_name("range", name, SwingMixes.ranges(), "mixes")
        plain: dict[str, Any] = {
            "torque_gain": (1.0, 1.0), "viscous": (0.0, 0.0), "coulomb": (0.0, 0.0), "mass": (1.0, 1.0),
            "spacing": (0.55, 0.55), "incline": (0.0, 0.0),
        }  # fmt: skip
        return SwingMixes(**{**plain, **ranges}, count=count).without_sensors()

    def held_out(self, count: int | None = None) -> SwingMixes:
        """Other mixes of the same ranges, that no tuning has seen."""
        return replace(self, count=self.count if count is None else count, first=0, seed=self.seed + _HELD_OUT)

    def without_sensors(self) -> SwingMixes:
        """The same with a state that is told as it is."""
        return replace(self, encoder=False, angle_noise=0.0, rate_noise=0.0)

    def only(self, number: int) -> SwingMixes:
        """The one mix of that number."""
        return replace(self, count=1, first=number)

    @property
    def numbers(self) -> range:
        """Numbers of the mixes."""
        return range(self.first, self.first + self.count)

    @property
    def sensors(self) -> bool:
        """Whether anything is told otherwise than it is."""
        return self.encoder or self.angle_noise > 0 or self.rate_noise > 0

    @property
    def parts(self) -> dict[str, Any]:
        """The sensors, as `saltus.control.Hardware` takes them."""
        imu = (
            Imu(angle_noise=self.angle_noise, rate_noise=self.rate_noise)
            if self.angle_noise or self.rate_noise
            else None
        )
        return {"encoder": Encoder() if self.encoder else None, "imu": imu}

    def noise_seed(self, number: int) -> int:
        """The seed of sensor noise and gripper times of a mix."""
        return (self.seed * _HELD_OUT + number) % _SEEDS

    def draw(self) -> dict[str, np.ndarray]:
        """Values of all ranges, by name: one for each mix."""
        shares = self._uniform(np.random.default_rng(self.seed), len(_LEAST))
        drawn = {name: _between(self._of(name), share) for name, share in zip(_LEAST, shares.T, strict=True)}
        offsets = self._uniform(np.random.default_rng([self.seed, _OFFSETS]), 1)[:, 0]
        return drawn | {"start_offset": _between(self.start_offset, offsets)}

    def draw_gaps(self, bars: int) -> np.ndarray:
        """Spacings of ladders, m: a row for each mix."""
        return _between(self.spacing, self._uniform(np.random.default_rng([self.seed, _GAPS, bars]), bars - 1))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"behind": self._of("behind")}

    def _of(self, name: str) -> tuple[float, float]:
        given: tuple[float, float] | None = getattr(self, name)
        return self.spacing if given is None else given

    def _uniform(self, random: np.random.Generator, width: int) -> np.ndarray:
        """Numbers from 0 to 1, a row for each mix."""
        return random.random((self.first + self.count, width))[self.first :]


def _between(ends: tuple[float, float], share: np.ndarray) -> np.ndarray:
    return np.asarray(ends[0] + (ends[1] - ends[0]) * share)


def _number(name: str, given: Any, least: float | None) -> float:
    if isinstance(given, bool) or not is_finite(given):
        raise InputError(f"mixes: {name} needs finite numbers, got {given!r}")
    if least is not None and given < least:
        words = "must not be negative" if least == 0 else f"must be at least {least:g}"
        raise InputError(f"mixes: {name} {words}, got {given:g}")
    return float(given)


def _range(name: str, given: Any, least: float | None) -> tuple[float, float]:
    if isinstance(given, (str, bytes)):
        raise InputError(f"mixes: {name} is a lowest and a highest value, got {given!r}")
    try:
        low, high = given
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"mixes: {name} is a lowest and a highest value, got {given!r}") from None
    low, high = _number(name, low, least), _number(name, high, least)
    if low > high:
        raise InputError(f"mixes: {name} is a lowest and a highest value, in that order, got {low:g} and {high:g}")
    return low, high
