"""URDF files as robots: loaded with stops and friction, run, listed, checked and written on the command line."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import saltus
from saltus.errors import InputError
from saltus.robots import find_robot

ARM = """<robot name="crane">
  <link name="base"/>
  <link name="arm">
    <inertial><origin xyz="0.5 0 0"/><mass value="2"/>
      <inertia ixx="0.01" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="lift" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="0.5" upper="1.5" effort="30" velocity="2"/><dynamics damping="0.1" friction="0.7"/></joint>
</robot>"""
BAD = ARM.replace('value="2"', 'value="-2"')


@pytest.fixture
def crane(tmp_path):
    path = tmp_path / "crane.urdf"
    path.write_text(ARM)
    return path


def test_load_urdf_without_units(crane):
    system = saltus.load_urdf(crane)
    assert system.units == ()
    assert system.skeleton == (("base", "arm"),)
    assert system.values["arm_mass"] == 2
    assert system.input_limits.tolist() == [30]


def test_stops_and_friction(crane):
    system = saltus.load_urdf(crane, stops=True, friction=True)
    (unit,) = system.units
    assert unit.name == "lift"
    assert system.unit_coefficients == [[0.7, 0.5, 1.5]]
    # zero is not in the range
    assert system.start == {"lift": 1.0}
    assert saltus.load_urdf(crane, friction=True).unit_coefficients == [[0.7, -np.inf, np.inf]]
    assert saltus.load_urdf(crane, stops=True).unit_coefficients == [[0.0, 0.5, 1.5]]


@pytest.mark.parametrize(
    ("given", "stops", "start", "end"),
    [
        ('lower="-2" upper="1.2"', [-2, 1.2], {}, 1.2),
        ('upper="1.2"', [-np.inf, 1.2], {}, 1.2),
        ('upper="-2.5"', [-np.inf, -2.5], {"lift": -2.5}, None),
        ('lower="0.5"', [0.5, np.inf], {"lift": 0.5}, None),
    ],
)
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_one_limit_is_one_stop(given, stops, start, end, kind):
    text = ARM.replace('lower="0.5" upper="1.5"', given).replace("revolute", kind)
    system = saltus.load_urdf(text, stops=True)
    assert system.unit_coefficients == [[0.0, *stops]]
    assert {name for name in system.values if name in ("lift_lower", "lift_upper")} == {
        f"lift_{side}" for side, value in zip(("lower", "upper"), stops, strict=True) if np.isfinite(value)
    }
    assert system.start == start
    if end is not None and kind == "revolute":
        run = saltus.simulate(system, until=2.0)
        assert run.final["lift"] == pytest.approx(end, abs=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ('lower="0.5" upper="0.5"', "joint lift has limits 0.5 and 0.5 rad, which leave it no room .* make it fixed"),
        ('lower="1.5" upper="0.5"', "joint lift has limits 1.5 and 0.5 rad, the lower above the upper; exchange them"),
    ],
)
def test_stops_without_room_are_refused(given, message):
    text = ARM.replace('lower="0.5" upper="1.5"', given)
    with pytest.raises(InputError, match=message):
        saltus.load_urdf(text, stops=True, lint=False)
    # nothing stops it: only its friction is a unit
    assert saltus.load_urdf(text, friction=True, lint=False).unit_coefficients == [[0.7, -np.inf, np.inf]]


def test_a_joint_falls_on_its_stop(crane):
    run = saltus.simulate(saltus.load_urdf(crane, stops=True), until=2.0)
    assert [event.guard for event in run.events] == ["lift.upper"]
    assert run.final["lift"] == pytest.approx(1.5, abs=1e-12)
    assert run.check().ok


def test_the_swing_is_that_of_a_pendulum(crane):
    """About its rest, straight down, the arm is a pendulum: 2 pi sqrt((I + m d^2) / (m g d)), damping apart."""
    system = saltus.load_urdf(crane).with_parameters(lift_damping=0.0)
    linear = saltus.linearize(system, at={"lift": np.pi / 2})
    expected = np.sqrt(2 * 9.81 * 0.5 / (0.2 + 2 * 0.5**2))
    assert np.abs(linear.eigenvalues.imag) == pytest.approx([expected] * 2, rel=1e-12)


def test_files_are_robots_by_name(crane):
    assert find_robot(str(crane)).units == ()
    assert find_robot(f"{crane}@stops").units[0].name == "lift"
    assert find_robot(f"{crane}@stops,friction").unit_coefficients == [[0.7, 0.5, 1.5]]
    with pytest.raises(InputError, match="the free link base, joint lift"):  # which has no mass
        find_robot(f"{crane}@free")
    base = re.search("<inertial>.*</inertial>", ARM, re.DOTALL).group()
    crane.write_text(ARM.replace('<link name="base"/>', f'<link name="base">{base}</link>'))
    assert find_robot(f"{crane}@free").mechanism.nv == 7
    assert find_robot(str(crane)) is find_robot(str(crane))
    with pytest.raises(InputError, match="Did you mean 'stops'"):
        find_robot(f"{crane}@stop")
    with pytest.raises(InputError, match="cannot read URDF file"):
        find_robot("nowhere.urdf")


def test_a_changed_file_is_read_again(crane):
    before = find_robot(str(crane))
    crane.write_text(ARM.replace('value="2"', 'value="3"'))
    assert find_robot(str(crane)).values["arm_mass"] == 3
    assert before.values["arm_mass"] == 2


def test_robots_travel_by_their_file(crane):
    system = saltus.load_urdf(crane, stops=True).with_parameters(arm_mass=4.0)
    again = pickle.loads(pickle.dumps(system))
    assert again.values == system.values
    assert again.units[0].name == "lift"
    text = saltus.load_urdf(ARM)  # it has no file, and goes with all that it consists of
    assert pickle.loads(pickle.dumps(text)) == text


def test_unchecked(tmp_path):
    path = tmp_path / "bad.urdf"
    path.write_text(ARM.replace("</joint>", '<mimic joint="other"/></joint>'))
    with pytest.raises(InputError, match="joint lift: follows another"):
        find_robot(str(path))
    assert find_robot(f"{path}@unchecked").mechanism.nv == 1


def test_run_and_list(call, call_json, crane):
    code, result = call_json("run", f"{crane}@stops", "--until", "2")
    assert code == 0
    assert result["robot"] == "crane"
    code, out, _ = call("list", f"{crane}@stops")
    assert code == 0
    assert "lift_upper" in out
    assert "read from crane.urdf" in out


def test_check_tells_what_is_wrong(call, call_json, crane, tmp_path):
    assert call_json("check", crane) == (
        0,
        {"status": "ok", "kind": "urdf", "file": str(crane), "findings": []},
    )
    bad = tmp_path / "bad.urdf"
    bad.write_text(BAD)
    code, result = call_json("check", bad)
    assert code == 1
    assert result["status"] == "failed"
    assert result["findings"][0]["where"] == "link arm"
    assert result["findings"][0]["line"] == 4
    code, out, _ = call("check", bad)
    assert code == 1
    assert "1 error" in out
    assert "mass is negative" in out
    code, _, err = call("run", bad)
    assert code == 2
    assert "mass is negative" in err


@pytest.mark.parametrize("name", ["UP.URDF", "Crane.Urdf"])
def test_endings_in_capitals(call_json, tmp_path, name):
    path = tmp_path / name
    path.write_text(ARM)
    assert call_json("check", path) == (0, {"status": "ok", "kind": "urdf", "file": str(path), "findings": []})
    assert call_json("check", f"{path}@stops")[0] == 0
    assert find_robot(f"{path}@stops").units[0].name == "lift"
    assert pickle.loads(pickle.dumps(saltus.load_urdf(path, stops=True))).units[0].name == "lift"


def test_malformed_files_are_told_of_in_one_line(call, tmp_path):
    bad = tmp_path / "bad.urdf"
    bad.write_text("<robot>\n <link>\n</robot>")
    code, _, err = call("check", bad)
    assert code == 2
    assert "line 3, column 3" in err
    assert err.count("\n") == 1


def test_check_writes_a_report(call, tmp_path):
    bad = tmp_path / "bad.urdf"
    bad.write_text(BAD)
    assert call("check", bad, "--report", "it.html")[0] == 1
    assert "mass is negative" in (tmp_path / "it.html").read_text()


def test_export(call, call_json, tmp_path):
    code, out, _ = call("export", "hopper", "--urdf", "hopper.urdf", "--set", "m=0.5")
    assert code == 0
    assert out.splitlines() == ["wrote hopper.urdf", "left out: GroundPoint P: URDF has no contacts"]
    assert '<mass value="0.5"/>' in Path("hopper.urdf").read_text()
    code, _, err = call("export", "hopper", "--urdf", "hopper.urdf")
    assert code == 2
    assert "--force" in err
    code, result = call_json("export", "hopper", "--urdf", "hopper.urdf", "--force")
    assert (code, result["robot"], result["file"]) == (0, "hopper", "hopper.urdf")
    code, _, err = call("export", "segway_reduced", "--urdf", "it.urdf")
    assert code == 2
    assert "which URDF cannot say" in err
    assert not Path("it.urdf").exists()
    assert call_json("run", "hopper.urdf", "--until", "0.1")[0] == 0
