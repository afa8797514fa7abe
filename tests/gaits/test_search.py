"""The search for gaits that are stable by the clock alone, and what it finds in the robot's own run."""

import numpy as np
import pytest

from saltus import _checkpoint, robots, simulate
from saltus._records import load_record
from saltus.control import Timed
from saltus.errors import InputError, SaltusError
from saltus.gaits import climb, find_gait, find_stable, recovers, run_cycle, run_many, solve, spectral_radius
from saltus.gaits._search_file import SearchFile
from saltus.gaits.types import pieces


@pytest.fixture(scope="module")
def found():
    return find_stable(pieces.make(robots.monkeybot(), pieces=1), seed=1, cycles=60)


def test_a_constant_torque_makes_a_stable_gait(found):
    assert found.radius < 0.8
    assert found.radius == pytest.approx(
        spectral_radius(run_cycle(found.fixed.gait, found.fixed.start, found.fixed.knobs, derivatives=True)), rel=1e-6
    )
    assert found.recovery.ok
    assert abs(found.recovery.drift) < 1e-9
    assert abs(found.fixed.travel[0]) > 0.3
    times = np.cumsum(list(found.fixed.cycle.durations.values())) / 1e-3
    assert times == pytest.approx(np.round(times), abs=1e-9)  # whole milliseconds


def test_random_differences_die_out(found):
    other = recovers(found.fixed, tries=20, cycles=80, seed=5)
    assert other.ok
    assert other.cycles == 80
    assert np.abs(other.shift).max() < 0.1


def test_the_whole_robot_does_the_same_for_many_cycles(found):
    # four coordinates, grips that close and open by the clock, samples of a millisecond
    robot, fixed = robots.monkeybot(), found.fixed
    start = {name: value + 0.02 for name, value in fixed.start.items()}
    cycles = 40
    controller = Timed.of(fixed.cycle, cycles=cycles, period=1e-3)
    end = (cycles - 0.5) * fixed.cycle.period
    run = simulate(robot, robot.consistent(start), controller=controller, until=end)
    assert run.check().ok
    swaps = [
        event
        for event in run.events
        if event.mode_before.startswith("A:closed") != event.mode_after.startswith("A:closed")
    ]
    assert len(swaps) == cycles - 1
    # the height at which hands are exchanged settles, and the robot goes on sideways
    heights = np.array([event.state_before["y"] if "A:closed" in event.mode_before else np.nan for event in swaps])
    heights = heights[np.isfinite(heights)]
    assert np.abs(np.diff(heights)[-3:]).max() < 1e-6
    x = [event.state_before["x"] for event in swaps if "A:closed" in event.mode_before]
    assert x[-1] - x[-2] == pytest.approx(2 * fixed.travel[0], abs=1e-6)


def test_an_unstable_gait_does_not_recover():
    fixed = solve(find_gait("swing", robots.monkeybot()), {"dtheta1": 0.75, "dtheta2": 11.08}, {"motor_torque": 3.0})
    timed = fixed.timed
    cycle = run_cycle(timed, derivatives=True)
    from saltus.gaits import FixedPoint

    lost = recovers(FixedPoint(timed, cycle.start, cycle.knobs, cycle, 0), tries=5, cycles=30, size=0.1)
    assert not lost.ok


def test_a_search_without_success_says_so():
    with pytest.raises(SaltusError, match="none of 1 random starts"):
        find_stable(pieces.make(robots.monkeybot(), pieces=1), radius=0.1, starts=1)
    with pytest.raises(InputError, match="draw its starts"):
        find_stable(find_gait("swing", robots.monkeybot()))


@pytest.mark.parametrize("kind", ["pieces", "climb", "ricochet", "two_swings"])
def test_starts_are_drawn_within_the_limit_of_the_motor(kind):
    gait = find_gait(kind, robots.monkeybot(torque_limit=0.1))
    torques = [name for name in gait.knobs if name.endswith("_torque")]
    assert all(gait.knobs[name].lower == -0.1 and gait.knobs[name].upper == 0.1 for name in torques)
    drawn = [gait.draw(np.random.default_rng(seed)) for seed in range(20)]
    assert max(abs(one[name]) for one in drawn for name in torques) == 0.1
    cycles = run_many(
        gait,
        {name: np.array([one[name] for one in drawn]) for name in gait.free},
        {name: np.array([one[name] for one in drawn]) for name in gait.knobs},
    )
    assert cycles.good.any()


def test_a_strong_motor_changes_no_start():
    gaits = [find_gait("pieces", robots.monkeybot(torque_limit=limit)) for limit in (2.0, 20.0)]
    draws = [[gait.draw(np.random.default_rng(seed)) for seed in range(50)] for gait in gaits]
    assert draws[0] == draws[1]
    assert draws[0][3]["piece2_torque"] == -0.1406437090756752


def test_a_search_needs_a_motor():
    with pytest.raises(InputError, match="needs a motor"):
        find_stable(pieces.make(robots.monkeybot(torque_limit=0.0)), starts=1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"pieces": 0}, "pieces must be a whole number of at least 1, got 0"),
        ({"pieces": 2.5}, "pieces must be a whole number"),
        ({"swings": 0}, "swings must be"),
        ({"flights": 3}, "of 3 pieces 3 cannot be flights"),
        ({"torque_limit": -1.0}, "torque_limit must be positive and finite, got -1.0"),
        ({"torque_limit": float("nan")}, "torque_limit must be positive"),
    ],
)
def test_pieces_that_cannot_be(options, says):
    with pytest.raises(InputError, match=says):
        pieces.make(robots.monkeybot(), **options)


def test_a_gait_type_is_for_its_robot():
    with pytest.raises(InputError, match="gait swing is for monkeybot, not for hopper"):
        find_gait("swing", robots.hopper())
    with pytest.raises(InputError, match="needs a robot"):
        find_gait("swing", 3)
    assert find_gait("swing", "monkeybot").robot.name == "monkeybot"


def test_a_start_is_numbers():
    with pytest.raises(InputError, match="dtheta1 must be a number, got 'a'"):
        run_cycle(find_gait("swing", "monkeybot"), {"dtheta1": "a"})


# -- resumed ------------------------------------------------------------------------------------------


class Killed(Exception):
    """The end of a process, as far as a test goes."""


def stored_often(monkeypatch):
    monkeypatch.setattr(_checkpoint, "LONGEST", 0.0)
    monkeypatch.setattr(_checkpoint, "SHARE", 1.0)


def all_of(gait):
    return gait.to_dict() | {"shift": gait.recovery.shift.tolist(), "end": dict(gait.fixed.cycle.final)}


def killed_now_and_then(monkeypatch, path, work, every):
    """Work that is killed after so many checkpoints, and resumed, until it is done; and how often it was killed."""
    store, count, places = SearchFile._save, [0], []

    def killing(self):
        store(self)
        count[0] += 1
        if count[0] % every == 0:
            raise Killed

    monkeypatch.setattr(SearchFile, "_save", killing)
    while len(places) < 50:
        try:
            return work(resume=path.exists()), places
        except Killed:
            places.append(load_record(path, "saltus gait search 1"))
    raise AssertionError("it gets no further")


def test_whenever_a_search_is_killed_it_is_resumed_bit_for_bit(tmp_path, monkeypatch):
    gait, path = pieces.make(robots.monkeybot(), pieces=1), tmp_path / "part.json"
    options = {"seed": 1, "cycles": 60, "tries": 5}
    whole = find_stable(gait, **options)
    high = climb(whole, most=0.02, step=0.02, tries=5, cycles=60)
    stored_often(monkeypatch)

    def work(resume):
        found = find_stable(gait, **options, checkpoint=path, resume=resume)
        return found, climb(found, most=0.02, step=0.02, tries=5, cycles=60, checkpoint=path, resume=resume)

    (found, higher), places = killed_now_and_then(monkeypatch, path, work, every=11)
    assert all_of(found) == all_of(whole)
    assert all_of(higher) == all_of(high)
    assert len(places) > 3
    # in the middle of descents of the search
    assert any(place["climbing"] is None and place["searching"]["place"]["done"] > 0 for place in places)


def test_a_search_that_ctrl_c_stops_is_resumed(tmp_path):
    gait, path = pieces.make(robots.monkeybot(), pieces=1), tmp_path / "part.json"

    def press(number, _):
        if number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_stable(gait, seed=1, radius=0.1, starts=3, checkpoint=path, progress=press)
    seen = []
    with pytest.raises(SaltusError, match="none of 2 random starts"):
        find_stable(
            gait, seed=1, radius=0.1, starts=2, checkpoint=path, resume=True, progress=lambda k, _: seen.append(k)
        )
    assert 2 in seen
    with pytest.raises(InputError, match="seed = 1, and wanted is 2"):
        find_stable(gait, seed=2, radius=0.1, starts=2, checkpoint=path, resume=True)
    other = pieces.make(robots.monkeybot(g=9.0), pieces=1)
    with pytest.raises(InputError, match="parameters"):
        find_stable(other, seed=1, radius=0.1, starts=2, checkpoint=path, resume=True)
    with pytest.raises(InputError, match="from which checkpoint"):
        find_stable(gait, resume=True)
    with pytest.raises(InputError, match="No such file"):
        find_stable(gait, checkpoint=tmp_path / "none.json", resume=True)
