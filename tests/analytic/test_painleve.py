"""Painleve's paradox over postures: closed forms, and what runs do above the critical friction."""

import json
import math

import numpy as np
import pytest

import saltus
from saltus import robots
from saltus.cli import main
from saltus.errors import InputError
from saltus.hybrid import painleve
from saltus.show import painleve_figure

DEGREES = np.radians(np.arange(-180.0, 181.0, 3.0))


def test_two_hinged_rods_have_their_closed_form():
    # straight, the end of two hinged rods gives way by 1 / (2 m) along and by 7 / (2 m) across:
    # alpha / m = (s^2 + 7 c^2) / 2 - 3 mu s c, which vanishes first at tan^2 = 7
    found = painleve(robots.hopper(), ("theta1", DEGREES), ("theta2", DEGREES), within=())
    assert found.least_critical.value == pytest.approx(math.sqrt(7) / 3, rel=1e-9)
    assert math.tan(found.least_critical.at["theta1"]) ** 2 == pytest.approx(7.0, rel=1e-3)
    straight = found.plus[np.flatnonzero(np.isclose(DEGREES, 0.0))[0]]
    s, c = np.sin(DEGREES), np.cos(DEGREES)
    assert straight == pytest.approx(((s * s + 7 * c * c) / 2 + 3 * 0.3 * s * c) / 0.3, abs=1e-12)
    angles = np.linspace(0, 4, 200_001)
    s, c = np.sin(angles), np.cos(angles)
    least = ((s * s + 7 * c * c) / 2 - 0.9 * np.abs(s * c)).min()
    assert found.smallest.value == pytest.approx(least / 0.3, rel=1e-8)
    assert found.free


def test_one_rod_has_the_known_critical_friction():
    # a uniform rod: mu = 4 / 3 at tan = 2 [painleve1895]
    found = painleve(robots.rod(), ("theta", np.linspace(-3, 3, 200)), ("x", [0.0, 1.0]), unit="A", within=())
    assert found.least_critical.value == pytest.approx(4 / 3, rel=1e-9)
    assert abs(math.tan(found.least_critical.at["theta"])) == pytest.approx(2.0, rel=1e-3)


def test_postures_that_are_not_possible_do_not_count():
    hopper = robots.hopper(mu=1.0)
    everywhere = painleve(hopper, ("theta1", DEGREES), ("theta2", DEGREES), within=())
    upright = painleve(hopper, ("theta1", DEGREES), ("theta2", DEGREES))
    assert not everywhere.free
    assert upright.possible.sum() < everywhere.possible.sum()
    assert upright.smallest.value >= everywhere.smallest.value - 1e-12
    x = hopper.state({**upright.smallest.at})
    values = dict(zip([guard.name for guard in hopper.guards], hopper.kinematics(0.0, x)[1], strict=True))
    assert min(value for name, value in values.items() if name != "folded") >= -1e-9


def test_above_the_critical_friction_a_run_says_so():
    found = painleve(robots.hopper(mu=1.2), ("theta1", DEGREES), ("theta2", DEGREES))
    sliding = {"slip+": 1.0, "slip-": -1.0}[found.smallest.sliding]
    hopper = robots.hopper(mu=1.2)
    run = saltus.simulate(hopper, {**found.smallest.at, "dx": 2.0 * sliding}, until=0.5, raise_errors=False)
    assert run.status.name in ("no_consistent_mode", "several_consistent_modes")
    assert "theta1 = " in run.failure_message()
    below = robots.hopper(mu=0.5)
    assert saltus.simulate(below, {**found.smallest.at, "dx": 2.0 * sliding}, until=0.05).status.name in (
        "finished",
        "terminal",
    )


def test_figure_and_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    figure = painleve_figure(painleve(robots.hopper(mu=1.0), ("theta1", DEGREES), ("theta2", DEGREES)))
    assert figure.axes[0].get_xlabel().endswith("(deg)")
    with pytest.raises(SystemExit) as leaving:
        main(["painleve", "hopper", "--x", "theta1=0:180deg:61", "--y", "theta2=-179deg:179deg:121", "--json"])
    content = json.loads(capsys.readouterr().out)
    assert leaving.value.code == 0
    assert content["paradox"] is False
    assert content["critical_friction"]["value"] == pytest.approx(math.sqrt(7) / 3, rel=1e-6)
    assert all((tmp_path / name).exists() for name in content["files"])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: painleve(robots.pendulum()), "no contacts"),
        (lambda: painleve(robots.hopper(), unit="X"), "ground contact"),
        (lambda: painleve(robots.hopper(), ("theta9", [0, 1])), "theta9"),
        (lambda: painleve(robots.hopper(), ("theta1", [1, 0])), "increase"),
        (lambda: painleve(robots.hopper(), ("theta1", [0, 1]), ("theta1", [0, 1])), "twice"),
        (lambda: painleve(robots.hopper(), within=["nothing"]), "nothing"),
        (lambda: painleve(robots.hopper(), ("theta1", [3.3, 3.4]), ("theta2", [3.3, 3.4])), "no posture"),
    ],
)
def test_what_cannot_be_is_refused(call, says):
    with pytest.raises(InputError, match=says):
        call()
