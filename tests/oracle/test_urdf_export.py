"""Planar robots written as URDF: pinocchio and MuJoCo, which load the files, have the same equations of motion."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from saltus import robots
from saltus.errors import InputError
from saltus.hybrid import HybridSystem, as_urdf, write_urdf
from saltus.mechanism import (
    Cylinder,
    Fixed,
    Floating,
    FreeFlyer,
    Hinge,
    Mechanism,
    Prismatic,
    Revolute,
    lint_urdf,
    read_urdf,
)
from saltus.mechanism._space import rotation

pin = pytest.importorskip("pinocchio")

KNOWN = {"arm", "block", "bouncing_ball", "disc", "double_pendulum"}
KNOWN |= {"hopper", "monkeybot", "pendulum", "rimless_wheel", "rod", "segway"}


def standard(system):
    """Whether a robot is in the plane and has no joints of its own kind."""
    known = (Fixed, Floating, Prismatic, Revolute)
    return all(isinstance(body.joint, known) for body in system.mechanism.bodies.values())


PLANAR = [name for name in robots.robot_names() if standard(robots.find_robot(name))]


def test_all_planar_robots_are_here():
    assert set(PLANAR) >= KNOWN


def test_a_joint_of_its_own_kind_is_refused():
    with pytest.raises(InputError, match="hangs by a joint of its own kind, Rolling"):
        as_urdf(robots.find_robot("segway_reduced"))


def pendulum_on_a_cart():
    """All planar joints but the floating one, with offsets, places and damping."""
    m = Mechanism("cart")
    m.gravity = m.parameter("g", 9.0, "m/s^2")
    length = m.parameter("length", 0.7, "m")
    cart = m.body("cart", Prismatic("s", axis=(0.6, 0.8), at=(0.1, length)), mass=2.0, com=(0.1, 0.2))
    arm = m.body(
        "arm", Revolute("a", at=(length, 0.3), offset=0.5), parent=cart, mass=1.5, inertia=0.2, com=(0.3, -0.1)
    )
    m.weld("tool", arm, (0.2, -length), mass=0.4, inertia=0.05, com=(0.0, 0.1))
    turned = m.body("turned", Fixed((0.1, 0.2), offset=-0.7), parent=arm, mass=0.3, inertia=0.01, com=(0.2, 0.0))
    m.body("tip", Revolute("b", at=(0, -0.4)), parent=turned, mass=0.7, inertia=0.1, com=(0.1, 0.3))
    m.actuator("push", "s", limit=50.0)
    m.actuator("twist", "b", gain=2.0)
    m.damping("a", 0.3)
    return HybridSystem(m)


def systems():
    return {**{name: robots.find_robot(name) for name in PLANAR}, "cart": pendulum_on_a_cart()}


def equations(system, q, v, u):
    """Mass matrix, nonlinear effects, damping, input forces and acceleration of ours."""
    d = system.dynamics
    parts = [d.M, d.h, d.damping, d.S @ d.u, d.free_acceleration]
    return map(np.array, ca.Function("f", [d.q, d.v, d.u, d.p], parts)(q, v, u, system.parameter_values))


@pytest.mark.parametrize("name", systems())
def test_equations_of_motion(name):
    system = systems()[name]
    m = system.mechanism
    model = pin.buildModelFromXML(as_urdf(system).text)
    model.gravity.linear = np.array([0, 0, -float(system.values["g"])])
    data, random = model.createData(), np.random.default_rng(3)
    joints = [model.joints[model.getJointId(coordinate)] for coordinate in m.coordinates]
    places = [joint.idx_v for joint in joints]
    for _ in range(10):
        q, v = random.uniform(-2, 2, m.nq), random.uniform(-4, 4, m.nv)
        u = random.uniform(-3, 3, len(m.actuators))
        theirs, rates = np.zeros(model.nq), np.zeros(model.nv)
        for joint, angle in zip(joints, q, strict=True):
            theirs[joint.idx_q : joint.idx_q + joint.nq] = [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
        rates[places] = v
        M, h, damping, force, acceleration = equations(system, q, v, u)
        mass = np.array(pin.crba(model, data, theirs))
        mass = (np.triu(mass) + np.triu(mass, 1).T)[np.ix_(places, places)]
        effects = pin.nonLinearEffects(model, data, theirs, rates)[places]
        torque = np.zeros(model.nv)
        torque[places] = (force - damping).ravel()
        np.testing.assert_allclose(mass, M, rtol=0, atol=1e-10)
        np.testing.assert_allclose(effects, h.ravel(), rtol=0, atol=1e-10)
        expected = pin.aba(model, data, theirs, rates, torque)[places]
        np.testing.assert_allclose(acceleration.ravel(), expected, rtol=0, atol=1e-10 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("name", ["double_pendulum", "hopper"])
def test_mujoco_loads_it(name):
    mujoco = pytest.importorskip("mujoco", reason="needs MuJoCo, of the bench extra")
    system = robots.find_robot(name)
    m = system.mechanism
    # MuJoCo wants mass everywhere: so little of it that nothing is seen of it here
    made = mujoco.MjModel.from_xml_string(as_urdf(system, dummy_mass=1e-9).text)
    made.opt.gravity[:] = [0, 0, -system.values["g"]]
    data, random = mujoco.MjData(made), np.random.default_rng(5)
    joints = [made.joint(coordinate) for coordinate in m.coordinates]
    for _ in range(5):
        q, v = random.uniform(-2, 2, m.nq), random.uniform(-4, 4, m.nv)
        for joint, angle, rate in zip(joints, q, v, strict=True):
            data.qpos[joint.qposadr], data.qvel[joint.dofadr] = angle, rate
        mujoco.mj_forward(made, data)
        *_, acceleration = equations(system, q, v, np.zeros(len(m.actuators)))
        got = np.array([data.qacc[joint.dofadr[0]] for joint in joints])
        np.testing.assert_allclose(got, acceleration.ravel(), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", PLANAR)
def test_linter_finds_no_error(name):
    found = lint_urdf(as_urdf(robots.find_robot(name)).text)
    assert [finding for finding in found if finding.level == "error"] == []


def test_limits_friction_and_parameters_are_written(tmp_path):
    system = robots.find_robot("arm").with_parameters(viscous=0.25, m1=1.5)
    left_out = write_urdf(system, tmp_path / "arm.urdf")
    root = ElementTree.parse(tmp_path / "arm.urdf").getroot()
    elbow = root.find("joint[@name='theta2']")
    assert elbow.get("type") == "revolute"
    assert elbow.find("limit").get("effort") == "10.0"
    assert float(elbow.find("limit").get("upper")) == system.values["upper_stop"]
    assert elbow.find("dynamics").attrib == {"damping": "0.25", "friction": "0.3"}
    assert root.find("link[@name='upper']/inertial/mass").get("value") == "1.5"
    assert len(root.findall("link/visual")) == 2
    assert [line.split(":")[0] for line in left_out] == ["Grip hand", "Grip tip"]


def test_shapes_are_written():
    """A wheel in the plane: its axis points out of it, which is along -Y in the file."""
    m = Mechanism("wheel")
    body = m.body("b", Floating("x", "y", "a"), mass=1.0, inertia=1.0)
    m.shape(body, Cylinder(0.3, 0.1), at=(0.1, 0.2, 0.3), colour="#ff0000")
    (shape,) = read_urdf(as_urdf(m).text).shapes
    assert shape.form == Cylinder(0.3, 0.1)
    assert shape.at == (0.1, -0.3, 0.2)
    np.testing.assert_allclose(shape.turn @ [0, 0, 1], [0, -1, 0], atol=1e-15)
    assert shape.colour == (1, 0, 0, 1)


def test_visuals_lie_along_the_links():
    root = ElementTree.fromstring(as_urdf(robots.find_robot("double_pendulum")).text)
    for link, length in (("link1", "L1"), ("link2", "L2")):
        cylinder = root.find(f"link[@name='{link}']/visual/geometry/cylinder")
        if cylinder is not None:
            assert float(cylinder.get("length")) == pytest.approx(robots.find_robot("double_pendulum").values[length])
    assert len(root.findall("link/visual")) == 2


@pytest.mark.parametrize("name", ["claptrap", "claptrap_arms"])
def test_robots_in_space_come_back(name, tmp_path):
    """Read, written and read again: the same masses and the same joints."""
    path = Path(robots.__file__).parent / "urdf" / f"{name}.urdf"
    first = read_urdf(path)
    write_urdf(first, tmp_path / "again.urdf")
    again = read_urdf(tmp_path / "again.urdf")
    assert again.coordinates == first.coordinates
    values = {key: parameter.value for key, parameter in first.parameters.items()}
    assert {key: again.parameters[key].value for key in values} == values
    assert [(shape.body, shape.form) for shape in again.shapes] == [(shape.body, shape.form) for shape in first.shapes]
    for one, other in zip(again.shapes, first.shapes, strict=True):
        np.testing.assert_allclose(one.turn, other.turn, atol=1e-15)


@pytest.mark.parametrize("name", ["double_pendulum", "hopper", "monkeybot"])
def test_joints_without_motors_come_back_without(name):
    """Their coordinates name the motors in a file: the double pendulum has one at the elbow, theta2."""
    system = robots.find_robot(name)
    driven = {actuator.coordinate for actuator in system.mechanism.actuators.values()}
    assert set(robots.load_urdf(as_urdf(system).text).mechanism.actuators) == driven


def test_what_cannot_be_written_is_refused(tmp_path):
    m = Mechanism("spring")
    m.body("b", Prismatic("s"), mass=1.0)
    m.potential(m.q[0] ** 2)
    with pytest.raises(InputError, match="springs"):
        write_urdf(m, tmp_path / "a.urdf")
    m = Mechanism("long")
    m.body("b", Prismatic("s", axis=(2, 0)), mass=1.0)
    with pytest.raises(InputError, match="axis of s"):
        write_urdf(m, tmp_path / "a.urdf")
    with pytest.raises(InputError, match="dummy_mass"):
        write_urdf(robots.find_robot("rod"), tmp_path / "a.urdf", dummy_mass=-1)
    with pytest.raises(InputError, match="file type"):
        write_urdf(robots.find_robot("rod"), tmp_path / "a.xml")
    assert not list(tmp_path.iterdir())


def test_one_body_may_be_free(tmp_path):
    m = Mechanism("two", dimension=3)
    for prefix in ("a_", "b_"):
        m.body(f"{prefix}ball", FreeFlyer(prefix), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(InputError, match="a_ball, b_ball are free-flyers"):
        write_urdf(m, tmp_path / "two.urdf")
    assert not list(tmp_path.iterdir())


def test_meshes_are_left_out():
    mesh = '<{0}><geometry><mesh filename="{1}.stl"/></geometry></{0}>'
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(
        f'<link name="{name}">{inertial}{mesh.format("visual", name)}{mesh.format("collision", name)}</link>'
        for name in ("a", "b")
    )
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    text = f'<robot name="r">{links}{joint}</robot>'
    assert as_urdf(read_urdf(text)).left_out == ["2 meshes of a, b: a mesh is not kept when it is read"]
    one = text.replace(mesh.format("visual", "b") + mesh.format("collision", "b"), "")
    assert as_urdf(read_urdf(one)).left_out == ["1 mesh of a: a mesh is not kept when it is read"]


def test_a_thruster_is_left_out():
    m = Mechanism("rocket")
    m.gravity = 9.81
    body = m.body("b", Prismatic("s", axis=(0, 1)), mass=1.0)
    m.thruster("jet", m.point("nozzle", body), (0, 1))
    assert as_urdf(m).left_out == ["thruster jet: URDF has motors of joints only"]


def test_names_and_turns_that_could_be_lost():
    m = Mechanism("r", dimension=3)
    m.gravity = m.parameter("g", 9.81, "m/s^2")
    angle = m.parameter("angle", 0.3, "rad")
    first = m.body("a", Hinge("b_fixed", (0, 1, 0), turn=rotation((0, 0, 1), angle)), mass=1, inertia=(0.1, 0.2, 0.25))
    m.weld("b", first, (0.1, 0, 0.2), mass=1, inertia=(0.1, 0.1, 0.1))
    model = pin.buildModelFromXML(as_urdf(m).text)
    assert list(model.names) == ["universe", "b_fixed"]
    assert np.allclose(model.jointPlacements[1].rotation[:2, 0], [np.cos(0.3), np.sin(0.3)])


def test_no_body_is_the_world():
    m = Mechanism("r")
    with pytest.raises(InputError, match="cannot be named 'world'"):
        m.body("world", Revolute("a"), mass=1.0, inertia=0.1)


def test_a_root_named_world_is_written_and_read_again():
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    joint = '<joint name="j" type="continuous"><parent link="world"/><child link="a"/></joint>'
    text = f'<robot name="r"><link name="world"/><link name="a">{inertial}</link>{joint}</robot>'
    for _ in range(3):
        m = read_urdf(text)
        assert list(m.coordinates) == ["j"]
        assert "a_mass" in m.parameters
        text = as_urdf(m).text
