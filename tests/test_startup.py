"""What starting loads: a verb loads what it uses, and nothing is built to be listed."""

import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import saltus
from saltus import cli, registry
from saltus.cli._listed import written_description
from saltus.cli._verbs import VERBS, verb_helps
from saltus.robots import find_robot

HEAVY = {"numba", "casadi", "numpy", "scipy", "matplotlib", "pandas", "xarray", "sklearn", "pinocchio", "h5py"}
UPPER = {"saltus.conformance", "saltus.studies", "saltus.show", "saltus.gaits", "saltus.optimize"}

# Rooms of which parts are loaded when they are first used.
LATER = ("gaits", "hybrid", "mechanism", "optimize", "show", "studies")

PROGRAM = """
import gc, json, sys
from saltus.__main__ import main
try:
    main()
except SystemExit as leaving:
    print(json.dumps([leaving.code, gc.get_freeze_count(), sorted(sys.modules)]), file=sys.stderr)
"""


def loaded(*words):
    """The modules that a process has loaded when it has obeyed the command line."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=True)
    code, frozen, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == 0, done.stderr
    assert frozen > 0, "the process looks for garbage as it leaves"
    return set(modules)


def verb_files(modules):
    return {name.removeprefix("saltus.cli.") for name in modules if name.startswith("saltus.cli.")} & {*VERBS.values()}


def test_help_loads_no_verb_and_no_library():
    modules = loaded("--help")
    assert not modules & (HEAVY | UPPER)
    assert verb_files(modules) == set()


@pytest.mark.parametrize("verb", ["run", "gait", "optimize", "reproduce"])
def test_help_of_a_verb_loads_no_library(verb):
    assert not loaded(verb, "--help") & (HEAVY | UPPER)


def test_list_builds_no_robot():
    modules = loaded("list")
    assert not modules & (HEAVY | UPPER)
    assert "saltus.robots" not in modules


def test_run_loads_what_a_run_needs():
    modules = loaded("run", "pendulum", "--json")
    assert "saltus.engine" in modules
    assert not modules & (UPPER | {"saltus.control", "xarray", "pandas", "matplotlib", "sklearn", "pinocchio", "h5py"})
    assert not modules & {"scipy.stats", "scipy.optimize", "rich"}
    assert verb_files(modules) == {"_runs"}
    assert {name for name in modules if name.startswith("saltus.robots.")} == {
        "saltus.robots._from_urdf",
        "saltus.robots.pendulum",
    }


def test_a_run_that_is_described_in_words_loads_no_more():
    modules = loaded("run", "bouncing_ball", "--until", "0.1")
    assert not modules & {"xarray", "pandas", "matplotlib", "sklearn", "pinocchio", "h5py"}
    assert not modules & {"scipy.stats", "scipy.optimize", "saltus.gaits", "saltus.optimize", "saltus.show"}


def test_every_verb_is_in_the_table():
    for path in Path(cli.__file__).parent.glob("_*.py"):
        importlib.import_module(f"saltus.cli.{path.stem}".removesuffix(".__init__"))
    written = {one.name: one.callback.__module__ for one in cli.app.registered_commands}
    assert written == {name: f"saltus.cli.{file}" for name, file in VERBS.items()}


def test_short_helps_are_those_of_the_verbs(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")  # of which two are a margin and six are around names
    _, help_of_all, _ = call("--help")
    for name, text in verb_helps().items():
        assert text, name
        command = cli._app._command().commands[name]
        assert command.help == inspect.cleandoc(text)
        assert f"  {name:<13}  {command.get_short_help_str(80 - 2 - 6 - 13)}\n" in help_of_all


def test_an_unknown_verb_names_the_nearest(call):
    code, _, err = call("optimise")
    assert code == 2
    assert "No such command 'optimise'. Did you mean 'optimize'" in err


@pytest.mark.parametrize("name", registry.names("robots", own=True))
def test_descriptions_are_those_of_the_robots(name):
    assert written_description(registry.find("robots", name)) == find_robot(name).about


@pytest.mark.parametrize(
    "body",
    [
        "return HybridSystem(m, about=f'{SPOKES} spokes')",
        "m.parameter('mass', 1.0, about='of the bob')\n    return HybridSystem(m, about='one bob')",
        "return HybridSystem(m)",
    ],
)
def test_a_description_that_is_not_plain_is_left_to_the_robot(body, tmp_path):
    path = tmp_path / "odd.py"
    path.write_text(f"def build():\n    {body}\n")
    assert written_description(registry.Entry("odd", "robots", path, "odd", "saltus")) is None


def test_a_robot_stays_a_function_when_its_file_is_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "saltus.robots.rod", raising=False)
    module = importlib.import_module("saltus.robots.rod")
    assert saltus.robots.rod is not module
    assert saltus.robots.rod().name == "rod"
    assert saltus.robots.rod.__doc__ == module.__doc__


@pytest.mark.parametrize("name", ["gaits", "optimize", "show", "studies"])
def test_rooms_are_found_from_the_root(name):
    assert getattr(saltus, name) is importlib.import_module(f"saltus.{name}")
    assert name in saltus.__all__
    assert name in dir(saltus)


@pytest.mark.parametrize("package", [f"saltus.{room}" for room in LATER])
def test_names_that_are_loaded_later_are_there(package):
    room = importlib.import_module(package)
    for name in room.__all__:
        assert getattr(room, name) is not None
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        room.nothing  # noqa: B018 - looking is the test
