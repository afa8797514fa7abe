"""One torque impulse after letting go [yang2016, 7.3]: when it begins, how large it is, how long it lasts."""

from __future__ import annotations

from dataclasses import dataclass

from saltus._content import equal_by_content
from saltus.contact._unit import CLOSE, RELEASE
from saltus.control._function import bind_compiled
from saltus.control._hands import one_motor, two_hands
from saltus.control._protocol import check_limit, check_period, finite
from saltus.engine import Control
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem

# Numbers: begin and end of the impulse, its size; when the free hand is to close, and its unit.
BEGIN, END, SIZE, CLOSES, UNIT = range(5)


def law(t, x, status, memory, p, data, piece, u, request):
    u[0] = data[SIZE] if data[BEGIN] <= t < data[END] else 0.0
    request[int(data[UNIT])] = CLOSE if t >= data[CLOSES] else RELEASE
    return 0


@equal_by_content
@dataclass(frozen=True)
class Impulse:
    """Feed-forward control of one swing: a hand lets go, the motor gives one impulse, the hand is to close again.

    Parameters
    ----------
    begin
        From letting go until the impulse begins, s.
    size
        Torque, N m, as the actuator counts it.
    length
        How long it lasts, s.
    free
        The grip that lets go; the second one if empty.
    close_after
        From letting go until that grip is asked to close, s, so that it does not take hold where it was.
    period
        Of samples, s: the impulse then begins and ends with one. Exactly when it is said if None.
    """

    begin: float = 0.2
    size: float = 5.0
    length: float = 0.2
    free: str = ""
    close_after: float = 0.25
    period: float | None = None

    def __post_init__(self) -> None:
        for name in ("begin", "length", "close_after"):
            if finite(getattr(self, name), f"impulse: {name}") < 0:
                raise InputError(f"impulse: {name} must not be negative, got {getattr(self, name):g} s")
        finite(self.size, "impulse: size")
        if self.period is not None:
            check_period(self.period)

    def bind(self, system: HybridSystem) -> Control:
        one_motor(system, "impulse")
        hands = two_hands(system, (), "impulse")
        free = self.free or hands[1]
        if free not in hands:
            raise unknown_name("grip", free, hands, system.name)
        check_limit(system, 0, self.size, "impulse")
        unit = [one.name for one in system.units].index(free)
        data = [self.begin, self.begin + self.length, self.size, self.close_after, unit]
        breaks = sorted({self.begin, self.begin + self.length, self.close_after}) if self.period is None else ()
        return bind_compiled(law, data, self.period, breaks, name="impulse")


CONTROLLER = Impulse
