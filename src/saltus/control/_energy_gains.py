"""Gains of the energy controller: what each is, and the sets that were tuned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltus.control._protocol import finite
from saltus.errors import InputError, unknown_name

# Name, value, least value allowed (None: any), unit, meaning.
_TABLE: tuple[tuple[str, float, float | None, str, str], ...] = (
    ("buffer", 1.5, None, "J", "aimed for in inject, above the energy of rest at the bar [yang2016, 7.4.4]"),
    ("reduction", 0.0, 0, "1", "share of the energy from hanging to the bar that is taken off the aim"),
    ("energy_scale", 2.0, 1e-6, "J", "the torque of inject falls to zero over this before the aim"),
    ("torque", 10.0, 1e-6, "N m", "largest torque of inject"),
    ("hysteresis", 0.01, 0, "N m s", "of the sign of inject: momentum; for the power law a tenth of the rate, rad/s"),
    ("amplitude", 1.6, 0, "rad", "elbow angle from which on torque away from straight fades [yang2016, 7.4.7]"),
    ("second_amplitude", 2.2, 0, "rad", "the same, in turn with it, where nothing was caught for long"),
    ("watchdog", 3.0, 1e-3, "s", "for so long"),
    ("fade", 0.4, 1e-6, "rad", "over which it fades"),
    ("fade_time", 0.05, 0, "s", "by which the elbow's rate is added to its angle for that"),
    ("brake", 0.6, 0, "1", "share of the limit that brakes where the torque has faded"),
    ("elbow_speed", 12.0, 1e-6, "rad/s", "torque along the rate fades from 0.7 of it and brakes above"),
    ("bootstrap_torque", 3.0, None, "N m", "at the start of a swing-up from rest [yang2016, 8.2]"),
    ("bootstrap_time", 0.8, 0, "s", "for so long"),
    ("kp", 400.0, 0, "1/s^2", "of pose: proportional"),
    ("kd", 36.0, 0, "1/s", "of pose: rate"),
    ("ki", 2.0, 0, "N m/(rad s)", "of pose: integral"),
    ("feedforward", 1.0, 0, "1", "1: computed torque of the model; 0: plain PID, with kp and kd times 0.05 kg m^2"),
    ("blend_energy", 3.0, 1e-6, "J", "without look-ahead: total energy over which inject turns into pose"),
    ("blend_time", 0.02, 0, "s", "with look-ahead: time over which it does"),
    ("tick", 0.006, 1e-4, "s", "between look-aheads"),
    ("look_step", 0.012, 1e-3, "s", "of the integration in a look-ahead"),
    ("horizon", 0.8, 0.01, "s", "of a look-ahead"),
    ("gate", 8.0, None, "J", "no look-ahead with less energy than that of the bar minus this"),
    ("candidates", 2.0, 1, "1", "ways to pose that are tried at a time, of nine"),
    ("trials", 2.0, 0, "1", "changes of the way that are tried at a time while posing"),
    ("first_trials", 24.0, 0, "1", "the same at the first look-ahead after a release"),
    ("search_step", 0.25, 1e-3, "rad", "first change of the way"),
    ("enter_cost", 1.2, 0, "J", "pose begins below this cost"),
    ("first_cost", 4.0, 0, "J", "the same at the first look-ahead after a release"),
    ("leave_cost", 8.0, 0, "J", "pose is given up above this cost"),
    ("leave_count", 6.0, 1, "1", "so many times in a row"),
    ("aim", 0.012, 0, "m", "miss that costs nothing"),
    ("slow_aim", 0.004, 0, "m", "the same for hands that take time to close"),
    ("miss_weight", 6000.0, 0, "J/m^2", "cost of a larger miss"),
    ("approach_weight", 0.6, 0, "J", "cost of a way above the bar, near it; large values ask for a catch from below"),
    ("close_distance", 0.08, 1e-3, "m", "from the bar within which a hand that closes at once is asked to"),
    ("close_energy", 6.0, 0, "J", "it is not asked with more kinetic energy than this"),
    ("reopen_time", 0.25, 0, "s", "that a claw takes to open again after it has missed"),
    ("adapt", 1.0, 0, "1", "1: torque gain and friction of the model follow the energy balance; 0: they stay"),
    ("energy_noise", 0.4, 1e-6, "J", "of an energy difference in that"),
    ("torque_gain", 0.97, 1e-3, "1", "of the model at the start"),
    ("viscous", 0.02, 0, "N m s/rad", "friction of the model at the start, at both joints"),
    ("coulomb", 0.10, 0, "N m", "the same, dry"),
    ("observe_angle", 0.03, 0, "1", "share of the error of the hand's angle that the observer takes at a sample"),
    ("observe_rate", 0.06, 0, "1", "the same of its rate"),
    ("observe_rate_by_angle", 0.3, 0, "1/s", "rate for an error of that angle, at a sample"),
    ("observe_elbow", 0.25, 0, "1", "share of the error of the elbow's angle"),
    ("observe_elbow_rate", 36.0, 0, "1/s", "rate for an error of the elbow's angle, at a sample"),
)  # fmt: skip

NAMES = tuple(row[0] for row in _TABLE)
GAINS = len(NAMES)
(
    BUFFER, REDUCTION, ENERGY_SCALE, TORQUE, HYSTERESIS, AMPLITUDE, SECOND_AMPLITUDE, WATCHDOG, FADE, FADE_TIME, BRAKE,
    ELBOW_SPEED, BOOTSTRAP_TORQUE, BOOTSTRAP_TIME, KP, KD, KI, FEEDFORWARD, BLEND_ENERGY, BLEND_TIME, TICK, LOOK_STEP,
    HORIZON, GATE, CANDIDATES, TRIALS, FIRST_TRIALS, SEARCH_STEP, ENTER_COST, FIRST_COST, LEAVE_COST, LEAVE_COUNT, AIM,
    SLOW_AIM, MISS_WEIGHT, APPROACH_WEIGHT, CLOSE_DISTANCE, CLOSE_ENERGY, REOPEN_TIME, ADAPT, ENERGY_NOISE, TORQUE_GAIN,
    VISCOUS, COULOMB, OBSERVE_ANGLE, OBSERVE_RATE, OBSERVE_RATE_BY_ANGLE, OBSERVE_ELBOW, OBSERVE_ELBOW_RATE,
) = range(GAINS)  # fmt: skip

LAWS = ("power", "momentum")

# What was tuned of them, on random mixes of torque, friction, mass, spacing and incline: for centres of mass in the
# middle of the links (mid) or nearer to the elbow (heavy).
_TUNED_NAMES = (
    "buffer", "energy_scale", "hysteresis", "fade", "fade_time", "bootstrap_time", "enter_cost", "gate", "amplitude",
    "watchdog", "second_amplitude", "elbow_speed", "torque", "brake",
)  # fmt: skip
_TUNED = {
    ("mid", "power"): (5.311, 2.747, 0.001, 0.5099, 0.035, 0.1, 1.604, 7.458, 2.45, 2.728, 2.224, 13.94, 8.93, 0.0),
    ("mid", "momentum"):
        (2.281, 3.919, 0.01426, 0.4475, 0.04147, 0.1725, 1.499, 8.914, 2.533, 3.084, 2.363, 12.88, 9.003, 0.07537),
    ("heavy", "power"):
        (3.082, 3.676, 0.04191, 0.3812, 0.002599, 0.53, 0.5983, 4.035, 2.449, 3.633, 1.764, 9.09, 3.887, 0.247),
    ("heavy", "momentum"):
        (4.659, 5.522, 0.03039, 1.2, 0.006842, 0.194, 0.5978, 4.0, 2.135, 2.751, 2.75, 11.24, 6.737, 0.23),
}  # fmt: skip
CASES = ("mid", "heavy")


def tuned_gains(case: str, law: str) -> dict[str, float]:
    """All gains of a tuned set, by name."""
    if law not in LAWS:
        raise unknown_name("law", law, LAWS, "energy")
    if case not in CASES:
        raise unknown_name("tuned set", case, CASES, "energy")
    return {**{row[0]: row[1] for row in _TABLE}, **dict(zip(_TUNED_NAMES, _TUNED[case, law], strict=True))}


def gain_rows(case: str, law: str, changes: Mapping[str, Any]) -> list[float]:
    """The gains of a set with some changed, in order; refused where they are unknown or of the wrong sign."""
    values = tuned_gains(case, law)
    if not isinstance(changes, Mapping):
        raise InputError(f"energy: gains are numbers by name, got {changes!r}")
    for name, value in changes.items():
        if name not in values:
            raise unknown_name("gain", name, NAMES, "energy")
        values[name] = finite(value, f"energy: {name}")
    for name, _, least, unit, _ in _TABLE:
        if least is not None and values[name] < least:
            words = "must not be negative" if least == 0 else f"must be at least {least:g}"
            raise InputError(f"energy: {name} {words}, got {values[name]:g} {unit}")
    return [values[name] for name in NAMES]


def about_gains() -> dict[str, str]:
    """What each gain is, with its unit."""
    return {name: f"{about}, {unit}" for name, _, _, unit, about in _TABLE}
