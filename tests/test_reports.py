"""Every verb writes a report, and none is written half or over another."""

import json
import os
import re
import shutil
import stat

import numpy as np
import pytest

from saltus import gaits
from saltus.cli._app import _command
from saltus.cli._report import command
from saltus.gaits._search import Recovery, StableGait

PENDULUM = "pendulum --until 0.5"
SWING = "dtheta1=0.902,dtheta2=10.935"
# How each verb is called, as short as it can be.
VERBS = {
    "list": "list hopper",
    "check": "check methods/dopri5",
    "run": "run hopper --profile paper",
    "export": "export hopper --urdf hopper.urdf",
    "graph": "graph hopper",
    "laws": "laws hopper --profile paper --law plastic --law newton",
    "linearize": "linearize disc",
    "painleve": "painleve hopper --x theta1=0:180deg:7 --y theta2=-180deg:180deg:7",
    "gait": f"gait monkeybot --start {SWING} --iterate 3",
    "map": "map monkeybot --x dtheta1=0:2:5 --y dtheta2=10:12:5",
    "family": "family monkeybot --set motor_torque=3 --guess dtheta1=0.75,dtheta2=11.1 --knob motor_torque=2.99:3.01",
    "region": "region segway_reduced --controller pd --x theta=-1:1:5 --y dtheta=-2:2:5 --until 3",
    "robustness": "robustness brachiator --mixes 2",
    "train": "train brachiator --grid 8 --sweeps 2",
    "search": "search monkeybot --type pieces --seed 1 --cycles 20",
    "collisionless": "collisionless monkeybot",
    "optimize": "optimize hopper --reading until-impact --time 3",
    "trade": "trade hopper --sizes 0 --time 3",
    "reproduce": "reproduce oh_huang --detail 20",
}


def content(path):
    """The data that a page is drawn from."""
    text = path.read_text()
    (data,) = re.findall(r'<script id="saltus-data" type="application/json">(.*?)</script>', text, re.S)
    return json.loads(data)


# Whose report is tested where one comparison is made for all tests of it.
ELSEWHERE = {"compare"}


def test_every_verb_is_here():
    assert set(VERBS) | ELSEWHERE == set(_command().commands)


@pytest.fixture
def found_at_once(monkeypatch):
    """A search takes minutes: here it finds what a few steps from a known place lead to."""

    def find(gait, **options):
        swing = gaits.find_gait("swing", gait.robot).with_knobs(motor_torque=3.0)
        fixed = gaits.solve(swing, {"dtheta1": 0.75, "dtheta2": 11.08})
        return StableGait(fixed, 0.5, Recovery(20, np.ones(2, dtype=bool), 0.0, np.zeros(2)), 1)

    monkeypatch.setattr(gaits, "find_stable", find)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_writes_a_report(verb, call, tmp_path, found_at_once):
    if verb == "graph" and shutil.which("dot") is None:
        pytest.skip("Graphviz's program 'dot' is not installed")
    code, out, err = call(*VERBS[verb].split(), "--report", "it.html")
    assert code == 0, err
    assert "wrote it.html" in out
    document = content(tmp_path / "it.html")
    kinds = [section["type"] for section in document["sections"]]
    assert document["title"]
    assert kinds[-2:] == ["command", "facts"]
    again = " --force" if verb in ("optimize", "trade", "train") else ""
    assert document["sections"][-2]["text"] == f"saltus {VERBS[verb]}{again}"
    assert [row[0] for row in document["sections"][-1]["rows"][:2]] == ["saltus", "Python"]
    assert len(kinds) >= 3
    assert (tmp_path / "it.html").stat().st_size < 5_000_000
    assert "http://" not in (tmp_path / "it.html").read_text().replace("http://www.w3.org", "")


def test_a_report_of_a_run_has_everything(call, tmp_path):
    code, out, _ = call("run", "hopper", "--profile", "paper", "--set", "mu=0.31", "--report", "it.html", "--json")
    assert code == 0
    assert out.count("\n") == 1
    sections = {section["title"]: section for section in content(tmp_path / "it.html")["sections"]}
    assert {"Key figures", "Motion", "Figures", "Audit", "Warnings", "What was run", "Again", "Made with"} <= set(
        sections
    )
    (run,) = sections["Motion"]["runs"]
    assert len(run["events"]) == len(json.loads(out)["events"])
    facts = {name: value for name, value, _ in sections["What was run"]["rows"]}
    assert facts["mu"] == "0.31"
    assert facts["theta1 at the start"] == "1.90240888"
    jump = {name: value for name, value, _ in sections["Key figures"]["rows"]}["jump distance"]
    assert float(jump) == pytest.approx(json.loads(out)["jump_distance"], rel=1e-8)
    assert all(row[0] for row in sections["Audit"]["rows"])
    assert sections["Again"]["text"] == "saltus run hopper --profile paper --set mu=0.31"


def test_a_run_that_fails_is_reported_too(call, tmp_path):
    code, _, _ = call("run", "hopper", "--profile", "paper", "--set", "mu=1.5", "--report", "it.html")
    sections = {section["title"]: section for section in content(tmp_path / "it.html")["sections"]}
    if code:
        assert any("ended before its time" in item for item in sections["Warnings"]["items"])


def test_an_older_file_is_kept_unless_forced(call, tmp_path):
    (tmp_path / "it.html").write_text("mine")
    code, out, err = call("run", *PENDULUM.split(), "--report", "it.html")
    assert code == 2
    assert "it.html exists already; --force writes over it" in err
    assert "finished" not in out  # nothing was done
    assert (tmp_path / "it.html").read_text() == "mine"
    code, _, _ = call("run", *PENDULUM.split(), "--report", "it.html", "--force")
    assert code == 0
    assert content(tmp_path / "it.html")["title"] == "pendulum"
    code, _, _ = call("--force", "--report", "it.html", "run", *PENDULUM.split())
    assert code == 0


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("it.txt", "file type"),
        ("none/it.html", "no folder"),
        ("folder.html", "is a folder"),
        ("locked/it.html", "not writable"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_work(path, complaint, call, tmp_path, monkeypatch):
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "locked").mkdir()
    if path.startswith("locked"):
        os.chmod(tmp_path / "locked", stat.S_IRUSR | stat.S_IXUSR)
        may = os.access
        monkeypatch.setattr(os, "access", lambda p, mode: False if str(p).endswith("locked") else may(p, mode))
    code, out, err = call("run", *PENDULUM.split(), "--report", path)
    assert code == 2
    assert complaint in err
    assert "finished" not in out
    assert not list((tmp_path / "locked").iterdir())


def test_the_command_leaves_out_what_is_about_the_report(monkeypatch):
    monkeypatch.delenv("SALTUS_PLUGINS", raising=False)
    words = [
        "run",
        "x",
        "--report",
        "a b.html",
        "--set",
        "a=1",
        "--force",
        "--json",
        "--report=c.html",
        "--x0",
        "b='2'",
    ]
    assert command(words) == """saltus run x --set a=1 --x0 'b='"'"'2'"'"''"""
    assert command(["--report"]) == "saltus"
    assert command(["optimize", "hopper"]) == "saltus optimize hopper --force"
    monkeypatch.setenv("SALTUS_PLUGINS", "my robots")
    assert command(["list"]) == "SALTUS_PLUGINS='my robots' saltus list"
