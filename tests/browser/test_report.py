"""Reports of real runs in a real browser: what is drawn is where the library's mechanics says, and links lead on."""

import io
import math

import casadi as ca
import numpy as np
import pytest
from PIL import Image

import saltus
from saltus import show
from saltus.gaits import find_gait, run_cycle
from saltus.robots import find_robot
from saltus.show._run_report import add_runs

ROBOTS = {"hopper": "paper", "monkeybot": None, "rimless_wheel": None, "disc": None, "block": "sine", "arm": None}


def run_of(name):
    robot, profile = find_robot(name), ROBOTS[name]
    return saltus.simulate(robot, controller=robot.profiles[profile].controller if profile else None)


def places(run, t):
    """Named points by the mechanism's own expressions, m."""
    m = run.system.mechanism
    function = ca.Function("places", [m.q, m.p], [point.position for point in m.points.values()])
    found = function(run.at(t)[: m.nq], run.system.parameter_values)
    found = found if isinstance(found, (tuple, list)) else [found]
    return {name: np.array(place).ravel() for name, place in zip(m.points, found, strict=True)}


def report_of(runs):
    document = show.Document("a report")
    add_runs(document, runs)
    return document.to_dict()


def seen_by(opened):
    shot = opened.tab.locator("canvas.scene").first.screenshot()
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"), int)


@pytest.mark.parametrize("name", ROBOTS)
def test_what_is_drawn_is_where_mechanics_says(open_page, name):
    run = run_of(name)
    opened = open_page(report_of({"": run}))
    colour = opened.colour_of(0)
    drawn = {point for pair in run.system.skeleton for point in pair}
    for t in np.random.default_rng(3).uniform(run.start_time, run.end_time, 5):
        opened.seek(float(t))
        view = opened.tab.evaluate("(t) => saltus.players[0].scene.viewAt(t)", float(t))
        told = opened.tab.evaluate("(t) => Array.from(saltus.players[0].runs[0].pointsAt(t)).flat()", float(t))
        names = opened.tab.evaluate("() => saltus.players[0].runs[0].names")
        expected = places(run, t)
        assert np.reshape(told, (len(names), -1)) == pytest.approx(np.array([expected[n] for n in names]), abs=2e-6)
        picture = seen_by(opened)
        for point in drawn:
            x, y = expected[point]
            across, down = view["x"] + view["scale"] * x, view["y"] - view["scale"] * y
            assert opened.pixel_of(0, point) == pytest.approx((across, down), abs=0.02)
            found = picture[math.floor(down), math.floor(across)]
            assert np.abs(found - colour).max() <= 2, (point, t)
    opened.screenshot(f"report-{name}")


def test_runs_are_overlaid_and_events_lead_to_their_instants(open_page):
    robot = find_robot("hopper")
    paper = robot.profiles["paper"].controller
    runs = {f"mu {mu}": saltus.simulate(robot.with_parameters(mu=mu), controller=paper) for mu in (0.3, 0.35)}
    opened = open_page(report_of(runs))
    assert opened.colour_of(0) != opened.colour_of(1)
    landing = next(event for event in runs["mu 0.3"].events if event.guard == "P.touch")
    opened.tab.get_by_text("P.touch").first.click()
    opened.settle()
    assert opened.time == pytest.approx(landing.t, abs=1e-12)
    for k, run in enumerate(runs.values()):
        t = min(landing.t, run.end_time)
        told = opened.tab.evaluate("([k, t]) => Array.from(saltus.players[0].runs[k].pointsAt(t)).flat()", [k, t])
        assert told == pytest.approx(np.concatenate(list(places(run, t).values())), abs=2e-6)
    opened.screenshot("report-overlaid")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_fits_a_phone(open_page, scheme):
    opened = open_page(report_of({"": run_of("hopper")}), width=380, height=800, color_scheme=scheme)
    assert opened.overflow() <= 0
    opened.screenshot(f"report-phone-{scheme}")


def test_a_cycle_a_run_of_no_length_and_thousands_of_events_open(open_page):
    document = show.Document("odd ones")
    document.cycles("A cycle", {"": run_cycle(find_gait("swing", find_robot("monkeybot")), {})})
    document.runs("No length", {"": saltus.simulate(find_robot("hopper"), until=0.0)})
    ball = find_robot("bouncing_ball").with_parameters(restitution=1.0)
    many = saltus.simulate(ball, {"y": 0.05}, until=300.0, rtol=1e-6, atol=1e-9)
    assert len(many.events) > 1000
    values = np.where(many.t > 100.0, np.nan, many.t)
    document.runs("Many events", {"": many}, series={"mine (s)": values})
    opened = open_page(document.to_dict())
    assert opened.tab.evaluate("() => saltus.players.length") == 3
    assert opened.tab.locator(".trouble").count() == 0
    for k in range(3):
        opened.tab.evaluate("(k) => saltus.players[k].seek(saltus.players[k].player.end)", k)
    opened.settle()


def test_links_lead_to_pages_beside_this_one_only(open_page):
    document = show.Document("gallery")
    document.links("Robots", [("hopper.html", "hopper", "jumps", None), ("javascript:alert(1)", "bad", "", None)])
    tab = open_page(document.to_dict()).tab
    assert tab.locator("a").count() == 1
    assert tab.locator("a").get_attribute("href") == "hopper.html"
    assert "bad" in tab.locator("section").first.inner_text()
