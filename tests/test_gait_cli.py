"""Gaits, maps and papers on the command line."""

import json
from pathlib import Path

import pytest
import xarray
from records import reworded

from saltus import robots
from saltus._records import load_record, save_record
from saltus.gaits import _search, find_gait, run_cycle

START = "dtheta1=0.902,dtheta2=10.935"


def test_one_cycle(call):
    code, out, _ = call("gait", "monkeybot", "--start", START, "--json")
    content = json.loads(out)
    assert code == 0
    assert content["error"] == pytest.approx(1.559401e-4, rel=1e-5)
    assert content["t_switch"] == pytest.approx(0.427095716, abs=1e-8)
    assert content["t_motor"] == pytest.approx(0.024933325, abs=1e-8)
    assert content["period"] == pytest.approx(0.861128348, abs=1e-8)
    assert set(content["final"]) == {"theta1", "theta2", "dtheta1", "dtheta2"}


def test_one_cycle_for_people(call):
    code, out, _ = call("gait", "monkeybot", "--start", "dtheta1=0.768", "--start", "dtheta2=11.094")
    assert code == 0
    assert "0.423641719" in out
    assert "0.000452350" in out


def test_fixed_point(call):
    code, out, _ = call(
        "gait", "monkeybot", "--solve", "--guess", "dtheta1=0.75,dtheta2=11.08", "--set", "motor_torque=3.0", "--json"
    )
    content = json.loads(out)
    assert code == 0
    assert content["residual"] < 1e-9
    assert content["fixed_point"]["dtheta1"] == pytest.approx(0.74984063, abs=1e-7)
    assert content["grazing"] is False
    assert len(content["multipliers"]) == 3
    assert len(content["multipliers_timed"]) == 4
    assert content["multipliers"][0] == pytest.approx(-3.23906533, rel=1e-5)


def test_multipliers_of_a_grazing_map_are_not_told(call, tmp_path):
    # with the torque of the paper, a search by state ends in the gait that loses nothing
    solve = ("gait", "monkeybot", "--solve", "--guess", "dtheta1=1.4,dtheta2=10.4")
    code, out, _ = call(*solve, "--json", "--report", tmp_path / "gait.html")
    assert (tmp_path / "gait.html").exists()  # though a phase that takes no time has no run
    content = json.loads(out)
    assert content["residual"] < 1e-10
    assert code == 0
    assert content["multipliers"] is None
    assert content["grazing"] is True
    assert "touching" in content["about_multipliers"]
    assert len(content["multipliers_timed"]) == 4


def test_complex_multipliers_are_pairs():
    import numpy as np

    from saltus.cli._gaits import _complex

    assert _complex(np.array([1 + 2j, 1 - 2j, 0.5 + 0j])) == [[1.0, 2.0], [1.0, -2.0], 0.5]


def test_iterate(call, tmp_path):
    code, out, _ = call("gait", "monkeybot", "--iterate", "5", "--period", "0.001", "--out", "new/folder", "--json")
    content = json.loads(out)
    assert code == 0
    assert content["passed"] == 5
    assert [row["cycle"] for row in content["cycles"]] == [1, 2, 3, 4, 5]
    assert len(content["files"]) == 8
    assert all((tmp_path / path).stat().st_size > 1000 for path in content["files"])
    code, out, _ = call("gait", "monkeybot", "--iterate", "30")
    assert code == 0
    assert "lost in cycle 19: theta1 = 0 is not passed any more" in out


def test_map(call, tmp_path):
    code, out, _ = call(
        "map", "monkeybot", "--x", "dtheta1=0:4:12", "--y", "dtheta2=6:14:10", "--set", "motor_torque=0.7",
        "--out", "m", "--json",
    )  # fmt: skip
    content = json.loads(out)
    assert code == 0
    assert content["cells"] == 120
    assert content["good"] + sum(content["reasons"].values()) == 120
    assert {path.rsplit(".", 1)[1] for path in content["files"]} == {"nc", "mat", "png", "svg"}
    with xarray.open_dataset(tmp_path / content["files"][0], engine="h5netcdf") as data:
        assert data.error.shape == (10, 12)
        assert data.attrs["knob_motor_torque"] == 0.7


def test_map_where_nothing_ends(call):
    code, out, _ = call("map", "monkeybot", "--x", "dtheta1=0:0.1:2", "--y", "dtheta2=0:1:2", "--json")
    content = json.loads(out)
    assert code == 0
    assert content["good"] == 0
    assert content["minima"] == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("gait", "monkeybot", "--start", "dtheta1=0,dtheta2=3"), "it begins with too little energy"),
        (("gait", "monkeybot", "--set", "motor_torque=0"), "its inputs are zero"),
        (("gait", "monkeybot", "--from", "nowhere.json"), "cannot read a gait"),
        (("gait", "monkeybot", "--start", "dtheta9=0"), "dtheta"),
        (("gait", "monkeybot", "--start", "theta1=1"), "theta1 = 0"),
        (("gait", "monkeybot", "--start", "dtheta1=nan"), "finite"),
        (("gait", "monkeybot", "--set", "torque_limit=-1"), "at least 0"),
        (("gait", "monkeybot", "--set", "motor_torque=-1"), "at least 0"),
        (("gait", "monkeybot", "--set", "motor_torque=30"), "beyond its limit"),
        (("gait", "monkeybot", "--set", "motr_torque=1"), "motor_torque"),
        (("gait", "monkeybot", "--solve", "--set", "m1=2"), "m1 = 2 would be 1"),
        (("gait", "monkeybot", "--type", "walk"), "swing"),
        (("gait", "monkeybot", "--guess", START), "--solve"),
        (("gait", "monkeybot", "--solve", "--start", START), "--guess"),
        (("gait", "monkeybot", "--solve", "--minimise"), "not both"),
        (("gait", "monkeybot", "--period", "0.001"), "--iterate"),
        (("gait", "monkeybot", "--iterate", "0"), "positive integer"),
        (("gait", "monkeybot", "--iterate", "3", "--period", "-1"), "positive"),
        (("gait", "hopper"), "no gait types"),
        (("gait", "monkybot"), "monkeybot"),
        (("map", "monkeybot", "--x", "dtheta1=4:0:20", "--y", "dtheta2=6:14:20"), "smaller to a greater"),
        (("map", "monkeybot", "--x", "dtheta1=0:4:1", "--y", "dtheta2=6:14:20"), "at least two"),
        (("map", "monkeybot", "--x", "dtheta1=0:4:90000", "--y", "dtheta2=6:14:90000"), "at most 20,000,000 cells"),
        (("map", "monkeybot", "--x", "dtheta1=0:4:9000000", "--y", "dtheta2=6:14:2"), "at most a million"),
        (("map", "monkeybot", "--x", "dtheta1=1:1:9", "--y", "dtheta2=6:14:20"), "smaller to a greater"),
        (("map", "monkeybot", "--x", "dtheta1=0:4", "--y", "dtheta2=6:14:20"), "from:to:count"),
        (("map", "monkeybot", "--x", "dtheta1=nan:4:9", "--y", "dtheta2=6:14:20"), "finite"),
        (("map", "monkeybot", "--x", "dtheta2=0:4:9", "--y", "dtheta2=6:14:20"), "twice"),
        (("map", "monkeybot", "--x", "speed=0:4:9", "--y", "dtheta2=6:14:20"), "unknown quantity"),
        (("map", "monkeybot", "--x", "torque_limit=-4:-1:9", "--y", "dtheta2=6:14:20"), "at least 0"),
        (("map", "monkeybot", "--x", "g=9:10:3", "--y", "dtheta2=6:14:20", "--set", "g=9"), "varied"),
        (("map", "monkeybot", "--x", "dtheta1=0:4:9", "--y", "dtheta2=6:14:20", "--above", "0"), "positive"),
        (("reproduce", "ufford"), "ufford2009"),
        (("reproduce", "ufford2009", "--detail", "3"), "at least 20"),
    ],
)
def test_bad_words_are_refused(call, tmp_path, arguments, says):
    code, out, err = call(*arguments, "--json")
    assert code == 2
    assert says in json.loads(out)["error"]
    assert err.startswith("saltus: ")
    assert not list(tmp_path.iterdir())


def test_out_must_be_a_folder(call, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = call("map", "monkeybot", "--x", "dtheta1=0:4:9", "--y", "dtheta2=6:14:9", "--out", "file")
    assert code == 2
    assert "not a folder" in err


def test_reproduce(call, tmp_path):
    code, out, _ = call("reproduce", "ufford2009", "--detail", "20", "--out", "report", "--json")
    content = json.loads(out)
    assert code == 0
    assert {number["verdict"] for number in content["numbers"]} <= {"reproduced", "corrected", "not reproducible"}
    numbers = {number["what"]: number for number in content["numbers"]}
    assert numbers["error from (0.902, 10.935)"]["corrected"] == pytest.approx(1.559401e-4, rel=1e-5)
    assert numbers["error from (0.768, 11.094)"]["corrected"] == pytest.approx(4.523508e-4, rel=1e-5)
    assert numbers["the switch"]["published"] == 0.428
    assert len(content["corrections"]) == 7
    assert [figure["name"] for figure in content["figures"]] == [f"figure-{k}" for k in range(3, 11)]
    page = (tmp_path / "report" / "ufford2009.html").read_text()
    assert page.count("data:image/png;base64,") == 8
    assert "not reproducible" in page
    assert json.loads((tmp_path / "report" / "ufford2009.json").read_text())["numbers"] == content["numbers"]


def test_collisionless_gaits_are_told(call):
    code, out, _ = call("collisionless", "monkeybot", "--json")
    found = json.loads(out)["gaits"]
    assert code == 0
    assert len(found) == 4
    assert all(gait["miss"] < 1e-12 and gait["error"] < 1e-20 and gait["multipliers"] is None for gait in found)


@pytest.mark.parametrize("knob", ["motor_torque=2.9:3.1", "g=9.7:9.9"])
def test_a_family_is_told(call, tmp_path, knob):
    code, out, _ = call(
        "family", "monkeybot", "--knob", knob, "--guess", "dtheta1=0.75,dtheta2=11.08", "--set", "motor_torque=3",
        "--out", "family", "--json",
    )  # fmt: skip
    content = json.loads(out)
    assert code == 0
    assert len(content["points"]) > 1
    assert all("leaves the span" in end for end in content["ends"])
    assert {Path(name).suffix for name in content["files"]} == {".json", ".png", ".svg"}
    assert all((tmp_path / name).stat().st_size > 1000 for name in content["files"])


def test_a_gait_that_loses_nothing_is_told_as_what_was_asked_for(call):
    code, out, _ = call("gait", "monkeybot", "--solve", "--guess", "dtheta1=1.52,dtheta2=10.22", "--json")
    content = json.loads(out)
    assert code == 0
    assert content["gait"] == "swing"
    assert content["knobs"] == {"motor_torque": 0.66}
    assert content["t_motor"] == 0.0
    assert content["multipliers"] is None
    assert content["grazing"] is True
    near = ("--guess", "dtheta1=1.52,dtheta2=10.22")
    code, out, _ = call("gait", "monkeybot", "--solve", *near, "--iterate", "3", "--json")
    assert code == 0
    assert max(row["error"] for row in json.loads(out)["cycles"]) < 1e-18
    code, _, error = call("family", "monkeybot", "--knob", "motor_torque=0.1:5", *near)
    assert code == 2
    assert "without speed" in error


def test_a_found_gait_is_read_from_its_file(call, tmp_path):
    knobs = {f"piece{k}_{what}": value for k in (1, 2, 3) for what, value in (("torque", 0.1 * k), ("t", 0.3))}
    start = {"theta1": -0.8, "theta2": -1.5, "dtheta1": 0.1, "dtheta2": 0.2}
    found = {"robot": "monkeybot", "gait": "pieces", "fixed_point": start, "knobs": knobs, "parameters": {"g": 9.0}}
    file = save_record(tmp_path / "found.json", "saltus gait 1", found)
    code, out, _ = call("gait", "monkeybot", "--from", "found.json", "--iterate", "2", "--period", "0.001", "--json")
    content = json.loads(out)
    assert code == 0
    assert content["gait"] == "pieces"
    assert content["start"] == start
    assert [row["t"] for row in content["cycles"]] == pytest.approx([0.9, 1.8])
    robot = robots.monkeybot(g=9.0)
    once = run_cycle(find_gait("pieces", robot).with_knobs(**knobs), start)
    assert content["cycles"][0]["error"] == pytest.approx(once.error, rel=1e-9)
    assert content["cycles"][0]["x"] == pytest.approx(once.travel[0], rel=1e-9)
    code, _, error = call("gait", "monkeybot", "--type", "climb", "--from", "found.json")
    assert code == 2
    assert "holds gait pieces" in error
    for change in ({"knobs": {**knobs, "piece1_t": "x"}}, {"fixed_point": [1]}, {"knobs": {"piece1_t": 10**400}}):
        reworded(file, **{**found, **change})
        code, _, error = call("gait", "monkeybot", "--from", "found.json")
        assert code == 2
        assert len(error.splitlines()) == 1
    reworded(file, **{**found, "knobs": {**knobs, "piece1_t": 0.31}}, whole=False)
    code, _, error = call("gait", "monkeybot", "--from", "found.json")
    assert code == 2
    assert "its numbers are not those that were written" in error


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("search", "monkeybot", "--radius", "2"), "--radius"),
        (("search", "monkeybot", "--starts", "0"), "--starts"),
        (("search", "monkeybot", "--rise", "nan"), "--rise"),
        (("search", "monkeybot", "--seed", "-1"), "--seed"),
        (("search", "monkeybot", "--set", "piece1_torque=1"), "piece1_torque"),
        (("family", "monkeybot", "--knob", "mass=1:2"), "unknown knob or parameter"),
        (("family", "monkeybot", "--knob", "motor_torque=1:2"), "must contain its value 0.66"),
        (("family", "monkeybot", "--knob", "motor_torque=-1:2"), "at least 0"),
        (("family", "monkeybot", "--knob", "motor_torque=0.1:inf"), "finite"),
        (("collisionless", "monkeybot", "--set", "hand_dry=0.05"), "cannot rise as it fell"),
        (("search", "monkeybot", "--rise", "0.1", "--climb", "0.05"), "--climb"),
        (("search", "monkeybot", "--type", "swing"), "draw its starts"),
        (("search", "pendulum"), "no gait types"),
        (("family", "monkeybot", "--knob", "motor_torque=5:2"), "smaller to a greater"),
        (("family", "monkeybot", "--knob", "motor_torque"), "name=from:to"),
        (("collisionless", "monkeybot", "--type", "pieces"), "at rest"),
    ],
)
def test_bad_searches_are_refused_before_any_work(call, words, told):
    code, _, error = call(*words)
    assert code != 0
    assert told in error


@pytest.mark.parametrize(
    ("words", "period"),
    [("piece1_t=0.25,piece2_t=0.04", "0.001"), ("piece1_t=0.1003,piece2_t=0.7997", "0.001"),
     ("piece1_t=0.2,piece2_t=0.05,piece3_t=0.05", "0.03")],
)  # fmt: skip
def test_a_clock_has_no_bounds_of_a_search(call, words, period):
    code, out, _ = call(
        "gait", "monkeybot", "--type", "pieces", "--set", words, "--iterate", "3", "--period", period, "--json"
    )
    assert code == 0
    assert json.loads(out)["passed"] == 3


def test_a_phase_shorter_than_a_sample_is_refused(call):
    words = ("gait", "monkeybot", "--type", "pieces", "--set", "piece2_t=0.05", "--iterate", "3", "--period", "0.2")
    code, _, err = call(*words)
    assert code == 2
    assert "a phase is shorter than the controller's period of 0.2 s" in err


def test_a_run_lost_at_once_from_rest_is_drawn(call, recwarn):
    code, _, err = call("gait", "monkeybot", "--type", "ricochet", "--iterate", "3", "--period", "0.001", "--out", "it")
    assert code == 0
    assert "Warning" not in err
    assert not [w for w in recwarn if "ylim" in str(w.message)]


def test_a_damaged_file_of_a_gait_is_refused(call, tmp_path):
    whole = {"robot": "monkeybot", "gait": "pieces", "knobs": {"piece1_t": 0.25}, "parameters": {"g": 9.81}}
    good = dict.fromkeys(("theta1", "theta2", "dtheta1", "dtheta2"), 0.1)
    for start, says in (([1, 2], "cannot read a gait"), ({"zz": 1.0}, "begins with zz"), ({"theta1": None}, "cannot")):
        save_record(tmp_path / "found.json", "saltus gait 1", {**whole, "fixed_point": start})
        code, _, err = call("gait", "monkeybot", "--from", "found.json")
        assert code == 2
        assert says in err
    save_record(tmp_path / "found.json", "saltus gait 1", {**whole, "fixed_point": good})
    code, out, _ = call(
        "gait", "monkeybot", "--from", "found.json", "--set", " g=9.0", "--set", "piece1_t = 0.2", "--json"
    )
    assert code == 0
    assert json.loads(out)["start"]["theta1"] == 0.1


def test_a_search_on_the_command_line_is_resumed(call, tmp_path, monkeypatch):
    words = ("search", "monkeybot", "--type", "pieces", "--starts", "3", "--out", "found")
    part = tmp_path / "found" / "monkeybot-pieces-found.part.json"
    numbers = []

    def pressed(search, drawn, number, now):
        now.number = number
        numbers.append(number)
        search.look()
        if number == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(_search, "_led_to", pressed)
    code, _, err = call(*words)
    assert code == 130
    assert "the same with --resume goes on" in err
    assert load_record(part, "saltus gait search 1")["searching"]["number"] == 2
    code, _, err = call(*words)
    assert code == 2
    assert "--resume goes on with it, --force begins anew" in err
    monkeypatch.setattr(_search, "_led_to", lambda search, drawn, number, now: numbers.append(number))
    numbers.clear()
    code, _, err = call(*words, "--resume", "--seed", "1")
    assert code == 2
    assert "seed = 0, and wanted is 1" in err
    code, _, err = call(*words, "--resume")
    assert code == 2
    assert "none of 3 random starts" in err
    assert numbers == [2, 3]
    numbers.clear()
    assert call(*words, "--force")[0] == 2
    assert numbers == [1, 2, 3]
    code, _, err = call("search", "monkeybot", "--resume")
    assert code == 2
    assert "name it with --out" in err
