"""States, accelerations and contact forces of pinocchio, in saltus' order and signs."""

from __future__ import annotations

import numpy as np


def cross_matrix(a: np.ndarray) -> np.ndarray:
    """The matrix of the vector product."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


class Twin:
    """A pinocchio model of a robot with a free-flyer, and how its states follow from saltus' by joint names."""

    def __init__(self, text: str, system):  # type: ignore[no-untyped-def]
        import pinocchio as pin

        self.pin = pin
        self.model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
        self.data = self.model.createData()
        self.system = system

    def state(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Configuration, velocity and rotation of the free-flyer."""
        names = self.system.state_names
        at = dict(zip(names, x, strict=True))
        R = self.pin.Quaternion(at["qw"], at["qx"], at["qy"], at["qz"]).toRotationMatrix()
        q, v = self.pin.neutral(self.model), np.zeros(self.model.nv)
        q[:7] = [at[name] for name in ("x", "y", "z", "qx", "qy", "qz", "qw")]
        v[:3] = R.T @ [at["dx"], at["dy"], at["dz"]]
        v[3:6] = [at["wx"], at["wy"], at["wz"]]
        for joint, name in zip(self.model.joints[2:], self.model.names[2:], strict=True):
            angle, place = at[name], joint.idx_q
            q[place : place + joint.nq] = [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
            v[joint.idx_v] = at[f"d{name}"]
        return q, v, R

    def rolling(self, x: np.ndarray, u: dict[str, float], wheels: dict[str, float], contact: str):  # type: ignore[no-untyped-def]
        """Accelerations and forces (forward, normal, sideways) of wheels that roll: KKT on pinocchio's M and nle."""
        pin, model, data = self.pin, self.model, self.data
        q, v, R = self.state(x)
        M = pin.crba(model, data, q).copy()
        M = np.triu(M) + np.triu(M, 1).T
        nle = pin.nonLinearEffects(model, data, q, v).copy()
        tau = np.zeros(model.nv)
        for name, value in u.items():
            tau[model.joints[model.getJointId(name)].idx_v] = value
        pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
        pin.computeJointJacobians(model, data, q)
        rows, drifts = [], []
        for name, radius in wheels.items():
            frame = model.getFrameId(name, pin.FrameType.BODY)
            J = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
            motion = pin.getFrameVelocity(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
            rate = pin.getFrameClassicalAcceleration(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
            a = pin.updateFramePlacement(model, data, frame).rotation[:, 1]
            w, da, up = motion.angular, np.cross(motion.angular, a), np.array([0.0, 0.0, 1.0])
            c = np.hypot(a[0], a[1])
            dc = (a[0] * da[0] + a[1] * da[1]) / c
            t, s = np.array([a[1], -a[0], 0.0]) / c, np.array([a[0], a[1], 0.0]) / c
            dt = np.array([da[1], -da[0], 0.0]) / c - t * dc / c
            ds = np.array([da[0], da[1], 0.0]) / c - s * dc / c
            if contact == "rim":
                arm = radius * (a[2] * s - c * up)
                turning = radius * (da[2] * s + a[2] * ds - dc * up)
            else:
                arm, turning = -radius * up, np.zeros(3)
            point = J[:3] - cross_matrix(arm) @ J[3:]
            moves = motion.linear + np.cross(w, arm)
            bias = rate.linear + np.cross(rate.angular, arm) + np.cross(w, turning)
            rows += [t @ point, up @ point, s @ point]
            drifts += [dt @ moves + t @ bias, up @ bias, ds @ moves + s @ bias]
        J, drift = np.array(rows), np.array(drifts)
        n, k = model.nv, len(J)
        # contacts that say the same twice share their forces evenly
        kkt = np.block([[M, -J.T], [J, np.zeros((k, k))]])
        solution = np.linalg.lstsq(kkt, np.concatenate([tau - nle, -drift]), rcond=1e-13)[0]
        return self.accelerations(solution[:n], v, R), solution[n:]

    def accelerations(self, a: np.ndarray, v: np.ndarray, R: np.ndarray) -> np.ndarray:
        """In the order of saltus' velocities, the free-flyer's linear one in the world."""
        found = {name: a[joint.idx_v] for joint, name in zip(self.model.joints[2:], self.model.names[2:], strict=True)}
        linear = R @ (a[:3] + np.cross(v[3:6], v[:3]))
        base = dict(zip(("dx", "dy", "dz", "wx", "wy", "wz"), (*linear, *a[3:6]), strict=True))
        named = base | {f"d{name}": value for name, value in found.items()}
        return np.array([named[name] for name in self.system.mechanism.velocities])
