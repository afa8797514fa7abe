"""The law of the hardware: it measures the state, asks the controller behind it, and does what motors and claws can.

Its numbers and its memory come first; those of the controller behind it follow.
"""

from __future__ import annotations

from functools import lru_cache

from saltus._native import CONTROL, Entry, bits_of, call_control_at, compile_entry, doubles_from
from saltus.control._current import QUANTUM, TOP, told
from saltus.control._encoder import read_encoders
from saltus.control._gripper import follow_claws, show_claws, work_claws
from saltus.control._imu import read_imu
from saltus.control._motor import cross_play, drive

# In data: addresses of the controller behind it and of what looks at the state, as the bits of a number; where the data
# and the memory of that controller begin; sizes of state, inputs and units; the seed.
INNER, LOOK, INNER_DATA, INNER_MEMORY, STATES, INPUTS, UNITS, SEED = range(8)

# Where the blocks of the parts are in data, zero for those that are not there, and how many joints are driven.
JOINTS, JOINT_COUNT, ENCODERS, INERTIAL, SENSED, GRIPPERS = range(8, 14)

# Where in memory: the measured state, wishes and statuses of units, torques that were given, the play of joints, rings
# of encoders and of the inertial unit, claws, and what is seen of the state.
MEASURED, WISHES, STATUSES, GIVEN, PLAYS, ENCODER_RING, IMU_RING, CLAW_PLACES, SEEN, HEAD = range(14, 24)

# First in memory: the number of samples so far, and the time of the last.
COUNT, TIME, FIRST = range(3)


def law(t, x, status, memory, p, data, piece, u, request):
    number, seed = int(memory[COUNT]), int(data[SEED])
    elapsed = t - memory[TIME] if number > 0 else 0.0
    memory[COUNT], memory[TIME] = number + 1.0, t
    joints, count, plays = int(data[JOINTS]), int(data[JOINT_COUNT]), int(data[PLAYS])
    claws, places, look = int(data[GRIPPERS]), int(data[CLAW_PLACES]), int(data[SEEN])
    inputs, units = int(data[INPUTS]), int(data[UNITS])
    wishes, statuses, given = int(data[WISHES]), int(data[STATUSES]), int(data[GIVEN])

    cross_play(data, joints, count, memory, plays, elapsed)
    measured = doubles_from(memory, int(data[MEASURED]))
    for i in range(int(data[STATES])):
        measured[i] = x[i]
    if data[ENCODERS] > 0.0:
        ring = int(data[ENCODER_RING])
        read_encoders(t, number, data, int(data[ENCODERS]), ring, joints, count, memory, plays, measured)
    if data[INERTIAL] > 0.0:
        read_imu(number, data, int(data[INERTIAL]), memory, int(data[IMU_RING]), measured, seed)
    for k in range(inputs):
        u[k] = memory[given + k]
        if data[SENSED] > 0.0:
            u[k] = told(u[k], data[int(data[SENSED]) + QUANTUM], data[int(data[SENSED]) + TOP])
    for k in range(units):
        memory[statuses + k] = status[k]
        request[k] = int(memory[wishes + k])
    if claws > 0:
        call_control_at(bits_of(data[LOOK]), t, x, status, doubles_from(memory, look), p, data, piece, u, request)
        follow_claws(data, claws, memory, places, look)
        show_claws(data, claws, memory, places, status)

    code = 0
    if bits_of(data[INNER]) != 0:
        inner, own = doubles_from(data, int(data[INNER_DATA])), doubles_from(memory, int(data[INNER_MEMORY]))
        code = call_control_at(bits_of(data[INNER]), t, measured, status, own, p, inner, piece, u, request)
    else:
        for k in range(inputs):
            u[k] = 0.0
    for k in range(units):
        status[k] = int(memory[statuses + k])
        memory[wishes + k] = request[k]
    if code != 0:
        return code

    drive(data, joints, count, memory, plays, x, u)
    for k in range(inputs):
        memory[given + k] = u[k]
    if claws > 0:
        work_claws(t, data, claws, memory, places, look, wishes, status, request, seed)
    return 0


@lru_cache(maxsize=1)
def entry() -> Entry:
    """The law as machine code, the same for all robots and all controllers behind it."""
    return compile_entry(law, CONTROL, "control-hardware")


def nothing(t, x, status, memory, p, data, piece, u, request):
    """A law that only looks."""
    return 0
