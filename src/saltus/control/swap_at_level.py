"""The state-driven controller of [ufford2009, 4.2]: exchange hands at one height, then restore the energy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from saltus._content import equal_by_content
from saltus.contact._unit import CLOSE, RELEASE
from saltus.control._function import bind_compiled
from saltus.control._hands import one_motor, sign_of, two_hands
from saltus.control._protocol import check_limit, check_period, finite
from saltus.engine import Control, ControlParameter
from saltus.engine._control import seeing
from saltus.errors import InputError
from saltus.hybrid import HybridSystem

# Phases of a cycle: the free hand rises, the motor acts, the holding link falls to the vertical; or it
# has passed the vertical and the motor still acts.
UP, MOTOR, DOWN, LATE = range(4)

# Memory: what is seen (how high the second hand is over the first; how far the joint is beside and
# below each hand; energy), then what is remembered.
LEVEL, BESIDE, BELOW, ENERGY = 0, 1, 3, 5
TURN, PHASE, LAST_LEVEL, LAST_BESIDE, TARGET, BEGUN, PLACES = range(6, 13)


def law(t, x, status, memory, p, data, piece, u, request):
    turn, phase = int(memory[TURN]), int(memory[PHASE])
    level = -memory[LEVEL] if turn == 1 else memory[LEVEL]
    beside, energy = memory[BESIDE + turn], memory[ENERGY]
    if memory[BEGUN] == 0.0:
        memory[BEGUN], memory[TARGET], memory[LAST_LEVEL], memory[LAST_BESIDE] = 1.0, energy, level, beside
    passed = memory[LAST_BESIDE] * beside <= 0.0 and memory[LAST_BESIDE] != beside and memory[BELOW + turn] > 0.0
    if energy >= memory[TARGET] and phase in (MOTOR, LATE):
        phase = DOWN if phase == MOTOR else UP
    if passed and phase == DOWN:
        phase, memory[TARGET] = UP, energy
    elif passed and phase == MOTOR:
        phase = LATE
    if phase in (UP, LATE) and memory[LAST_LEVEL] < 0.0 <= level:
        phase, turn = MOTOR, 1 - turn
        level, beside = -level, memory[BESIDE + turn]
    memory[TURN], memory[PHASE], memory[LAST_LEVEL], memory[LAST_BESIDE] = turn, phase, level, beside
    u[0] = 0.0
    if phase in (MOTOR, LATE):
        u[0] = -data[2] * data[3] if turn == 1 else data[2] * data[3]
    request[int(data[turn])] = CLOSE
    request[int(data[1 - turn])] = RELEASE
    return 0


@equal_by_content
@dataclass(frozen=True)
class SwapAtLevel:
    """Exchange hands when the free one rises to the height of the other; drive the motor until energy is restored.

    For robots of two links with a grip at the end of each and a motor between them. The energy to be restored is
    that with which the holding link last passed the vertical, or that at the start. It is asked every
    ``period`` and acts at the first instant after what it waits for; `saltus.gaits.run_cycle` has the exact cycle, and
    `Timed` repeats either by the clock.

    Parameters
    ----------
    torque
        Of the motor, N m, on the joint as seen from the hand that holds: as it is while the robot's first grip does,
        with the other sign while the second does.
    period
        How often the state is looked at, s.
    hands
        The two grips; the first holds at the start. If none are named, it is the one that the robot itself
        begins with.
    """

    torque: float
    period: float = 1e-3
    hands: Sequence[str] = ()

    def bind(self, system: HybridSystem) -> Control:
        motor = system.mechanism.actuators[one_motor(system, "swap_at_level")]
        hands = two_hands(system, self.hands, "swap_at_level")
        torque = finite(self.torque, "swap_at_level: torque")
        if torque < 0:
            raise InputError(f"swap_at_level: torque must not be negative, got {torque:g} N m")
        check_limit(system, 0, torque, "swap_at_level")
        if motor.coordinate is None or len(system.mechanism.bodies) != 2:
            raise InputError(f"swap_at_level is for robots of two links with a motor between them, not {system.name}")
        names = [unit.name for unit in system.units]
        return bind_compiled(
            seeing(law, system, "swap_at_level", _seen(system, hands)),
            [*(names.index(name) for name in hands), torque, sign_of(system, hands)],
            check_period(self.period),
            memory=PLACES,
            name="swap_at_level",
            parameters=[ControlParameter("torque", (2,))],
        )


def _seen(system: HybridSystem, hands: Sequence[str]) -> ca.SX:
    m, d = system.mechanism, system.dynamics
    first, second = (m.points[name].position for name in hands)
    joint = list(m.bodies.values())[1].pose.position  # where the second body hangs on the first
    ways = [hand - joint for hand in (first, second)]
    energy = d.kinetic + d.potential
    return ca.vertcat(second[1] - first[1], *(way[0] for way in ways), *(way[1] for way in ways), energy)


CONTROLLER = SwapAtLevel
EXAMPLE = {"torque": 0.66}
