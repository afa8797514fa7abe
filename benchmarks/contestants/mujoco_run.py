"""MuJoCo: RK4 at a fixed step of one millisecond, stepped from Python or by its own rollout."""

from __future__ import annotations

from typing import Any

import numpy as np

from contestants.problem import COUNT, SPACING, Contestant, robot, start

# The links lie along -z and turn about y; of the inertias only that about y matters. Everything that this pendulum
# does not need is switched off.
_MODEL = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="{spacing!r}" integrator="RK4" gravity="0 0 -{g!r}">
    <flag contact="disable" constraint="disable" spring="disable" damper="disable"
          actuation="disable" sensor="disable"/>
  </option>
  <worldbody>
    <body>
      <inertial pos="0 0 -{r1!r}" mass="{m1!r}" diaginertia="{I1!r} {I1!r} 1e-9"/>
      <joint name="theta1" type="hinge" axis="0 1 0" armature="0" damping="0"/>
      <body pos="0 0 -{L1!r}">
        <inertial pos="0 0 -{r2!r}" mass="{m2!r}" diaginertia="{I2!r} {I2!r} 1e-9"/>
        <joint name="theta2" type="hinge" axis="0 1 0" armature="0" damping="0"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def contestants() -> list[Contestant]:
    """MuJoCo in a loop of ``mj_step`` that reads the state each time, and by ``mujoco.rollout`` in this thread."""
    import mujoco
    from mujoco.rollout import Rollout

    model = mujoco.MjModel.from_xml_string(_MODEL.format(spacing=SPACING, **robot().values))
    data = mujoco.MjData(model)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    size = mujoco.mj_stateSize(model, kind)

    def reset() -> None:
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = start()[:2], start()[2:]

    def loop(given: None) -> np.ndarray:
        out = np.empty((COUNT + 1, 4))
        q, v, step = data.qpos, data.qvel, mujoco.mj_step
        out[0, :2], out[0, 2:] = q, v
        for k in range(1, COUNT + 1):
            step(model, data)
            out[k, :2] = q
            out[k, 2:] = v
        return out

    pool = Rollout(nthread=0)

    def prepare_rollout() -> tuple[np.ndarray, np.ndarray]:
        reset()
        first = np.zeros((1, size))
        mujoco.mj_getState(model, data, first[0], kind)
        return first, np.zeros((1, COUNT, size))

    def roll_out(given: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        first, out = given
        pool.rollout(model, data, first, nstep=COUNT, state=out)
        return out

    def states(out: Any) -> np.ndarray:
        # a full state begins with the time
        return np.vstack([start(), out[0, :, 1:5]])

    return [
        Contestant("MuJoCo, RK4 of 1 ms, `mj_step` in a loop", reset, loop, lambda out: out, slow=True),
        Contestant("MuJoCo, RK4 of 1 ms, `rollout`", prepare_rollout, roll_out, states, slow=True),
    ]
