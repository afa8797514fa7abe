"""The dropped rod against closed forms: the first impact under every law, then the fall of its other end."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

import saltus
from saltus.contact import chatterjee, newton, plastic

ANGLES = (0.02, 0.8, 1.2, 1.5)
FRICTIONS = (0.0, 0.05, 0.3, 0.7)


class Rod:
    """A rod by itself: the velocity of its end A, and what an impulse there does."""

    def __init__(self, theta, mass=1.3, length=0.9, shape=1 / 12):
        self.mass, self.length, self.shape, self.theta = mass, length, shape, theta
        self.inertia = shape * mass * length**2
        arm = -0.5 * length * np.array([math.cos(theta), math.sin(theta)])
        self.J = np.array([[1, 0, -arm[1]], [0, 1, arm[0]]])
        self.M = np.diag([mass, mass, self.inertia])
        self.W = self.J @ np.linalg.inv(self.M) @ self.J.T

    def after(self, v, impulse):
        return v + np.linalg.solve(self.M, self.J.T @ impulse)

    def on_the_ground(self, v):
        """State with A on the ground at the origin's height."""
        names = ("x", "y", "theta", "dx", "dy", "dtheta")
        return dict(zip(names, (0, 0.5 * self.length * math.sin(self.theta), self.theta, *v), strict=True))

    def robot(self, **parameters):
        return saltus.robots.rod(mass=self.mass, length=self.length, shape=self.shape, **parameters)


def coulomb_impulse(W, v, target, mu):
    """Every impulse on the cone, each tried: no sliding after it, or sliding against it; the one that fits."""
    fits = []
    stick = np.linalg.solve(W, np.array([0.0, target]) - v)
    if abs(stick[0]) <= mu * stick[1]:
        fits.append(stick)
    for sign in (1.0, -1.0):
        normal = (target - v[1]) / (W[1, 1] - sign * mu * W[1, 0])
        slide = np.array([-sign * mu * normal, normal])
        if normal >= 0 and sign * (v + W @ slide)[0] > 0:
            fits.append(slide)
    assert len(fits) == 1
    return fits[0]


def chatterjee_impulse(W, v, mu, e_n, e_t):
    """The algebraic law by its two impulses: I without friction, II that stops the point."""
    # Notation: [chatterjee1998]
    one = np.array([0.0, -v[1] / W[1, 1]])
    two = -np.linalg.solve(W, v)
    impulse = (1 + e_n) * one + (1 + e_t) * (two - one)
    if abs(impulse[0]) > mu * impulse[1]:
        kappa = mu * (1 + e_n) * one[1] / (abs(two[0]) - mu * (two[1] - one[1]))
        impulse = (1 + e_n) * one + kappa * (two - one)
    return impulse


def velocities(state):
    return np.array([state["dx"], state["dy"], state["dtheta"]])


def strike(rod, system, v):
    """The first event of a run that starts in the impact, and the velocities after it."""
    run = saltus.simulate(system, rod.on_the_ground(v), until=1e-9)
    assert run.events[0].t == 0.0
    return run.events[0], velocities(run.events[0].state_after)


def approaches():
    """Velocities with which the end A comes down, to the left, to the right, and turning either way."""
    return [np.array(v) for v in itertools.product((-2.0, 0.0, 1.5), (-3.0,), (-2.0, 0.0, 1.0))]


@pytest.mark.parametrize("restitution", [0.0, 0.4, 0.9, 1.0])
@pytest.mark.parametrize("mu", [*FRICTIONS, 1.2])
def test_newton(mu, restitution):
    for theta, v in itertools.product(ANGLES, approaches()):
        rod = Rod(theta)
        end = rod.J @ v
        event, measured = strike(rod, rod.robot(mu=mu, restitution=restitution), v)
        impulse = coulomb_impulse(rod.W, end, -restitution * end[1], mu)
        assert measured == pytest.approx(rod.after(v, impulse), abs=1e-12)
        assert [event.impulse["A.t"], event.impulse["A.n"]] == pytest.approx(impulse, abs=1e-12)
        assert [event.impulse["B.t"], event.impulse["B.n"]] == [0.0, 0.0]


@pytest.mark.parametrize("shape", [1e-3, 1 / 12, 0.25])
@pytest.mark.parametrize("mu", [*FRICTIONS, 100.0])
def test_plastic(mu, shape):
    outcomes = set()
    for theta, v in itertools.product(ANGLES, approaches()):
        rod = Rod(theta, shape=shape)
        system = rod.robot(mu=mu, restitution=0.7).with_law(plastic())
        end = rod.J @ v
        if min(rod.W[1, 1] - sign * mu * rod.W[1, 0] for sign in (1, -1)) <= 0:
            # friction so large that one direction of sliding would jam: only what sticks is unique
            stick = np.linalg.solve(rod.W, -end)
            if abs(stick[0]) > mu * stick[1]:
                continue
            impulse = stick
        else:
            impulse = coulomb_impulse(rod.W, end, 0.0, mu)
        event, measured = strike(rod, system, v)
        expected = rod.after(v, impulse)
        assert measured == pytest.approx(expected, abs=1e-12)
        slip = (rod.J @ expected)[0]
        outcomes.add("stick" if abs(slip) < 1e-12 else "reversal" if slip * end[0] < 0 else "slide")
        if abs(slip) > 1e-12:
            # right after it the rod slides that way, or leaves if sliding lifts it
            assert event.mode_after in (f"A:slip{'+' if slip > 0 else '-'} B:open", "A:open B:open")
    # without friction the end may turn round too: the normal impulse moves it sideways
    if mu == 0.0:
        assert outcomes == {"slide", "reversal"}
    elif mu == 100.0:
        assert outcomes == {"stick"}
    elif mu == 0.7 or shape == 1e-3:
        assert "slide" in outcomes
    else:
        assert len(outcomes) >= 2


@pytest.mark.parametrize("e_t", [-1.0, -0.5, 0.0, 0.6, 1.0])
@pytest.mark.parametrize("e_n", [0.0, 0.5, 1.0])
def test_chatterjee(e_n, e_t):
    law = chatterjee(e_n, e_t)
    for mu in FRICTIONS:
        for theta, v in itertools.product(ANGLES, approaches()):
            rod = Rod(theta)
            system = rod.robot(mu=mu).with_law(law)
            impulse = chatterjee_impulse(rod.W, rod.J @ v, mu, e_n, e_t)
            event, measured = strike(rod, system, v)
            assert measured == pytest.approx(rod.after(v, impulse), abs=1e-12)
            assert event.energy_lost > -1e-12


def test_both_ends_have_laws_of_their_own():
    rod = Rod(-0.4)  # B is below
    system = rod.robot(mu=0.0).with_law(newton(1.0), "A").with_law(newton(0.25), "B")
    run = saltus.simulate(system, {"y": 0.8, "theta": -0.4}, until=0.6)
    event = run.events[0]
    assert event.guard == "B.touch"
    arm = 0.5 * rod.length * math.cos(0.4)
    before, after = (state["dy"] + arm * state["dtheta"] for state in (event.state_before, event.state_after))
    assert after == pytest.approx(-0.25 * before, rel=1e-13)


def drop(height, theta, rod, **parameters):
    """A run of the rod dropped at rest with its end A at some height, and the speed at which A strikes."""
    start = {"y": height + 0.5 * rod.length * math.sin(theta), "theta": theta}
    run = saltus.simulate(rod.robot(**parameters), start, until=2.0, rtol=1e-12, atol=1e-13)
    assert run.events[0].t == pytest.approx(math.sqrt(2 * height / 9.81), abs=1e-12)
    return run, math.sqrt(2 * 9.81 * height)


@pytest.mark.parametrize(("height", "theta"), [(0.3, 0.5), (0.05, 1.4), (1.0, 0.05), (0.2, 1.0)])
def test_end_that_slides_freely(height, theta):
    # no force along the ground: the centre falls straight down, at the end A's slip comes to an end too
    rod = Rod(theta)
    run, speed = drop(height, theta, rod, mu=0.0)
    half, m, g = 0.5 * rod.length, rod.mass, 9.81
    spin = half * math.cos(theta) * speed / rod.W[1, 1] / rod.inertia

    def inertia(angle):
        return rod.inertia + m * (half * math.cos(angle)) ** 2

    def rate(angle):
        energy = 0.5 * inertia(theta) * spin**2 + m * g * half * (math.sin(theta) - math.sin(angle))
        return math.sqrt(2 * energy / inertia(angle))

    fall = quad(lambda angle: 1 / rate(angle), 0, theta, epsabs=1e-13, epsrel=1e-13)[0]
    first, second = run.events[:2]
    assert first.state_after["dtheta"] == pytest.approx(-spin, rel=1e-12)
    assert second.guard in ("A.turn", "B.touch")
    assert "B.touch" in second.guards
    assert second.t - first.t == pytest.approx(fall, abs=1e-9)
    assert second.state_before["dtheta"] == pytest.approx(-rate(0.0), rel=1e-9)
    assert abs(run.final["x"]) < 1e-12
    assert max(abs(run.final[name]) for name in ("y", "theta", "dx", "dy", "dtheta")) < 1e-12
    assert run.check().ok


@pytest.mark.parametrize(("height", "theta"), [(0.0, 0.5), (0.0, 1.3), (0.01, 0.6), (0.05, 0.2)])
def test_end_that_pivots(height, theta):
    rod = Rod(theta)
    half, m, g, mu = 0.5 * rod.length, rod.mass, 9.81, 40.0
    about_end = rod.inertia + m * half**2
    speed = math.sqrt(2 * g * height)
    # angular momentum about A is kept
    spin = m * half * math.cos(theta) * speed / about_end

    def rate(angle):
        return math.sqrt(spin**2 + 2 * m * g * half * (math.sin(theta) - math.sin(angle)) / about_end)

    for angle in np.linspace(0, theta, 200):
        turning = -m * g * half * math.cos(angle) / about_end
        along = -half * (math.cos(angle) * rate(angle) ** 2 + math.sin(angle) * turning)
        up = g + half * (math.cos(angle) * turning - math.sin(angle) * rate(angle) ** 2)
        assert up > 0
        assert abs(along) <= mu * up
    # the rate vanishes at the start of a fall from rest: a square root in time, substituted away
    fall = quad(lambda s: 2 * s / rate(theta - s * s), 0, math.sqrt(theta), epsabs=1e-13, epsrel=1e-13)[0]
    if height:
        run, _ = drop(height, theta, rod, mu=mu)
        first = run.events[0].t
        assert run.events[0].state_after["dtheta"] == pytest.approx(-spin, rel=1e-12)
    else:
        options = {"until": 2.0, "rtol": 1e-12, "atol": 1e-13}
        run, first = saltus.simulate(rod.robot(mu=mu), rod.on_the_ground([0, 0, 0]), **options), 0.0
    second = run.events[-1]
    assert run.arc_modes[-2] == "A:stick B:open"
    assert second.guard == "B.touch"
    assert second.t - first == pytest.approx(fall, abs=1e-9)
    # both ends on the ground stop all of it
    assert second.mode_after == "A:stick B:stick"
    assert max(abs(velocities(second.state_after))) < 1e-12
    assert second.energy_lost == pytest.approx(0.5 * about_end * rate(0.0) ** 2, rel=1e-9)
    assert run.check().ok
