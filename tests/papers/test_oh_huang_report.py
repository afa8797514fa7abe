"""The report of [oh_huang]: every number with a verdict, the corrections, and where 0.1336 m came from."""

import json

import numpy as np
import pytest

from saltus import registry
from saltus.robots import find_robot
from saltus.studies import find_paper
from saltus.studies._paper import VERDICTS
from saltus.studies.papers._oh_huang_found import Model
from saltus.studies.papers._oh_huang_numbers import LOGGED, LOGGED_LATER
from saltus.studies.papers._oh_huang_program import Program, matrices


@pytest.fixture(scope="module")
def report():
    return find_paper("oh_huang").reproduce(detail=40)


@pytest.fixture(scope="module")
def numbers(report):
    return {number.what: number for number in report.numbers}


def test_all_figures_and_verdicts(report, tmp_path):
    names = ["positions", "angles", "normal-force", "force-ratio", "snapshots", "laws", "alpha"]
    assert [drawing.name for drawing in report.drawings] == names
    assert {one.verdict for one in (*report.numbers, *report.corrections, *report.drawings)} <= set(VERDICTS)
    assert len(report.corrections) == 10
    files = report.save(tmp_path)
    assert len(files) == 2 + 2 * len(names)
    assert json.loads((tmp_path / "oh_huang.json").read_text())["paper"] == "oh_huang"
    assert (tmp_path / "oh_huang.html").read_text().count("data:image/png;base64,") == len(names)


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("distance of the jump", 0.125418416),
        ("stick ends, slip- begins", 0.045703442),
        ("slip- ends, flight begins", 0.06),
        ("flight ends, slip+ begins", 0.354077811),
        ("Q strikes the ground", 0.408380522),
        ("kappa of the impact", 0.062695546),
        ("normal force where slip begins", 21.475837199),
    ],
)
def test_corrected_values(numbers, what, value):
    assert numbers[what].corrected == pytest.approx(value, abs=6e-10)


def test_force_at_the_start(numbers):
    force = numbers["contact force at the start"]
    assert force.corrected == pytest.approx((0.714282502, 7.884463248), rel=1e-8)
    assert force.printed[1] < 0.5 * force.corrected[1]


def test_the_foot_sticks_until_the_cone_is_reached(numbers):
    assert numbers["largest ratio of forces while it sticks"].corrected == pytest.approx(0.3, abs=1e-12)


def test_energy_closes(numbers):
    work, friction, impact, gained = (
        numbers[what].corrected
        for what in (
            "work of the motor", "lost to friction", "lost in the impact", "gained by the robot until Q strikes",
        )
    )  # fmt: skip
    assert work - friction - impact == pytest.approx(gained, abs=1e-12)


def test_no_paradox(numbers, report):
    least = numbers["least alpha of all postures at μ = 0.3"].corrected
    assert least == pytest.approx(1.4465134122, abs=1e-9)
    (paradox,) = (one for one in report.corrections if "Painlevé" in one.where)
    assert f"alpha is at least {least:.6g} 1/kg, whatever the posture" in paradox.right
    assert 0.3 < numbers["friction from which there is a paradox"].corrected < 1


def test_postures_respect_the_rules(numbers):
    assert numbers["θ1 + θ2/2 along the jump"].corrected == pytest.approx((55.0, 145.2184483), abs=1e-6)
    assert "no rule is broken" in numbers["θ1 + θ2/2 along the jump"].note


def test_published_distance_is_found_again(numbers):
    both = numbers["with both"]
    assert round(both.corrected, 4) == 0.1336
    assert "1 rounds to the published digits" in both.note
    for alone in ("with gravity 9.8 everywhere", "with moments of inertia twice as large in the impact law"):
        assert round(numbers[alone].corrected, 4) != 0.1336


def test_the_program_gives_the_entries_of_its_log():
    """To what rounding leaves of its steps.

    Half a unit in the last place of M, B and G, at random, moves the distance by up to 1.4e-10 m: the lengths of the
    steps follow from errors near 1e-12. Its own error, from the tolerance of 1e-6 while the foot slides, is 4e-5 m.
    """
    assert Program(2.0).run().distance == pytest.approx(LOGGED, abs=1e-9)
    assert Program(1.0).run().distance == pytest.approx(LOGGED_LATER, abs=1e-9)
    assert abs(Program(1.0, slip_tolerance=1e-12).run().distance - LOGGED_LATER) > 1e-5


def test_the_program_with_the_right_gravity_and_inertia_makes_the_right_jump():
    program = Program(1.0, g=10.0, slip_tolerance=1e-12).run()
    assert program.distance == pytest.approx(0.125418416157, abs=1e-9)
    assert program.times == pytest.approx([0.045703441533, 0.06, 0.354077811277, 0.408380521943], abs=1e-9)
    assert program.kappa == pytest.approx(0.062695545845, abs=1e-9)


def test_printed_matrices_are_the_model():
    model, draw = Model(find_robot("hopper")), np.random.default_rng(1)
    for _ in range(20):
        x = draw.uniform(-3, 3, 8)
        M, h = model(x)
        printed, B, G = matrices(x, 10.0)
        assert np.abs(M - printed).max() < 1e-14
        assert np.abs(h - B - G).max() < 1e-13


def test_relation_of_the_torque(numbers):
    assert numbers["τ = b θ̈12 + a along the jump: largest difference from the torque"].corrected < 1e-12
    least, largest = numbers["torque for an acceleration of θ12 in flight, per rad/s²"].corrected
    assert 0 < least < largest < 0.009


def test_helper_is_no_paper():
    assert "oh_huang" in registry.names("papers")
    assert not any(name.startswith("_") for name in registry.names("papers"))
