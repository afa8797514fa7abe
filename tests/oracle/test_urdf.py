"""Mechanisms read from URDF files against pinocchio's own accelerations: own files, published robots, random trees."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import saltus
import saltus.robots
from saltus.contact import SpatialPoint
from saltus.errors import InputError
from saltus.hybrid import HybridSystem, as_urdf, symbolic_mode
from saltus.mechanism import derive, read_urdf

pin = pytest.importorskip("pinocchio")

OWN = Path(saltus.robots.__file__).parent / "urdf"
# Of example-robot-data 6.0.0: two arms, one of them with continuous joints, and a quadruped.
PUBLISHED = {
    "ur5": ("ur_description/urdf/ur5_robot.urdf", False),
    "kinova": ("kinova_description/robots/kinova.urdf", False),
    "solo12": ("solo_description/robots/solo12.urdf", True),
}
STATES = 1000


def published(path):
    """A file of the package example-robot-data, if it is installed."""
    try:
        files = metadata.files("example-robot-data")
    except metadata.PackageNotFoundError:
        pytest.skip("needs the package example-robot-data, of the dev extra")
    found = [file for file in files if str(file).endswith(f"/robots/{path}")]
    return Path(found[0].locate())


class Pair:
    """A mechanism of ours and pinocchio's model of the same file."""

    def __init__(self, source, *, free_flyer):
        self.mechanism = m = read_urdf(source, free_flyer=free_flyer)
        text = Path(source).read_text(encoding="utf-8") if isinstance(source, Path) else source
        root = (pin.JointModelFreeFlyer(),) if free_flyer else ()
        self.model = pin.buildModelFromXML(text, *root)
        self.data = self.model.createData()
        self.flies = free_flyer
        d = derive(m)
        self.function = ca.Function("f", [d.q, d.v, d.u, d.p], [d.free_acceleration, d.M, d.damping])
        self.p = np.array([parameter.value for parameter in m.parameters.values()])

    def states(self, count, seed=0):
        """Random coordinates, velocities and inputs, a column each."""
        m, random = self.mechanism, np.random.default_rng(seed)
        q, v = random.uniform(-3, 3, (m.nq, count)), random.uniform(-3, 3, (m.nv, count))
        if self.flies:
            q[3:7] /= np.linalg.norm(q[3:7], axis=0)
        return q, v, random.uniform(-5, 5, (len(m.actuators), count))

    def configuration(self, q, v):
        """Pinocchio's coordinates and velocities: quaternions end with w, a free body's velocity is in its own axes,
        and the angle of a continuous joint is a cosine and a sine."""
        theirs, rates = np.zeros(self.model.nq), np.array(v)
        rest = list(q)
        if self.flies:
            x, (w, *imaginary), rest = rest[:3], rest[3:7], rest[7:]
            theirs[:7] = [*x, *imaginary, w]
            rates[:3] = pin.Quaternion(w, *imaginary).matrix().T @ v[:3]
        for joint in list(self.model.joints)[1:]:
            if joint.nv == 1:
                angle = rest.pop(0)
                theirs[joint.idx_q : joint.idx_q + joint.nq] = (
                    [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
                )
        return theirs, rates

    def expected(self, q, v, force):
        """Pinocchio's acceleration, in our velocities."""
        theirs, rates = self.configuration(q, v)
        a = np.array(pin.aba(self.model, self.data, theirs, rates, force))
        if self.flies:
            R = pin.Quaternion(q[3], *q[4:7]).matrix()
            a[:3] = R @ (a[:3] + np.cross(rates[3:6], rates[:3]))
        return a

    def error(self, count, seed=0):
        """The largest difference of accelerations at random states, over the largest acceleration and one."""
        q, v, u = self.states(count, seed)
        ours, _, damping = (np.array(part) for part in self.function(q, v, u, np.tile(self.p, (count, 1)).T))
        damping = damping.reshape(self.mechanism.nv, count)
        force = np.vstack([np.zeros((6 if self.flies else 0, count)), u]) - damping
        theirs = np.column_stack([self.expected(q[:, k], v[:, k], force[:, k]) for k in range(count)])
        return (np.abs(ours - theirs) / (1 + np.abs(theirs).max(axis=0))).max()


@pytest.mark.parametrize("free_flyer", [True, False])
@pytest.mark.parametrize("name", ["claptrap", "claptrap_arms", "claptrap_two_wheels"])
def test_own_robots(name, free_flyer):
    assert Pair(OWN / f"{name}.urdf", free_flyer=free_flyer).error(STATES) < 1e-9


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_robots(name):
    path, free_flyer = PUBLISHED[name]
    assert Pair(published(path), free_flyer=free_flyer).error(STATES) < 1e-9


# Links of the published robots that stand on the ground: the ends of the arms, and all feet.
STANDING = {
    "ur5": ("tool0",),
    "kinova": ("j2s6s200_end_effector",),
    "solo12": ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"),
}


def standing_differences(name):
    """Of accelerations and contact forces with points held, beside KKT on pinocchio's M and nle; the largest."""
    path, free_flyer = PUBLISHED[name]
    pair = Pair(published(path), free_flyer=free_flyer)
    m, model, data = pair.mechanism, pair.model, pair.data
    feet = [m.bodies[link] for link in STANDING[name]]
    points = [m.point(f"{foot.name}_contact", foot) for foot in feet]
    units = tuple(SpatialPoint(point, foot) for point, foot in zip(points, feet, strict=True))
    mode = symbolic_mode(HybridSystem(m, units=units), [1] * len(units))
    d = mode.dynamics
    count, order = STATES, [3 * k + axis for k in range(len(feet)) for axis in (0, 2, 1)]
    function = ca.Function("f", [d.q, d.v, d.u, d.p], [mode.acceleration, mode.forces, d.damping])
    q, v, u = pair.states(count)
    ours, forces, damping = (np.array(part) for part in function(q, v, u, np.tile(pair.p, (count, 1)).T))
    forces, damping = forces.reshape(-1, count)[np.argsort(order)], damping.reshape(m.nv, count)
    frames = [model.getFrameId(link, pin.FrameType.BODY) for link in STANDING[name]]
    worst = 0.0
    for k in range(count):
        at, rates = pair.configuration(q[:, k], v[:, k])
        M = np.array(pin.crba(model, data, at))
        M, nle = np.triu(M) + np.triu(M, 1).T, np.array(pin.nonLinearEffects(model, data, at, rates))
        push = np.concatenate([np.zeros(6 if free_flyer else 0), u[:, k]]) - damping[:, k]
        pin.computeJointJacobians(model, data, at)
        pin.forwardKinematics(model, data, at, rates, 0 * rates)
        J = np.vstack([pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)[:3] for frame in frames])
        drift = np.concatenate(
            [pin.getFrameClassicalAcceleration(model, data, f, pin.LOCAL_WORLD_ALIGNED).linear for f in frames]
        )
        n = len(J)
        kkt = np.block([[M, -J.T], [J, np.zeros((n, n))]])
        solution = np.linalg.solve(kkt, np.concatenate([push - nle, -drift]))
        a, f = solution[: m.nv].copy(), solution[m.nv :]
        if free_flyer:
            R = pin.Quaternion(q[3, k], *q[4:7, k]).matrix()
            a[:3] = R @ (a[:3] + np.cross(rates[3:6], rates[:3]))
        scale = 1 + max(np.abs(a).max(), np.abs(f).max())
        worst = max(worst, np.abs(ours[:, k] - a).max() / scale, np.abs(forces[:, k] - f).max() / scale)
    return worst


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_robots_that_stand_press_on_the_ground_as_kkt_says(name):
    assert standing_differences(name) <= 1e-9


def test_masses_stay_parameters():
    """Another mass and centre of mass by parameter is another mass in the file."""
    path = OWN / "claptrap.urdf"
    pair = Pair(path, free_flyer=True)
    text = path.read_text(encoding="utf-8").replace('value="3"', 'value="4.5"').replace('"0 0 0.5"', '"0 0 0.3"')
    changed = Pair(text, free_flyer=True)
    names = list(pair.mechanism.parameters)
    pair.p[names.index("body_mass")], pair.p[names.index("body_com_z")] = 4.5, 0.3
    pair.model, pair.data = changed.model, changed.data
    assert pair.error(20) < 1e-9


NUMBER = st.integers(-20, 20).map(lambda n: n / 10)
VECTOR = st.tuples(NUMBER, NUMBER, NUMBER)
MASS = st.integers(1, 30).map(lambda n: n / 10)
AXIS = VECTOR.filter(any)
KIND = st.sampled_from(["revolute", "continuous", "prismatic", "fixed"])
LINK = st.tuples(st.integers(0, 5), KIND, VECTOR, VECTOR, AXIS, MASS, VECTOR, VECTOR, VECTOR, NUMBER.map(abs))


def numbers(values):
    return " ".join(map(repr, values))


def link_text(name, mass, com, turn, spread):
    # moments of a cloud of points on three axes keep the triangle inequality
    a, b, c = (0.05 + value * value for value in spread)
    return (
        f'<link name="{name}"><inertial><origin xyz="{numbers(com)}" rpy="{numbers(turn)}"/><mass value="{mass}"/>'
        f'<inertia ixx="{b + c}" iyy="{a + c}" izz="{a + b}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def tree_text(links):
    parts = [link_text("0", 1.0, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), (0.7, 0.8, 0.9))]
    for k, (parent, kind, at, turn, axis, mass, com, about, spread, damping) in enumerate(links, 1):
        parts.append(link_text(f"link {k}", mass, com, about, spread))
        above = "0" if parent % k == 0 else f"link {parent % k}"
        parts.append(
            f'<joint name="joint-{k}" type="{kind}"><parent link="{above}"/><child link="link {k}"/>'
            f'<origin xyz="{numbers(at)}" rpy="{numbers(turn)}"/><axis xyz="{numbers(axis)}"/>'
            f'<dynamics damping="{damping}"/><limit lower="-1" upper="1" effort="7" velocity="1"/></joint>'
        )
    return f'<robot name="tree">{"".join(parts)}</robot>'


@settings(max_examples=40, deadline=None, derandomize=True)
@given(links=st.lists(LINK, min_size=1, max_size=6), free_flyer=st.booleans())
def test_random_trees(links, free_flyer):
    moving = [f"joint_{k}" for k, link in enumerate(links, 1) if link[1] != "fixed"]
    assume(moving or free_flyer)
    pair = Pair(tree_text(links), free_flyer=free_flyer)
    assert sorted(pair.mechanism.actuators) == sorted(moving)
    assert pair.error(5) < 1e-9


PART = (
    '<link name="{}"><inertial><origin xyz="0.1 0.2 0.3" rpy="0.3 0.2 0.1"/><mass value="{}"/>'
    '<inertia ixx="{}" iyy="0.3" izz="0.35" ixy="{}" ixz="0.02" iyz="0.01"/></inertial></link>'
)


@pytest.mark.parametrize("part", [(0.5, 0.1, 0.4), (0, 0.1, 0)])
def test_a_part_that_no_body_is(part):
    """An inertia without mass, or not positive definite, of a link that is welded to another, makes a body with it."""
    text = tree_text([(0, "revolute", (0, 0, 1), (0, 0, 0), (1, 2, 0), 2.0, (1, 0, 0), (0, 0, 0), (1, 1, 1), 0.5)])
    weld = (
        '<joint name="weld" type="fixed"><parent link="link 1"/><child link="part"/>'
        '<origin xyz="0.4 -0.2 0.1" rpy="1 2 3"/></joint>'
    )
    text = text.replace("</robot>", PART.format("part", *part) + weld + "</robot>")
    system = HybridSystem(read_urdf(text))
    assert Pair(text, free_flyer=False).error(20) < 1e-9
    assert Pair(text, free_flyer=True).error(20) < 1e-9
    # and a file that is written of it says the same
    again = HybridSystem(read_urdf(as_urdf(system).text))
    shared = set(system.values) & set(again.values)
    assert "part_ixx" in shared
    assert {name: again.values[name] for name in shared} == pytest.approx({n: system.values[n] for n in shared})
    # judged by the whole with other values too, one by one and many at once
    with pytest.raises(InputError, match="with all that is welded to it: inertia must be"):
        system.with_parameters(part_ixy=9.0)
    starts = np.zeros((2, 2))
    assert saltus.simulate_many(system, starts, parameters={"part_iyy": [0.3, 0.4]}, until=0.01).good.all()
    reasons = saltus.simulate_many(system, starts, parameters={"part_iyz": [0.01, 9.0]}, until=0.01).reasons
    assert list(reasons) == [1]
    assert "with all that is welded to it" in reasons[1]


def test_limits_damping_and_names():
    text = tree_text([(0, "revolute", (0, 0, 1), (0, 0, 0), (1, 0, 0), 2.0, (0, 0, 0), (0, 0, 0), (1, 1, 1), 0.5)])
    m = read_urdf(text)
    assert m.name == "tree"
    assert m.state_names == ["joint_1", "djoint_1"]
    assert {name: m.parameters[name].value for name in ("joint_1_effort", "joint_1_damping", "link_1_mass")} == {
        "joint_1_effort": 7,
        "joint_1_damping": 0.5,
        "link_1_mass": 2,
    }
    # what is fixed to the world has no mass that would matter, and what is zero is no parameter
    assert "_0_mass" not in m.parameters
    assert not [name for name in m.parameters if "com" in name or "ixy" in name]
    assert m.parameters["link_1_izz"].source == "URDF text"
    assert list(m.points) == ["_0", "link_1"]


def test_names_that_are_taken():
    one = (0, "continuous", (0, 0, 1), (0, 0, 0), (1, 0, 0), 2.0, (0, 0, 0), (0, 0, 0), (1, 1, 1), 0.0)
    names = iter(["x", "a-b", "a.b", "roll", "y_joint"])
    text = re.sub(r"joint-\d", lambda _: next(names), tree_text([one] * 5))
    assert set(read_urdf(text, free_flyer=True).actuators) == {"x_joint", "a_b", "a_b_joint", "roll_joint", "y_joint"}
    assert set(read_urdf(text).actuators) == {"x", "a_b", "a_b_joint", "roll", "y_joint"}


def test_a_floating_joint_is_a_free_flyer():
    text = (OWN / "claptrap.urdf").read_text(encoding="utf-8")
    floating = (
        '<link name="world"/><joint name="base" type="floating"><parent link="world"/><child link="body"/></joint>'
    )
    pair, other = Pair(text, free_flyer=True), read_urdf(text.replace("</robot>", f"{floating}</robot>"))
    assert other.state_names == pair.mechanism.state_names
    d = derive(other)
    pair.function = ca.Function("f", [d.q, d.v, d.u, d.p], [d.free_acceleration, d.M, d.damping])
    assert pair.error(10) < 1e-9


LINK = (
    '<link name="{}"><inertial><origin xyz="0.3 0.1 0"/><mass value="1"/>'
    '<inertia ixx="0.1" iyy="0.12" izz="0.13" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="{}" type="revolute"><origin xyz="0.1 0.2 0.3" rpy="0.1 0.2 0.3"/>'
    '<parent link="{}"/><child link="{}"/>'
    '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="3" velocity="2"/></joint>'
)


@pytest.mark.parametrize("free_flyer", [False, True])
@pytest.mark.parametrize("names", [("world", "a", "b"), ("base", "world", "b"), ("base", "a", "world")])
def test_a_link_may_be_named_world(names, free_flyer):
    base, a, b = names
    links = "".join(map(LINK.format, names))
    text = f'<robot name="r">{links}{JOINT.format("i", base, a)}{JOINT.format("j", a, b)}</robot>'
    pair = Pair(text, free_flyer=free_flyer)
    q, v, _ = pair.states(3)
    d = derive(pair.mechanism)
    acceleration = ca.Function("a", [d.q, d.v, d.u, d.p], [d.free_acceleration])
    other = text.replace('"world"', '"ground"')
    same = derive(read_urdf(other, free_flyer=free_flyer))
    expected = ca.Function("a", [same.q, same.v, same.u, same.p], [same.free_acceleration])
    for k in range(3):
        ours = np.array(acceleration(q[:, k], v[:, k], 0, pair.p))
        assert np.allclose(ours, np.array(expected(q[:, k], v[:, k], 0, pair.p)), rtol=1e-12, atol=1e-12)
        data, (theirs, rates) = pair.model.createData(), pair.configuration(q[:, k], v[:, k])
        M = pin.crba(pair.model, data, theirs)
        assert np.isfinite(ours).all()
        kinetic = float(ca.Function("K", [d.q, d.v, d.p], [d.kinetic])(q[:, k], v[:, k], pair.p))
        assert np.isclose(kinetic, rates @ (np.triu(M) + np.triu(M, 1).T) @ rates / 2)


@pytest.mark.parametrize("name", ["universe", "root_joint", " spaced ", "world"])
@pytest.mark.parametrize("free_flyer", [False, True])
def test_joints_may_have_the_names_of_pinocchio(name, free_flyer):
    def acceleration(joint):
        text = f'<robot name="r">{LINK.format("base")}{LINK.format("a")}{JOINT.format(joint, "base", "a")}</robot>'
        m = read_urdf(text, free_flyer=free_flyer)
        d, random = derive(m), np.random.default_rng(1)
        p = [parameter.value for parameter in m.parameters.values()]
        q, v = random.uniform(-1, 1, m.nq), random.uniform(-1, 1, m.nv)
        return np.array(ca.Function("a", [d.q, d.v, d.u, d.p], [d.free_acceleration])(q, v, 0, p))

    assert np.array_equal(acceleration(name), acceleration("j"))
