"""Every verb that makes runs ends with a code of its own where an audit fails, and says what failed."""

import json

import pytest

from saltus import optimize, studies
from saltus.engine import Audit, Batch, Check, Trajectory

ROD = ("rod", "--set", "mu=0.4", "--x0", "y=1", "--x0", "theta=1.3", "--x0", "dx=-2", "--x0", "dtheta=-6")
UNTIL = ("--until", "0.45")
WRONG = Audit((Check("energy balance", 2.0, 1.0, "J"), Check("contacts closed", 0.0, 1.0, "m")))
SAID = "energy balance 2 (limit 1) J"


def test_run_says_what_failed(call, call_json):
    arguments = ("run", *ROD, "--set", "restitution=0.9", *UNTIL)
    code, out, errors = call(*arguments)
    assert code == 3
    assert "FAIL impacts create energy" in out
    assert errors == "saltus: the audit failed: impacts create energy 1.54 (limit 2.1e-10) J\n"
    code, content = call_json(*arguments)
    assert code == 3
    assert not content["audit"]["ok"]
    assert call("run", *ROD, *UNTIL)[0] == 0


def test_a_coarse_chaotic_run_fails_its_audit_and_a_deep_one_says_why(call, call_json):
    coarse = ("run", "double_pendulum", "--x0", "theta1=2", "--until", "60", "--rtol", "1e-3")
    code, out, errors = call(*coarse)
    assert code == 3
    assert "FAIL energy balance" in out
    assert errors.startswith("saltus: the audit failed: energy balance ")
    short = ("run", "double_pendulum", "--x0", "theta1=2", "--until", "5", "--rtol", "1e-2", "--atol", "1e-4", "--deep")
    code, content = call_json(*short)
    assert code == 3
    assert not content["audit"]["checks"]["error of the end state"]["ok"]
    assert call("run", "double_pendulum", "--until", "2", "--deep")[0] == 0


def test_what_is_to_be_written_is_written_before(call, tmp_path):
    files = ("--out", tmp_path / "run.csv", "--report", tmp_path / "run.html")
    assert call("run", *ROD, "--set", "restitution=0.9", *UNTIL, *files)[0] == 3
    assert (tmp_path / "run.csv").exists()
    assert (tmp_path / "run.html").exists()


def test_laws_say_of_which(call_json, capsys):
    code, content = call_json("laws", *ROD, "--law", "plastic", "--law", "newton:restitution=0.9", *UNTIL)
    assert code == 3
    assert [one["audit"]["ok"] for one in content.values()].count(False) == 1
    code, content = call_json("laws", *ROD, "--law", "plastic", *UNTIL)
    assert code == 0


@pytest.fixture
def nothing_passes(monkeypatch):
    """All runs and batches fail their audits."""
    for kind in (Trajectory, Batch):
        monkeypatch.setattr(kind, "check", lambda self, **options: WRONG)


VERBS = {
    "run": ("run", "pendulum", "--until", "0.1"),
    "graph": ("graph", "pendulum", "--visited", "--until", "0.1"),
    "laws": ("laws", "hopper", "--law", "plastic", "--until", "0.1"),
    "gait": ("gait", "monkeybot"),
    "gait that loses nothing": ("gait", "monkeybot", "--solve", "--guess", "dtheta1=1.4,dtheta2=10.4"),
    "family": ("family", "monkeybot", "--knob", "motor_torque=2.99:3.01", "--set", "motor_torque=3",
               "--guess", "dtheta1=0.75,dtheta2=11.08"),
    "map": ("map", "monkeybot", "--x", "dtheta1=1:2:2", "--y", "dtheta2=10:11:2"),
    "region": ("region", "pendulum", "--x", "theta=0:0.1:2", "--y", "dtheta=0:0.1:2", "--until", "0.1"),
    "intervals": ("region", "pendulum", "--x", "theta=0:0.1:2", "--until", "0.1"),
    "robustness": ("robustness", "brachiator", "--mixes", "1"),
}  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_the_code(call, nothing_passes, verb):
    code, _, errors = call(*VERBS[verb])
    assert code == 3, errors
    assert "saltus: the audit failed: " in errors
    assert SAID in errors


@pytest.mark.parametrize("verb", ["run", "laws", "gait", "region", "intervals"])
def test_programs_get_the_code_too(call, nothing_passes, verb):
    code, out, errors = call(*VERBS[verb], "--json")
    assert code == 3
    assert json.loads(out)
    assert SAID in errors


def test_optimize_has_the_code_where_its_best_fails(call, nothing_passes, monkeypatch):
    monkeypatch.setattr("saltus.cli._optimize.draw_run", lambda run, out: None)  # takes longer than all else
    code, out, errors = call("optimize", "hopper", "--time", "0.1", "--seed", "1", "--json")
    assert code == 3
    assert json.loads(out)["problem"]
    assert f"the audit failed: the best found: {SAID}" in errors


class Stopped(Exception):
    """Raised where a verb has begun its work."""


@pytest.mark.parametrize(
    ("verb", "room", "name"),
    [
        (("reproduce", "oh_huang"), studies.Paper, "reproduce"),
        (("train", "brachiator", "--grid", "5"), optimize, "train_table"),
        (("compare", "brachiator"), studies, "compare_controllers"),
    ],
    ids=["reproduce", "train", "compare"],
)
def test_long_verbs_audit_all_that_they_make(call, nothing_passes, monkeypatch, verb, room, name):
    from saltus import robots, simulate, simulate_many
    from saltus.cli import _audited

    def work(*arguments, **options):
        simulate(robots.pendulum(), until=0.01)
        simulate_many(robots.pendulum(), {"theta": [0.1, 0.2]}, until=0.01)
        raise Stopped

    found = []
    monkeypatch.setattr(room, name, work)
    monkeypatch.setattr(_audited.Audits, "add", lambda self, audit, what: found.append((audit.ok, what)))
    with pytest.raises(Stopped):
        call(*verb)
    assert found == [(False, "a run of pendulum"), (False, "2 runs of pendulum")]


def test_a_run_that_failed_keeps_its_own_code(call, nothing_passes):
    code, _, errors = call("run", "pendulum", "--x0", "theta=1e308", "--x0", "dtheta=1e308", "--until", "1")
    assert code == 1
    assert "the audit failed" not in errors


def test_many_failures_are_counted(capsys, nothing_passes):
    import typer

    from saltus.cli._audited import Audits

    audits = Audits()
    for k in range(20):
        audits.add(WRONG, f"run {k}")
    with pytest.raises(typer.Exit) as leaving:
        audits.exit()
    assert leaving.value.exit_code == 3
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 9
    assert lines[-1] == "saltus: and 12 more audits failed"


def test_the_help_lists_the_codes(call):
    code, out, _ = call("--help")
    assert code == 0
    assert "3 the audit of a run failed" in " ".join(out.split())
