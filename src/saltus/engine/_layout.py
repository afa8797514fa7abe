"""The memory of a run: two arenas, I of integers and D of doubles, and what lies where in them.

All state of a run is in these two, so a run can be paused, resumed, copied and run in any
thread. Names below are places in I. A place holds a number, or the start of a block: in D
where the table says so, else in I.
"""

from __future__ import annotations

import numpy as np

from saltus.contact import MOST_COEFFICIENTS
from saltus.contact import SLOTS as SLOTS

# Sizes: coordinates, velocities, inputs, state (q, v), state with the three energy integrals,
# how many of these are integrated, units, contact rows, guards of the robot, guards in all, breaks, quaternions.
_SIZES = ["NQ", "NV", "NU", "NX", "NY", "N", "NUNIT", "NROW", "NUSER", "NGUARD", "NBREAK", "NQUAT"]

# The method: vectors of its dense output, stages, stages for dense output only, order.
_METHOD = ["NRC", "NSTAGE", "NEXTRA", "ORDER"]

# Addresses of compiled code.
_ADDRESSES = [
    "FREE",
    "TERMS",
    "GAPS",
    "ENERGY",
    "SIZES",
    "RATES",
    "CONTROL",
    "PLASTIC",
    "PLASTIC_IN_SPACE",
    "STEP",
    "FLOW",
    "CHOOSE",
    "IMPACT",
    "SCREEN",
    "LOCATE",
]

# Run state and limits.
_STATE = [
    "CONTROL_KIND",
    "PIECE",
    "SAMPLE",
    "ENTRY",
    "NSTEP",
    "NREJECT",
    "NEVENT",
    "NRECORD",
    "MAXSTEP",
    "MAXEVENT",
    "BUDGET",
    "STEP_ROOM",
    "EVENT_ROOM",
    "STEP_ROW",
    "EVENT_ROW",
    "NACTIVE",
    "RANK",
    "NGIVEN",
    "NCLOSED",
    "NSLIDE",  # units that slip in space
    "NBILATERAL",
    "COMMANDED",
    "ARC",
    "SATURATED",
    "REDUNDANT",
    "PENDING",
    "UNRESOLVED",
    "SAME_TIME",
    "IN_VAIN",  # how many events of forces have changed nothing since IN_VAIN_SINCE
    "REJECTED",
    "FAILED",  # a law of figures did
    "WATCH",  # no step is kept: its energies are watched instead
    "FIRST_EVENT",  # number of the event in the first row of the record
    "FORESEEN",  # which units close at an impact is given, not to be decided
    "TIGHTER",  # how often the tolerances were made tighter, for the sake of the energy balance
]

# Blocks of D.
_DOUBLES = [
    "Y",  # state at the start of the step
    "YN",  # at its end
    "YS",  # at a stage
    "LOW",  # what rounding took from the state at the start of the step, and at its end
    "LOWN",
    "YD",  # on the dense output, and its derivative and forces
    "KD",
    "LAMD",
    "K",  # derivatives at the stages
    "LAM",  # contact forces at the stages
    "DENSE",  # coefficients of the dense output
    "U",
    "U_BEFORE",  # as they were before a sample
    "MEM",
    "P",
    "DATA",
    "COEF",
    "LIMIT",
    "BREAKS",
    "W",  # what the terms kernel writes, and its parts
    "W_ACC",
    "W_POWER",
    "W_MJ",
    "W_A",
    "W_B",
    "W_V",
    "W_MQ",  # as W_MJ, in coordinates instead of velocities
    "GAP",  # what the gaps kernel writes: positions of contact rows, and its other parts
    "GAP_V",
    "GAP_REACH",
    "GAP_USER",
    "SIZE",  # what the sizes kernel writes: how large the numbers are of which each of these is made
    "RATE_V",  # what the rates kernel writes: of velocities of contact rows, of reach, of the robot's guards
    "RATE_REACH",
    "RATE_USER",
    "G0",  # guards at the start of the step
    "G1",  # at its end
    "SLOPE0",  # their rates in time, of those made of positions and velocities
    "SLOPE1",
    "BASE",  # what counts as zero of a guard that was zero on entry: not above zero
    "GLOW",  # smallest and largest over the samples of a step
    "GHIGH",
    "GRID",  # guards on a grid over the step
    "ROOT",  # where each guard crosses, as a fraction of the step
    "SOLVE",  # the small linear system
    "WEIGHT",
    "ACTIVE_TIE",
    "SIDE_TIE",
    "SLIDE",  # direction of slip in space, forward and sideways, whether it has only just begun, and when it is over
    "LAMS",  # forces while that is looked for
    "DAMP",  # force per velocity of contact rows
    "GIVEN",  # forces of contact rows that the mode prescribes
    "MARGIN",  # margins of consistency, at once and a moment later
    "ACC",  # accelerations of the contact rows
    "IMPULSE",
    "ANSWER",  # impulses that units ask for, given those of the others
    "STRUCK_AT",  # when each unit last struck something, and before
    "LOW_IMPACTS",  # when the last impacts were, while none of them was more than what rounding feeds
    "BEFORE",  # velocities of the contact rows before an impact
    "REDUCED",  # Delassus matrix, velocities and accelerations of the rows with the closed grips kept
    "REDUCED_V",
    "REDUCED_B",
    "LAW_IN",
    "LAW_OUT",
    "ANCHOR",  # where a closed row is held
    "LEFT",  # when a grip last left what it had let go
    "ENERGIES",
    "EVENT",  # the event being recorded
]

# Blocks of I.
_INTEGERS = [
    "KIND",
    "STATUS",
    "WAS",  # status before the present event
    "ROW",
    "COORDINATE",  # which one a joint's unit is about, and which velocity
    "ITS_RATE",
    "GATE",  # grip without which it does not act, or -1
    "ANGLE",  # velocity is that of an angle
    "QUATERNION",  # where each begins among the coordinates
    "LAW",
    "TOUCH",  # on the ground with no normal velocity, closed, at the lower stop (2: at the upper)
    "STILL",  # and its first row has no velocity
    "STRIKE",  # takes part in an impact: strikes the ground, closes, strikes the lower stop (2: the upper)
    "TOUCHED",  # TOUCH and STILL before an impact
    "STOOD",
    "CLOSING",  # ends a sequence of infinitely many impacts
    "HELD",  # joint whose stop bears it in an impact, whatever the other contacts do
    "CANDIDATES",
    "ENDED",  # status that a force guard ended, or -1
    "PICK",
    "BEST",
    "NEUTRAL",
    "ACTIVE_ROW",
    "ACTIVE_PAIR",
    "ACTIVE_SIDE",  # the second row of friction in space, or -1
    "PIVOT",
    "BILATERAL",  # row is held by a closed grip, and in which order these are eliminated
    "KEPT",
    "PICKED",
    "REQUEST",
    "SEEN",  # sides of its limits on which an input was, as bits, and where the step began
    "CUT",
    "STOPS",  # bits of its guards, status by status, that end the run
    "GUARD_KIND",
    "ZERO",  # guard was zero on entry
    "SUSPECT",
    "FIRED",
    "SIDE",
    "ACTION",
    "DIRECTION",
]

_ALL = [*_SIZES, *_METHOD, *_ADDRESSES, *_STATE, *_DOUBLES, *_INTEGERS]
HEADER = len(_ALL)
globals().update({name: place for place, name in enumerate(_ALL)})


def __getattr__(name: str) -> int:
    raise AttributeError(name)


# Places of addresses of compiled code, which are of one process only.
ADDRESSES = tuple(globals()[name] for name in _ADDRESSES)

# Places in D with a fixed address: time, natural step, end, tolerances, limits.
(T, H, T_END, RTOL, ATOL, H_MAX, PERIOD, ERROR, ERROR_OLD, T_SAMPLE, DELTA, FRACTION, BEYOND, IN_VAIN_SINCE) = range(14)

# The energy balance: lost in impacts, what energy and these losses were at the start, kinetic energy there, lowest
# and highest potential energy, largest sum of work and losses, largest energy with parts of it that cancel, residual
# of the balance now and at its largest, steepest energy, largest product of inputs and coordinates; and how far the
# balance may be missed, if that is held.
(
    LOST, BALANCE, KINETIC_FIRST, LOWEST, HIGHEST, EXCHANGED, LARGEST, RESIDUAL, WORST, STEEPEST, PUSHED, CLOSES,
) = range(14, 26)  # fmt: skip
D_HEADER = 26

# Fields of an event's row, before its vectors; of impacts how far they miss their laws, as a share of velocities
# (zero where rows are redundant), and units, as bits, that end a sequence of impacts.
(E_TIME, E_GUARD, E_CAUSE, E_ARC, E_KAPPA, E_KINETIC, E_KINETIC_AFTER, E_ENDED, E_FIRED) = range(9)
(E_MISSED, E_CLOSED, E_VECTORS) = range(9, 12)

# Fields of a step's row, before the inputs and the dense coefficients.
(S_TIME, S_LENGTH, S_PIECE, S_ARC, S_EVENTS, S_SAMPLE, S_VECTORS) = range(7)

# How inputs come about.
PASSIVE, CONTINUOUS, SAMPLED = range(3)

# Why a mode is entered.
(CAUSE_NONE, CAUSE_START, CAUSE_GUARD, CAUSE_BREAK, CAUSE_SAMPLE, CAUSE_REARM, CAUSE_COMMAND) = range(7)

# What guards of the robot do.
IGNORE, RECORD, TERMINAL = range(3)

GRID_POINTS = 67

# Room for the friction and the law coefficients of a unit.
COEFFICIENTS = 1 + MOST_COEFFICIENTS


def arenas(sizes: dict[str, int], doubles: dict[str, int], integers: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Allocate both arenas and note where each block begins."""
    place = globals()
    end = HEADER
    starts = {}
    for name in _INTEGERS:
        starts[name] = end
        end += integers[name]
    I = np.zeros(end, dtype=np.int64)
    end = D_HEADER
    for name in _DOUBLES:
        if name in doubles:
            starts[name] = end
            end += doubles[name]
    D = np.zeros(end, dtype=np.float64)
    for name, value in {**starts, **sizes}.items():
        I[place[name]] = value
    return I, D
