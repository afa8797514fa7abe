"""The linter of URDF files: each fault is found, named and judged, and good files have none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import saltus
import saltus.robots
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.mechanism import lint_urdf, read_urdf

FILES = sorted((Path(saltus.robots.__file__).parent / "urdf").glob("*.urdf"))
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="5"/>'


def link(name, mass="1", com="0 0 0", moments=(0.1, 0.1, 0.1), products=(0, 0, 0), more=""):
    xx, yy, zz = moments
    xy, xz, yz = products
    return (
        f'<link name="{name}">{more}<inertial><origin xyz="{com}"/><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="{xy}" ixz="{xz}" iyz="{yz}"/></inertial></link>'
    )


def joint(name, parent, child, kind="revolute", origin="0 0 0", axis="0 0 1", more=LIMIT):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{origin}"/><axis xyz="{axis}"/>{more}</joint>'
    )


def robot(*parts):
    return '<robot name="r">' + "\n".join(parts) + "</robot>"


BASE = '<link name="base"/>'
ROD = link("a", com="0.5 0 0", moments=(0.001, 1 / 12, 1 / 12))
GOOD = robot(BASE, ROD, joint("j", "base", "a"))

# A file, and the level, place and a word of what must be found in it.
FAULTS = {
    "negative mass": (robot(BASE, link("a", "-1"), joint("j", "base", "a")), "error", "link a", "mass is negative"),
    "not positive definite": (
        robot(BASE, link("a", products=(0.2, 0, 0)), joint("j", "base", "a")),
        "error",
        "link a",
        "not positive definite",
    ),
    "triangle": (
        robot(BASE, link("a", moments=(0.1, 0.1, 0.3)), joint("j", "base", "a")),
        "warning",
        "link a",
        "triangle inequality",
    ),
    "no mass at all": (robot(BASE, '<link name="a"/>', joint("j", "base", "a")), "error", "joint j", "moves no mass"),
    "a point mass on its axis": (
        robot(BASE, link("a", moments=(0, 0, 0), com="0 0 1"), joint("j", "base", "a")),
        "error",
        "joint j",
        "moves no mass",
    ),
    "two joints in one": (
        robot(BASE, '<link name="m"/>', ROD, joint("i", "base", "m"), joint("j", "m", "a")),
        "error",
        "robot",
        "move together without",
    ),
    "massless between": (
        robot(BASE, '<link name="m"/>', ROD, joint("i", "base", "m"), joint("j", "m", "a", axis="0 1 0")),
        "warning",
        "link m",
        "has no mass",
    ),
    "inertia without mass": (robot(BASE, link("a", "0"), joint("j", "base", "a")), "error", "link a", "no mass"),
    "inertia without mass on what has some": (
        robot(BASE, ROD, link("b", "0"), joint("j", "base", "a"), joint("k", "a", "b", "fixed", more="")),
        "warning",
        "link b",
        "no mass",
    ),
    "a part that is not positive definite": (
        robot(
            BASE,
            link("a", moments=(1, 1, 1)),
            link("b", products=(0.2, 0, 0)),
            joint("j", "base", "a"),
            joint("k", "a", "b", "fixed", more=""),
        ),
        "warning",
        "link b",
        "not positive definite",
    ),
    "a whole that is not positive definite": (
        robot(
            BASE, ROD, link("b", products=(5, 0, 0)), joint("j", "base", "a"), joint("k", "a", "b", "fixed", more="")
        ),
        "error",
        "link b",
        "not positive definite",
    ),
    "a whole without mass": (
        robot(
            BASE, '<link name="a"/>', link("b", "0"), joint("j", "base", "a"), joint("k", "a", "b", "fixed", more="")
        ),
        "error",
        "link b",
        "no mass",
    ),
    "what does not move has no inertia that could be": (
        robot(link("base", products=(0.2, 0, 0)), ROD, joint("j", "base", "a")),
        "warning",
        "link base",
        "not positive definite",
    ),
    "what does not move has a negative mass": (
        robot(link("base", "-1"), ROD, joint("j", "base", "a")),
        "warning",
        "link base",
        "mass is negative",
    ),
    "products of inertia left out": (
        GOOD.replace(' ixy="0" ixz="0" iyz="0"', ""),
        "warning",
        "link a",
        "has entries left out",
    ),
    "zero inertia": (
        robot(BASE, link("a", moments=(0, 0, 0), com="1 0 0"), joint("j", "base", "a")),
        "warning",
        "link a",
        "inertia is zero",
    ),
    "about the joint": (
        robot(BASE, link("a", com="0.5 0 0", moments=(0.001, 1 / 3, 1 / 3)), joint("j", "base", "a")),
        "warning",
        "link a",
        "about the joint",
    ),
    "longer than its length": (
        robot(
            BASE,
            link("a", com="0.5 0 0", moments=(0.001, 0.4, 0.4)),
            link("b"),
            joint("j", "base", "a"),
            joint("k", "a", "b", origin="1 0 0"),
        ),
        "warning",
        "link a",
        "about the joint",
    ),
    "no inertial": (
        robot(BASE, ROD, '<link name="b"/>', joint("j", "base", "a"), joint("k", "a", "b", "fixed", more="")),
        "note",
        "link b",
        "no inertial",
    ),
    "no limits": (robot(BASE, ROD, joint("j", "base", "a", more="")), "warning", "joint j", "lower and upper"),
    "half a limit": (
        robot(BASE, ROD, joint("j", "base", "a", more='<limit lower="-1" effort="5" velocity="5"/>')),
        "warning",
        "joint j",
        "no limit: upper",
    ),
    "no effort": (
        robot(BASE, ROD, joint("j", "base", "a", more='<limit lower="-1" upper="1" velocity="5"/>')),
        "warning",
        "joint j",
        "effort",
    ),
    "no motor": (
        robot(BASE, ROD, joint("j", "base", "a", more='<limit lower="-1" upper="1" effort="0" velocity="5"/>')),
        "note",
        "joint j",
        "has no motor",
    ),
    "no velocity": (
        robot(BASE, ROD, joint("j", "base", "a", more='<limit lower="-1" upper="1" effort="5"/>')),
        "warning",
        "joint j",
        "velocity",
    ),
    "negative effort": (
        robot(BASE, ROD, joint("j", "base", "a", more='<limit lower="-1" upper="1" effort="-5" velocity="1"/>')),
        "error",
        "joint j",
        "effort is negative",
    ),
    "limits exchanged": (
        robot(BASE, ROD, joint("j", "base", "a", more='<limit lower="1" upper="-1" effort="5" velocity="5"/>')),
        "error",
        "joint j",
        "above its upper",
    ),
    "no room": (
        robot(BASE, ROD, joint("j", "base", "a", more='<limit effort="5" velocity="5" lower="0" upper="0"/>')),
        "warning",
        "joint j",
        "no room",
    ),
    "axis too long": (robot(BASE, ROD, joint("j", "base", "a", axis="0 0 2")), "warning", "joint j", "unit length"),
    "axis zero": (robot(BASE, ROD, joint("j", "base", "a", axis="0 0 0")), "error", "joint j", "axis is zero"),
    "friction that drives": (
        robot(BASE, ROD, joint("j", "base", "a", more=LIMIT + '<dynamics damping="-1"/>')),
        "error",
        "joint j",
        "drive",
    ),
    "name twice": (robot(BASE, ROD, ROD, joint("j", "base", "a")), "error", "link a", "more than once"),
    "no such link": (robot(BASE, ROD, joint("j", "base", "b")), "error", "joint j", "not there"),
    "not joined": (robot(BASE, ROD, link("b"), joint("j", "base", "a")), "error", "robot", "not joined"),
    "two parents": (
        robot(BASE, ROD, link("b"), joint("j", "base", "a"), joint("k", "base", "b"), joint("l", "b", "a")),
        "error",
        "link a",
        "several joints",
    ),
    "loop": (robot(ROD, link("b"), joint("j", "a", "b"), joint("k", "b", "a")), "error", "robot", "loop"),
    "planar": (robot(BASE, ROD, joint("j", "base", "a", "planar")), "error", "joint j", "type cannot be used"),
    "ball": (robot(BASE, ROD, joint("j", "base", "a", "spherical")), "error", "joint j", "type cannot be used"),
    "mimic": (
        robot(BASE, ROD, joint("j", "base", "a", more=LIMIT + '<mimic joint="k"/>')),
        "error",
        "joint j",
        "follows another",
    ),
    "floats on a link": (
        robot(BASE, ROD, link("b"), joint("j", "base", "a"), joint("k", "a", "b", "floating")),
        "error",
        "joint k",
        "floats",
    ),
    "no mesh": (
        robot(
            BASE,
            link("a", more='<visual><geometry><mesh filename="package://p/none.stl"/></geometry></visual>'),
            joint("j", "base", "a"),
        ),
        "warning",
        "link a",
        "cannot be found",
    ),
    "nothing moves": (
        robot(ROD, link("b"), joint("j", "a", "b", "fixed", more="")),
        "error",
        "robot",
        "nothing in it moves",
    ),
    "one link": (robot(ROD), "error", "robot", "nothing in it moves"),
    "nothing": ('<robot name="r"/>', "error", "robot", "no links"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found(name):
    text, level, where, word = FAULTS[name]
    found = [finding for finding in lint_urdf(text) if finding.where == where and word in finding.what]
    assert [finding.level for finding in found][:1] == [level]
    assert found[0].advice


@pytest.mark.parametrize("name", [name for name in FAULTS if FAULTS[name][1] == "error"])
def test_errors_are_refused(name):
    text, _, where, word = FAULTS[name]
    with pytest.raises(InputError, match=where) as refused:
        read_urdf(text)
    assert word in str(refused.value)


@pytest.mark.parametrize("name", [name for name in FAULTS if FAULTS[name][1] != "error"])
def test_warnings_are_built(name):
    assert HybridSystem(read_urdf(FAULTS[name][0])).mechanism.bodies


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_own_files_are_clean(path):
    assert lint_urdf(path, free_flyer=True) == []
    assert lint_urdf(path) == []


def test_good_text_is_clean():
    assert lint_urdf(GOOD) == []


@pytest.mark.parametrize(("effort", "limits"), [("", [float("inf")]), ('effort="0"', []), ('effort="3"', [3.0])])
@pytest.mark.parametrize("kind", ["revolute", "continuous"])
def test_a_motor_is_there_unless_its_effort_is_zero(effort, limits, kind):
    text = robot(BASE, ROD, joint("j", "base", "a", kind, more=f'<limit lower="-1" upper="1" velocity="5" {effort}/>'))
    assert HybridSystem(read_urdf(text)).input_limits.tolist() == limits


def test_what_does_not_move_may_fly():
    text = robot(link("a"))
    (found,) = lint_urdf(text)
    assert "free_flyer=True" in found.advice
    assert "@free" in found.advice
    assert lint_urdf(text, free_flyer=True) == []
    assert read_urdf(text, free_flyer=True).nv == 6
    still = HybridSystem(read_urdf(text, lint=False))
    with pytest.raises(InputError, match=r"nothing in r moves.*free_flyer=True"):
        saltus.simulate(still, until=0.1)
    with pytest.raises(InputError, match="nothing in r moves"):
        saltus.simulate_many(still, np.zeros((2, 0)), until=0.1)
    with pytest.raises(InputError, match="nothing in r moves"):
        saltus.linearize(still)


def test_limits_that_are_errors_are_built_unchecked():
    for name, limit in (("negative effort", 5.0), ("limits exchanged", 5.0)):
        assert HybridSystem(read_urdf(FAULTS[name][0], lint=False)).input_limits.tolist() == [limit]


def test_entries_left_out_are_named():
    (found,) = lint_urdf(GOOD.replace(' ixy="0"', "").replace(' iyz="0"', ""))
    assert found.value == "ixy, iyz"


def test_errors_come_first_and_tell_the_line():
    text = robot(BASE, link("a", "-1"), joint("j", "base", "a", more=""))
    found = lint_urdf(text)
    assert [finding.level for finding in found] == sorted(
        (finding.level for finding in found), key=["error", "warning", "note"].index
    )
    assert found[0].line == 2
    assert "line 2" in str(found[0])


def test_a_right_rod_is_not_suspicious():
    """A uniform rod, a heavy end, and a body whose centre is near its joint, as they must be given."""
    for com, moment in (("0.5 0 0", 1 / 12), ("0.9 0 0", 0.01), ("0.02 0 0", 0.3)):
        text = robot(BASE, link("a", com=com, moments=(0.001, moment, moment)), joint("j", "base", "a"))
        assert lint_urdf(text) == []


def test_meshes_are_looked_for(tmp_path, monkeypatch):
    mesh = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    folder = tmp_path / "hand_description" / "urdf"
    folder.mkdir(parents=True)
    (tmp_path / "hand_description" / "a.stl").write_text("solid")
    (tmp_path / "elsewhere" / "other").mkdir(parents=True)
    (tmp_path / "elsewhere" / "other" / "b.stl").write_text("solid")
    names = ["package://hand_description/a.stl", "../a.stl", "package://other/b.stl", "none.stl"]
    path = folder / "hand.urdf"
    path.write_text(robot(BASE, link("a", more="".join(map(mesh.format, names))), joint("j", "base", "a")))
    (found,) = lint_urdf(path)
    assert found.value == "package://other/b.stl, none.stl"
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "elsewhere"))
    assert lint_urdf(path)[0].value == "none.stl"
    assert lint_urdf(path, meshes=False) == []
    assert read_urdf(path).nv == 1
    with pytest.raises(InputError, match=r"none\.stl"):
        read_urdf(path, meshes="check")
    with pytest.raises(InputError, match="choice of meshes"):
        read_urdf(path, meshes="load")


BROKEN = {
    "malformed": ('<robot name="r">\n<link name="a"></robot>', r"mismatched tag at line 2, column 18"),
    "empty tag": ("<robot", "line 1"),
    "not a robot": ("<sdf/>", "begins with <robot>"),
    "macro": ('<robot name="r" xmlns:xacro="x"><xacro:property name="a"/></robot>', "run xacro"),
    "no number": (robot(link("a", "heavy")), 'value="heavy" of <mass> in line 1 must be a finite number'),
    "two numbers": (robot(link("a", com="1 2")), "must be 3 finite numbers"),
    "infinite": (robot(link("a", "inf")), "finite number"),
    "no name": (robot("<link/>"), "has no name"),
    "no child": (robot(BASE, '<joint name="j" type="fixed"><parent link="base"/></joint>'), "child"),
    "no mass": ('<robot name="r"><link name="a"><inertial/></link></robot>', "no <mass"),
    "no inertia": (
        '<robot name="r"><link name="a"><inertial><mass value="1"/></inertial></link></robot>',
        "no <inertia>",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_text_is_refused(name):
    text, message = BROKEN[name]
    for use in (lint_urdf, read_urdf):
        with pytest.raises(InputError, match=message):
            use(text)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="cannot read URDF file"):
        read_urdf(tmp_path / "none.urdf")
    with pytest.raises(InputError, match="cannot read URDF file"):
        read_urdf(tmp_path)
    (tmp_path / "bytes.urdf").write_bytes(b"\xff\xfe<robot/>")
    with pytest.raises(InputError, match="UTF-8"):
        read_urdf(tmp_path / "bytes.urdf")


UNREAD = {
    "a continuous joint with half a limit": robot(
        BASE, ROD, joint("j", "base", "a", "continuous", more='<limit effort="3"/>')
    ),
    "a weld with a limit": robot(
        BASE, ROD, link("b"), joint("j", "base", "a"), joint("k", "a", "b", "fixed", more='<limit lower="0"/>')
    ),
    "dynamics without numbers": robot(BASE, ROD, joint("j", "base", "a", more=LIMIT + "<dynamics/>")),
    "half a safety controller": robot(
        BASE, ROD, joint("j", "base", "a", more=LIMIT + '<safety_controller soft_lower_limit="-1"/>')
    ),
    "no name": GOOD.replace(' name="r"', ""),
    "spaces around names": robot(link(" base "), ROD, joint("j", "base", "a ")),
    "products of inertia left out": GOOD.replace(' ixy="0" ixz="0" iyz="0"', ""),
    "nothing to be seen": robot(BASE, link("a", more="<visual><geometry/></visual>"), joint("j", "base", "a")),
}


@pytest.mark.parametrize("case", UNREAD)
def test_what_pinocchio_would_not_read_is_read(case, capfd):
    assert not [finding for finding in lint_urdf(UNREAD[case]) if finding.level == "error"]
    mechanism = read_urdf(UNREAD[case])
    assert list(mechanism.coordinates) == ["j"]
    assert mechanism.parameters["a_mass"].value == 1
    assert capfd.readouterr() == ("", "")  # the parser below prints what it does not like


@pytest.mark.parametrize(
    "joints",
    [
        joint("j", "base", "a", "floating", more="").replace("<origin", '<origin rpy="0 0 1"'),
        joint("j", "base", "a", "floating", more="") + link("b") + joint("k", "base", "b", "floating", more=""),
    ],
)
def test_a_link_floats_from_the_origin_alone(joints):
    with pytest.raises(InputError, match="floats where it cannot"):
        read_urdf(robot(BASE, ROD, joints))


def test_an_inertia_of_rounding_is_none():
    text = robot(BASE, link("a", com="1 0 0", moments=(0, 0, 0), products=(2e-35, 0, 0)), joint("j", "base", "a"))
    assert [finding.what for finding in lint_urdf(text)] == ["its inertia is zero"]
