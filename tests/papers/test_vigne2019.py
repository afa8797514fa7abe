"""The report of [vigne2019]: what stands as printed, what does not, what the controllers do; by other means."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import solve_continuous_are

from saltus.robots import find_robot
from saltus.studies import find_paper, recoverable_intervals
from saltus.studies._paper import VERDICTS
from saltus.studies.papers import _vigne2019_printed as printed
from saltus.studies.papers import vigne2019
from saltus.studies.papers._vigne2019_found import PITCH_STEP, PITCH_TOLERANCE, RETURN_TIME, _matrices_apart, find
from saltus.studies.papers._vigne2019_numbers import numbers

# Notation: [vigne2019, 3.1]
M, L, I, MW, J, R, G = 3.0, 0.5, 1.0, 1.0, 0.1, 0.15, 9.81
PD = np.array([150.0, 1.5])


@pytest.fixture(scope="module")
def found():
    return find(find_robot("claptrap"), 20, lambda *_: None)


@pytest.fixture(scope="module")
def report(found):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vigne2019, "find", lambda *_: found)
        return find_paper("vigne2019").reproduce(detail=20)


@pytest.fixture(scope="module")
def value(report):
    """The corrected value of the number whose place and meaning begin so."""

    def look(where, what):
        (found,) = (n for n in report.numbers if n.where.startswith(where) and n.what.startswith(what))
        return found.corrected

    return look


def accelerations(x, tau, wheel=J):
    """Of theta and psi: (18) with its cosine and the centrifugal term that are left out about zero."""
    theta, _, rate, _ = x
    coupling, both = M * L * R * math.cos(theta), (M + MW) * R**2 + wheel
    H = np.array([[M * L**2 + I, coupling], [coupling, both]])
    return np.linalg.solve(H, [M * G * L * math.sin(theta) - tau, tau + M * L * R * rate**2 * math.sin(theta)])


def flow(law):
    return lambda t, x: [x[2], x[3], *accelerations(x, law(x))]


def solved(law, until, *, events=None):
    return solve_ivp(flow(law), (0, until), [0.2, 0, 0, 0], method="DOP853", rtol=1e-12, atol=1e-13, events=events)


def test_all_figures_and_verdicts(report, tmp_path):
    maps = [f"region-{name}-{ground}" for name in ("pd", "lqr") for ground in ("rolls", "lifts", "slips")]
    names = ["motions", "forces", "friction", *maps, "recoverable-pitches"]
    assert [drawing.name for drawing in report.drawings] == names
    assert {one.verdict for one in (*report.numbers, *report.corrections, *report.drawings)} <= set(VERDICTS)
    assert report.corrections[0].where == "2.2, (7)"
    assert len(report.corrections) == 7
    files = report.save(tmp_path)
    assert len(files) == 2 + 2 * len(names)
    assert json.loads((tmp_path / "vigne2019.json").read_text())["paper"] == "vigne2019"


def test_the_ground_bears_the_robot(report):
    (force,) = (n for n in report.numbers if n.what.startswith("normal force"))
    assert force.corrected == pytest.approx((M + MW) * G, rel=1e-12)
    assert force.printed == pytest.approx(-(M + MW) * G, rel=1e-12)


def test_printed_matrices_are_the_derived_ones(report):
    apart = {n.where: n.corrected for n in report.numbers if "largest difference" in n.what}
    assert set(apart) == {
        "2.2, (9)", "2.2, (10)", "3.1, (11)", "3.1, (13)", "3.1, (14), (15)", "3.1, (17)", "3.1, (18)", "3.2, (21)",
    }  # fmt: skip
    assert max(apart.values()) < 1e-12


def test_plane_and_space_agree(report):
    apart = [n.corrected for n in report.numbers if "difference from the planar robot" in n.what]
    assert len(apart) == 9
    assert max(apart) < 1e-8


def test_controllable_where_the_printed_condition_fails(value):
    """By the matrix [B, A B, ...] made of accelerations that are differentiated here."""
    wheel = M * L * R - (M + MW) * R**2
    step = 1e-6
    down = (accelerations([step, 0, 0, 0], 0, wheel) - accelerations([-step, 0, 0, 0], 0, wheel)) / (2 * step)
    A = np.array([[0, 1, 0, 0], [down[0], 0, 0, 0], [0, 0, 0, 1], [down[1], 0, 0, 0]])
    push = accelerations(np.zeros(4), 1.0, wheel)
    B = np.array([0, push[0], 0, push[1]])
    C = np.column_stack([np.linalg.matrix_power(A, k) @ B for k in range(4)])
    assert value("3.2, (23)", "determinant") == pytest.approx(np.linalg.det(C), rel=1e-6)
    assert value("3.2", "smallest singular value") > 0.1
    closed = printed.determinant({"m": M, "l": L, "I": I, "m_w": MW, "J": wheel, "r": R, "g": G})
    assert closed == pytest.approx(np.linalg.det(C), rel=1e-6)


def test_zero_torque_falls(value):
    def ninety(t, x):
        return x[0] - math.pi / 2

    def floor(t, x):
        return R + math.cos(x[0])

    run = solved(lambda x: 0.0, 1.5, events=(ninety, floor))
    assert value("zero torque", "the body passes") == pytest.approx(run.t_events[0][0], abs=1e-9)
    assert value("zero torque", "the top of the body") == pytest.approx(run.t_events[1][0], abs=1e-9)
    assert run.t_events[0][0] == pytest.approx(0.92, abs=0.005)


def test_the_pd_needs_friction_and_drifts(value):
    a = accelerations([0.2, 0, 0, 0], 30.0)
    along = (M + MW) * R * a[1] + M * L * math.cos(0.2) * a[0]
    normal = (M + MW) * G - M * L * math.sin(0.2) * a[0]
    assert value("PD", "friction") == pytest.approx(along / normal, rel=1e-9)
    end = solved(lambda x: PD @ [x[0], x[2]], 10.0).y[:, -1]
    assert value("PD", "place") == pytest.approx(R * end[1], abs=1e-8)
    assert value("PD", "eigenvalues").startswith("0, 0, -1.104")


def test_the_lqr_comes_back(value):
    down = accelerations([1e-7, 0, 0, 0], 0) / 1e-7
    A = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [down[0], 0, 0, 0], [down[1], 0, 0, 0]])
    B = np.array([[0], [0], *accelerations(np.zeros(4), 1.0)[:, None]])
    P = solve_continuous_are(A, B, np.eye(4), [[0.01]])
    loop = np.linalg.eigvals(A - B @ B.T @ P / 0.01)
    assert value("LQR", "eigenvalues").endswith(f"{loop.real.min():.4g}")
    assert value("LQR", "distance from the start after 10 s") < 1e-4
    assert value("LQR", "distance from the start after 20 s with 20 N m") < 1e-6


def test_upright_it_falls_sideways(value):
    assert value("2.2", "rate at which the upright robot falls sideways") == pytest.approx(2.7173, abs=1e-4)


def test_a_leaning_disc_is_no_ball(report):
    (lean,) = (n for n in report.numbers if n.where == "2.2, contact point")
    # at rest it leans as a pendulum about the line where it touches: the rim of a disc, or the foot of a ball
    low, high = R * math.cos(0.1), R
    about_rim = I + M * (L + R) ** 2 + 0.5 + MW * R**2
    assert lean.corrected == pytest.approx(G * (M * (L + R) + MW * R) * math.sin(0.1) / about_rim, rel=1e-9)
    arm = np.array([R * math.sin(0.1), R * math.cos(0.1)])
    about_foot = I + M * (arm[0] ** 2 + (L + arm[1]) ** 2) + 0.5 + MW * R**2
    assert lean.printed == pytest.approx(M * G * L * math.sin(0.1) / about_foot, rel=1e-9)
    assert f"{low:.6f} m high and not {high:.6f} m" in lean.note


def pitch(report, name, limit, which):
    what = f"pitch at rest, {limit}"
    (found,) = (n for n in report.numbers if n.where == name and n.what.startswith(what) and f": {which}" in n.what)
    return found


NONE = "none up to 1.7"


@pytest.mark.parametrize(("name", "limit", "contact", "idealised"), [
    ("PD", "20 N m", (0.653, 0.654), NONE), ("PD", "no limit", (0.398, 0.511), NONE),
    ("LQR", "20 N m", (0.800, 0.801), (1.042, 1.043)), ("LQR", "no limit", (0.674, 0.675), (1.345, 1.346)),
])  # fmt: skip
def test_the_first_pitch_that_is_lost(report, name, limit, contact, idealised):
    """That of the wheel that may lift off, and of one that cannot; bounds are neighbours of a scan at 0.001 rad.

    Without a limit the PD has gaps that are narrower than the steps of this report, at 0.3984 and at 0.4565 rad.
    """
    found = pitch(report, name, limit, "first lost at")
    assert contact[0] < found.corrected < contact[1]
    assert found.printed == NONE if idealised == NONE else idealised[0] < found.printed < idealised[1]
    assert "at a resolution of 0.003 rad" in found.what


def test_the_narrow_gap_of_the_pd_without_a_limit():
    system = find_robot("segway").with_parameters(torque_limit=math.inf)
    found = recoverable_intervals(
        system, "theta", (0.39, 0.41), resolution=PITCH_STEP, tolerance=PITCH_TOLERANCE, until=RETURN_TIME,
        controller=system.controllers["pd"],
    )  # fmt: skip
    assert [part.returns for part in found.intervals] == [True, False, True]
    assert 0.398 < found.first_lost.value < 0.399
    assert found.first_lost.outcome == "no motion"


def test_the_largest_pitch_that_returns_is_another_number(report):
    for limit in ("20 N m", "no limit"):
        most = pitch(report, "PD", limit, "largest that returns")
        assert (most.corrected, most.printed) == (">= 1.7", ">= 1.7")
    most, lost = (pitch(report, "LQR", "20 N m", which) for which in ("largest that returns", "first lost at"))
    assert 1.012 < most.corrected < 1.013
    assert most.corrected > lost.corrected + 0.1
    # a wheel that always rolls has one interval: both numbers are the two sides of its edge
    assert 0 < lost.printed - most.printed <= PITCH_TOLERANCE
    assert "3 intervals of pitches that return; 1 interval" in most.note


def test_maps_show_where_it_slips_and_where_there_is_no_motion(report):
    drawn = {drawing.name: drawing.figure for drawing in report.drawings}
    for name in ("pd", "lqr"):
        words = {
            ground: " ".join(text.get_text() for text in drawn[f"region-{name}-{ground}"].legends[0].get_texts())
            for ground in ("lifts", "slips")
        }
        assert "no motion" in words["lifts"]
        assert "slipping" in words["slips"]


def test_verdicts_are_found_and_not_told(found):
    def verdicts(of):
        return {(n.where, n.what): n.verdict for n in numbers(of)}

    as_it_is = verdicts(found)
    wrong = replace(
        found, rows_apart=1.0, rates_apart=math.nan, matrices_apart={**found.matrices_apart, "(18)": 0.5},
        linear_apart=0.1, forms_apart=dict.fromkeys(found.forms_apart, 1e-3),
        rolled=replace(found.rolled, B=0 * found.rolled.B), rest_force=(39.24, 39.24),
    )  # fmt: skip
    other = verdicts(wrong)
    changed = {key[0]: other[key] for key in as_it_is if as_it_is[key] != other[key]}
    assert changed == {
        "2.2, (7)": "reproduced", "2.2, (9)": "corrected", "2.2, (10)": "corrected", "3.1, (18)": "corrected",
        "3.2, (21)": "corrected", "3.1": "not reproducible", "3.2": "corrected",
    }  # fmt: skip
    (answer,) = (n.corrected for n in numbers(wrong) if n.what == "is the robot controllable?")
    assert answer.startswith("no, rank 0 of 4")


def test_a_matrix_that_is_printed_wrong_is_not_reproduced(monkeypatch):
    right = printed.rolled
    monkeypatch.setattr(printed, "rolled", lambda p: 2 * right(p))
    assert _matrices_apart(np.random.default_rng(0))["(18)"] > 0.1


def test_the_first_pitch_that_the_lqr_loses_is_where_runs_part(report):
    """Just below it comes upright, just above it falls, by SciPy with the gains of its Riccati equation."""
    down = accelerations([1e-7, 0, 0, 0], 0) / 1e-7
    A = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [down[0], 0, 0, 0], [down[1], 0, 0, 0]])
    B = np.array([[0], [0], *accelerations(np.zeros(4), 1.0)[:, None]])
    K = (B.T @ solve_continuous_are(A, B, np.eye(4), [[0.01]]) / 0.01).ravel()
    found = pitch(report, "LQR", "20 N m", "first lost at").printed  # this one has no contact either

    def floor(t, x):
        return R + math.cos(x[0])

    floor.terminal = True
    for start, back in ((found - 1e-3, True), (found + 1e-3, False)):
        law = flow(lambda x: float(np.clip(-K @ x, -20, 20)))
        run = solve_ivp(law, (0, 10), [start, 0, 0, 0], rtol=1e-8, atol=1e-10, events=floor)
        assert (run.t[-1] == 10.0) == back
