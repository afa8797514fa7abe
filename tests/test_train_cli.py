"""The verb that trains: files, what an interrupt leaves, going on, and controllers from files."""

import json
import shlex

import numpy as np
import pytest

from saltus.cli._train_told import TableProgress
from saltus.control import Table
from saltus.errors import InputError
from saltus.optimize import Discounted, Sweep

SMALL = ("train", "brachiator", "--grid", "8", "--sweeps", "4")


def test_tables_of_several_bars_and_hands(call, call_json, tmp_path):
    code, made = call_json(*SMALL, "--target", "0.55,0", "--target", "0.5,-0.1", "--hand", "A", "--hand", "B")
    assert code == 0
    names = [
        f"brachiator-{hand}-to-{goal}-grid8-saltus.npz" for hand in "AB" for goal in ("0.55_0", "0.5_-0.1")
    ]  # fmt: skip
    assert made["files"] == [f"out/{name}" for name in names]
    table = Table.load(tmp_path / "out" / names[3])
    assert (table.holds, table.goal.point, table.goal.x, table.goal.y) == ("B", "A", 0.5, -0.1)
    assert [one["sweeps"] for one in made["tables"]] == [4] * 4  # all ways, even if little changes in one
    code, _, err = call(*SMALL, "--target", "0.5,-0.1")
    assert code == 2
    assert "--resume goes on with it, --force makes it anew" in err
    code, again = call_json(*SMALL, "--target", "0.55,0", "--resume")
    assert code == 0
    assert Table.load(tmp_path / "out" / names[0]).sweeps == 4
    assert again["tables"][0]["residual"] == made["tables"][0]["residual"]
    files = ",".join(made["files"][::2])
    code, out, _ = call(
        "run", "brachiator", "--controller", "policy", "--control", f"tables={files}", "--until", "0.3",
        "--control", "release_delay=0.06",
    )  # fmt: skip
    assert code == 0
    assert "0.0600000000  command" in out
    code, _, err = call("run", "brachiator", "--controller", "policy", "--control", f"tables={files}", "--set", "m1=2")
    assert code == 2
    assert "m1 = 1.77705, and here m1 = 2" in err


def test_ctrl_c_keeps_what_there_is_and_resume_goes_on(call, tmp_path, monkeypatch, press_ctrl_c):
    words = ("train", "brachiator", "--grid", "10", "--target", "0.55,0", "--target", "0.5,0")
    code, _, _ = call(*words, "--out", "whole")
    assert code == 0
    seen, bars = TableProgress.__call__, []

    def pressed(self, sweep):
        seen(self, sweep)
        if sweep.number == 0 and (not bars or bars[-1] is not self):
            bars.append(self)
        # in the third sweep of the second table
        if sweep.number == 2 and len(bars) == 2:
            bars.append(None)
            press_ctrl_c()

    monkeypatch.setattr(TableProgress, "__call__", pressed)
    code, _, err = call(*words, "--out", "part")
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert code == 130
    assert "kept in part: 1 whole table and what there is of the next in brachiator-A-to-0.5_0-grid10" in err
    assert "--resume goes on" in err
    whole, part = tmp_path / "whole", tmp_path / "part"
    kept = part / "brachiator-A-to-0.5_0-grid10-saltus.part.npz"
    code, _, err = call(*words, "--out", "part", "--resume", "--set", "m1=2")
    assert code == 2
    assert "m1 = 1.77705, and here m1 = 2" in err
    assert kept.exists()
    code, _, _ = call(*words, "--out", "part", "--resume")
    assert code == 0
    assert not kept.exists()
    for file in whole.glob("*.npz"):
        one, other = Table.load(file), Table.load(part / file.name)
        np.testing.assert_array_equal(one.values, other.values)
        assert (one.sweeps, one.residual) == (other.sweeps, other.residual)


def test_the_recipe_of_the_thesis(call_json):
    code, made = call_json(*SMALL, "--recipe", "thesis", "--seed", "5", "--no-stops", "--effort", "0.01")
    assert code == 0
    assert made["files"] == ["out/brachiator-A-to-0.55_0-grid8-thesis-effort0.01-no-stops.npz"]
    assert made["tables"][0]["recipe"]["seed"] == 5


def test_impulses(call, call_json, tmp_path):
    code, made = call_json("train", "brachiator", "--method", "impulse", "--trials", "8000")
    assert code == 0
    assert made["queries"] == 77
    assert made["inverses"]["polished"]["rate"] > made["inverses"]["committee"]["rate"]
    assert json.loads((tmp_path / made["files"][1]).read_text())["inverses"] == made["inverses"]
    code, _, _ = call("run", "brachiator", "--controller", "impulse", "--control", "begin=0.3", "--until", "0.2")
    assert code == 0


KICKS = ("train", "brachiator", "--method", "impulse", "--trials", "4000")


@pytest.fixture
def few_queries(monkeypatch):
    """Three starts and two targets."""
    monkeypatch.setattr("saltus.optimize._learn.QUERIES", (3, 2))


@pytest.mark.usefixtures("few_queries")
def test_impulses_that_are_asked_for_are_commands_that_run(call, call_json, tmp_path):
    words = (*KICKS, "--ask", "-0.5,0.55", "--ask=-0.45,0.5", "--set", "m1=1.8", "--set", "bar1_x=0.5")
    code, out, _ = call(*words)
    assert code == 0
    told = [line for line in out.splitlines() if line.startswith("saltus run")]
    assert len(told) == 2
    made = json.loads((tmp_path / "out" / "brachiator-impulses-4000-seed0.json").read_text())
    assert [one["command"] for one in made["asked"]] == told
    assert all(one["hit"] for one in made["asked"])
    # every query, by both inverses
    assert len(made["answers"]) == 6
    one = made["answers"][3]
    assert (one["start"], one["target"]) == (-0.5, 0.6)
    for inverse in ("committee", "polished"):
        assert set(one[inverse]) == {"begin", "size", "length", "hit"}
        assert sum(answer[inverse]["hit"] for answer in made["answers"]) == made["inverses"][inverse]["hits"]
    program, *command = shlex.split(told[0])
    assert program == "saltus"
    assert command[command.index("--spacing") + 1] == "0.5,0.55"
    assert "m1=1.8" in command
    assert "bar1_x=0.5" not in command
    for name in ("begin", "size", "length"):
        assert f"{name}={made['asked'][0][name]!r}" in command
    code, run = call_json(*command, "--until", "1.2")
    assert code == 0
    assert [event["guard"] for event in run["events"] if event["guard"].endswith(".catch")] == ["B.catch"]


def test_impulses_are_not_written_over(call, tmp_path, monkeypatch):
    def working(*_):
        raise InputError("work was done")

    monkeypatch.setattr("saltus.optimize._learn.learned", working)
    for ending in ("npz", "json"):
        file = tmp_path / "out" / f"brachiator-impulses-4000-seed3.{ending}"
        file.parent.mkdir(exist_ok=True)
        file.write_text("mine")
        code, _, err = call(*KICKS, "--seed", "3")
        assert code == 2
        assert f"out/{file.name} exists already; --force makes it anew" in err
        assert "work was done" not in err
        assert "work was done" in call(*KICKS, "--seed", "3", "--force")[2]
        assert file.read_text() == "mine"
        file.unlink()


@pytest.mark.usefixtures("few_queries")
def test_impulses_of_a_small_robot(call, call_json, tmp_path):
    small = ("--set", "L1=0.2", "--set", "L2=0.2", "--set", "r1=0.1", "--set", "r2=0.1", "--set", "torque_limit=3")
    words = (*KICKS, *small, "--starts=-0.3:-0.2", "--targets", "0.2:0.3", "--softness", "force", "--time", "0.9")
    ranges = ("--begins", "0:0.45", "--lengths", "0.02:0.3")
    code, made = call_json(*words, *ranges)
    assert code == 0
    assert (made["queries"], made["softness"], made["time"]) == (6, "force", 0.9)
    assert made["ranges"] == {"start": [-0.3, -0.2], "begin": [0.0, 0.45], "length": [0.02, 0.3], "end": [0.2, 0.3]}
    name = "brachiator-impulses-4000-seed0-starts-0.3_-0.2-targets0.2_0.3-begins0_0.45-lengths0.02_0.3-time0.9-force"
    assert made["files"] == [f"out/{name}.npz", f"out/{name}.json"]
    (tmp_path / "out" / f"{name}.npz").unlink()
    assert call(*words, *ranges)[0] == 2  # the other file is there
    code, out, _ = call(*words, *ranges, "--targets", "0.25:0.5", "--force")
    assert code == 0
    assert "3 queries, 3 left out as impossible" in out


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (("--grid", "700"), "GB are available"),
        (("--grid", "2"), "at least 3 places"),
        (("--target", "1.2,0"), "nearest that it comes is 0.4 m"),
        (("--target", "nan,0"), "finite"),
        (("--target", "0.5"), "takes x,y"),
        (("--recipe", "theses"), "Did you mean 'thesis'"),
        (("--method", "nets"), "Known: dp, impulse"),
        (("--hand", "C"), "Known: A, B"),
        (("--set", "torque_limit=0"), "no inputs to choose from"),
        (("--method", "impulse", "--set", "torque_limit=0"), "no impulses to choose from"),
        (("--method", "impulse", "--grid", "8"), "takes no --grid"),
        (("--trials", "8"), "takes no --trials"),
        (("--ask", "-0.5,0.5"), "takes no --ask"),
        (("--targets", "0.4:0.6"), "takes no --targets"),
        (("--method", "impulse", "--trials", "0"), "whole number of at least 1"),
        (("--method", "impulse", "--seed", "-1"), "whole number of at least 0"),
        (("--method", "impulse", "--starts", "-0.5"), "--starts takes from:to"),
        (("--method", "impulse", "--starts", "-0.3:-0.5"), "must rise"),
        (("--method", "impulse", "--targets", "0.9:1"), "no query is possible"),
        (("--method", "impulse", "--softness", "forse"), "Did you mean 'force'"),
        (("--method", "impulse", "--time", "0"), "time must be a positive finite number"),
        (("--method", "impulse", "--ask", "-0.5"), "--ask takes START,TARGET"),
        (("--method", "impulse", "--ask", "0.5,0.5"), "a start is behind, negative"),
        (("--method", "impulse", "--ask", "-0.5,nan"), "a target is a finite number"),
        (("--seed", "8"), "takes no --seed"),
        (("--sweeps", "0"), "positive whole number"),
        (("--threads", "0"), "positive whole number"),
    ],
)
def test_what_is_refused_leaves_no_files(call, tmp_path, words, match):
    code, _, err = call("train", "brachiator", *words)
    assert code == 2
    assert match in err
    assert list(tmp_path.iterdir()) == []


def test_the_bar_tells_how_far_it_is():
    told = []
    tell = TableProgress(Discounted(), lambda share, words: told.append((share, words)))
    for number in range(12):
        for share in (0.5, 1.0):
            tell(Sweep(number, 40, share, 0.8**number))
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[0] < 0.05
    assert 0.6 < shares[-1] <= 1.0
    assert told[-1][1] == "sweep 12, residual 0.0859"
