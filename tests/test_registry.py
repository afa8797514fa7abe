"""Plugins: one file a thing, found by folder, by environment and by entry point; and the checks that hold them."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import saltus
from saltus import _reading, registry
from saltus.errors import InputError, SaltusError, UnknownName

EXAMPLES = Path(__file__).parent.parent / "examples" / "plugins"
EXAMPLE = {"robots": "cart", "controllers": "brake", "laws": "slick", "methods": "bogacki"}


@pytest.fixture(autouse=True)
def no_plugins_but_these(monkeypatch):
    monkeypatch.setenv("SALTUS_PLUGINS", "")


@pytest.fixture
def write(tmp_path):
    """Write one of the examples to a folder of the user's, under a name of its own and with some words changed."""

    def write(example, name, *changes, folder=tmp_path):
        text = (EXAMPLES / f"{example}.py").read_text().replace(f'("{example}")', f'("{name}")')
        text = text.replace(f'name="{example}"', f'name="{name}"')
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.py"
        path.write_text(text)
        return path

    return write


def new_process(*arguments, **environment):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(Path(saltus.__file__).parent.parent), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- found, run and checked ------------------------------------------------------------------------------


@pytest.fixture
def four(write, tmp_path):
    """A folder with a robot, a controller, a law and a method, and nothing else."""
    for name in EXAMPLE.values():
        write(name, name)
    return tmp_path


RUN = ("run", "cart", "--controller", "brake", "--control", "gain=2", "--law", "slick", "--method", "bogacki",
       "--rtol", "1e-6", "--until", "1")  # fmt: skip


@pytest.mark.parametrize("place", ["before", "after", "environment", "both"])
def test_a_folder_is_found_wherever_it_is_named(call_json, monkeypatch, four, place):
    option = ("--plugins", four)
    if place == "environment":
        monkeypatch.setenv("SALTUS_PLUGINS", str(four))
    before = option if place in ("before", "both") else ()
    after = option if place in ("after", "both") else ()
    code, content = call_json(*before, *RUN, *after)
    assert code == 0
    assert content["status"] == "finished"
    assert content["audit"]["ok"]
    assert any(event["guard"] == "bob.touch" for event in content["events"])
    code, content = call_json(*before, "list", *after)
    assert {kind: [kind_ for kind_ in content["plugins"] if kind_ == f"{kind}/{name}"] for kind, name in
            EXAMPLE.items()} == {kind: [f"{kind}/{name}"] for kind, name in EXAMPLE.items()}  # fmt: skip
    assert content["plugins"]["robots/cart"] == str(four / "cart.py")
    assert content["problems"] == {}


def test_every_verb_takes_plugins(call, four):
    for verb in ("list", "run", "check"):
        assert "--plugins" in call(verb, "--help")[1]
    code, out, _ = call("list", "cart", "--plugins", four)
    assert code == 0
    assert str(four / "cart.py") in out


def test_several_folders(call_json, write, tmp_path):
    write("cart", "wagon", folder=tmp_path / "one")
    write("brake", "drag", folder=tmp_path / "two" / "controllers")
    code, content = call_json(
        "--plugins", tmp_path / "one", "run", "wagon", "--controller", "drag", "--plugins", tmp_path / "two",
        "--until", "0.1",
    )  # fmt: skip
    assert code == 0
    assert content["robot"] == "wagon"


def test_installed_packages_bring_plugins(monkeypatch, write, tmp_path):
    site = tmp_path / "site"
    write("cart", "trolley", folder=site / "their_package")
    (site / "their_package" / "__init__.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'mark')!r})\n")
    write("slick", "glide", folder=site)
    record = site / "their_package-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (record / "entry_points.txt").write_text(
        "[saltus.plugins]\ntrolley = their_package.trolley\nglide = glide\nlost = no_such_module\nodd = json:dumps\n"
    )
    monkeypatch.syspath_prepend(site)
    assert "trolley" in registry.names("robots")
    assert not (tmp_path / "mark").exists()  # the package was not run to find what is in it
    assert "glide" in registry.names("laws")
    assert registry.where("robots", "trolley") == site / "their_package" / "trolley.py"
    run = saltus.simulate(saltus.robots.trolley().with_law("glide"), until=0.5)
    assert run.status.good
    reasons = " ".join(registry.problems().values())
    assert "lost of package their-package" in reasons
    assert "odd of package their-package must name a Python module" in reasons
    with pytest.raises(SaltusError, match="lost of package"):
        registry.load("robots", "lost")


@pytest.mark.parametrize(("kind", "name"), EXAMPLE.items())
def test_examples_pass_their_checks(call_json, four, kind, name):
    code, content = call_json("check", four / f"{name}.py")
    assert [check for check in content["checks"] if not check["ok"]] == []
    assert code == 0
    assert (content["kind"], content["name"], content["status"]) == (kind, name, "ok")


def test_check_by_name(call, write, tmp_path):
    code, out, _ = call("check", "plastic")
    assert code == 0
    assert out.startswith("ok   law can be compiled\n")
    write("brake", "slide", folder=tmp_path)
    write("slick", "slide", folder=tmp_path / "laws")
    code, _, err = call("check", "slide", "--plugins", tmp_path)
    assert code == 2
    assert "controllers/slide or laws/slide" in err
    assert call("check", "laws/slide")[0] == 0
    code, _, err = call("check", "plastik")
    assert code == 2
    assert "Did you mean 'plastic'?" in err


# -- wrong ones ------------------------------------------------------------------------------------------

WRONG_NAMES = iter(f"wrong{k}" for k in range(1000))

WRONG = {
    "law-creates-energy": ("slick", ("need / A[3]", "1.5 * need / A[3]"), "energy is not created", "creates"),
    "law-pulls": ("slick", ("need / A[3]", "-need / A[3]"), "impulse pushes", "pulls"),
    "law-too-weak": (
        "slick",
        ("need / A[3]", "0.4 * need / A[3]"),
        "does not go on into the ground",
        "into the ground",
    ),
    "law-beyond-friction": (
        "slick",
        ("need / A[3]\n", "need / A[3]\n        out[0] = need\n"),
        "cone",
        "friction cone",
    ),
    "law-forgets-flag": ("slick", ("1.0 if c[1] == 0.0 else 0.0", "0.0"), "flags", "info[0]"),
    "law-writes-beyond": ("slick", ("info[2] = ", "info[3] = "), "", "beyond"),
    "law-default-out-of-range": ("slick", ("0.5, 0.0", "1.5, 0.0"), "law can be compiled", "between 0 and 1"),
    "law-does-not-compile": ("slick", ("need > 0.0", "need > no_such_name"), "law can be compiled", "cannot compile"),
    "method-wrong-sum": ("bogacki", ("(2 / 9, 1 / 3,", "(2 / 9, 1 / 4,"), "lie at their nodes", "its node is 1"),
    "method-wrong-weight": (
        "bogacki",
        ("(2 / 9, 1 / 3, 4 / 9)", "(1 / 9, 4 / 9, 4 / 9)"),
        "order conditions",
        "order 2",
    ),
    "method-lower-order": (
        "bogacki",
        ("(2 / 9, 1 / 3, 4 / 9)", "(1 / 4, 1 / 4, 1 / 2)"),
        "observed order",
        "declared order 3",
    ),
    "method-no-estimate": (
        "bogacki",
        ("error=(2 / 9 - 7 / 24, 1 / 3 - 1 / 4, 4 / 9 - 1 / 3, -1 / 8)", "error=(0.0,)"),
        "error estimate",
        "no weights",
    ),
    "method-estimate-of-nothing": ("bogacki", ("-1 / 8)", "-1 / 4)"), "error estimate", "add up to zero"),
    "method-last-stage": ("bogacki", ("3 / 4, 1.0)", "3 / 4, 0.5)"), "last stage", "its node is 1, not 0.5"),
    "method-row-too-long": ("bogacki", ("(0.0, 3 / 4)", "(0.0, 3 / 4, 0.0)"), "is a tableau", "only 2 come before"),
    "robot-without-mass": (
        "cart",
        ("parent=cart, mass=bob_mass", "parent=cart, mass=0 * bob_mass"),
        "mass matrix",
        "not positive definite",
    ),
    "robot-negative-mass": (
        "cart",
        ("parent=cart, mass=bob_mass", "parent=cart, mass=-bob_mass"),
        "can be built",
        "mass must be finite and not negative",
    ),
    "robot-undocumented": ("cart", ('"pivot to bob"', '""'), "units and say", "'length' does not say what it is"),
    "robot-without-unit": ("cart", ('0.8, "m"', '0.8, ""'), "units and say", "'length' has no unit"),
    "robot-misnamed": ("cart", ('Mechanism("', 'Mechanism("mis'), "description", "its mechanism is named"),
    "robot-no-drawing": ("cart", ('(("pivot", "bob"),)', "()"), "description", "nothing to draw"),
    "robot-below-ground": ("cart", ('"theta": 1.5', '"theta": 0.0'), "default start", "below the ground"),
    "robot-driving-damper": (
        "cart",
        ('m.damping("s", damping)', 'm.damping("s", -damping)'),
        "power",
        "take energy out",
    ),
    "robot-returns-nothing": ("cart", ("return HybridSystem(", "HybridSystem("), "can be built", "must return"),
    "controller-not-frozen": ("brake", ("@dataclass(frozen=True)", "@dataclass"), "description", "frozen"),
    "controller-no-default": ("brake", ("gain: float = 0.5", "gain: float"), "can be bound", "EXAMPLE"),
    "controller-undocumented": ("brake", ('    """Input =', "    x = 0  # "), "description", "no docstring"),
    "controller-not-finite": ("brake", ("-data[0] *", "-1e308 * 1e308 *"), "ends well", "not finite"),
    "controller-remembers": (
        "brake",
        ("-data[0] * x[int(data[2 + k])]", "memory[0]\n    memory[0] += 0.01"),
        "acts when it says",
        "leave memory alone",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_ones_fail_for_the_right_reason(call_json, write, case):
    example, change, check, says = WRONG[case]
    path = write(example, next(WRONG_NAMES), change)
    code, content = call_json("check", path)
    assert code == 1
    assert content["status"] == "failed"
    failed = [result for result in content["checks"] if not result["ok"]]
    assert any(check in result["check"] and says in result["reason"] for result in failed), failed


def test_failures_for_people(call, write):
    path = write("slick", "tug", ("need / A[3]", "-need / A[3]"))
    code, out, _ = call("check", path)
    assert code == 1
    assert "\nFAIL impulse pushes and stays in the friction cone: it pulls" in out
    assert out.splitlines()[-1].startswith(f"laws/tug ({path}): 10 checks, ")


def test_a_controller_that_cannot_travel(call_json, write):
    path = write(
        "brake",
        "stayer",
        ("@dataclass(frozen=True)\nclass Brake", "def made():\n  @dataclass(frozen=True)\n  class Brake"),
    )
    text = path.read_text()
    head, body = text.split("  class Brake", 1)
    body = "\n".join("  " + line if line.strip() else line for line in body.split("\n\n\nCONTROLLER")[0].split("\n"))
    path.write_text(f"{head}  class Brake{body.lstrip()}\n\n  return Brake\n\n\nCONTROLLER = made()\n")
    code, content = call_json("check", path)
    assert code == 1
    failed = {result["check"]: result["reason"] for result in content["checks"] if not result["ok"]}
    assert list(failed) == ["controller travels between processes"]
    assert "cannot be pickled" in failed["controller travels between processes"]


# -- broken files ----------------------------------------------------------------------------------------

BROKEN = {
    "syntax": ("def build(:\n", "SyntaxError: invalid syntax (line 1)"),
    "imports": ("import no_such_module\ndef build(): ...\n", "No module named 'no_such_module' (line 1)"),
    "raises": ('"""A."""\n\nx = 1 / 0\ndef build(): ...\n', "ZeroDivisionError: division by zero (line 3)"),
    "leaves": ("import sys\nsys.exit(3)\ndef build(): ...\n", "SystemExit: 3 (line 2)"),
    "nothing": ("x = 1\n", "it defines none of them"),
    "half": ("def impulse(): ...\n", "it defines impulse"),
    "both": ("def build(): ...\nCONTROLLER = 1\n", "it defines build and CONTROLLER"),
    "takes_back": ("def build(): ...\ndel build\n", "it has no build once it is loaded"),
    "zeros": ("\0", "null bytes"),
}


# What is wrong with these is seen when they are run, and a list does not run them.
WHEN_RUN = ("imports", "raises", "leaves", "takes_back")


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_are_named_and_spoil_nothing_else(call, call_json, four, case):
    text, reason = BROKEN[case]
    path = four / f"{case}.py"
    path.write_text(text)
    code, content = call_json("list", "--plugins", four)
    assert code == 0
    listed = {f"{kind}/{name}" for kind, name in EXAMPLE.items()}
    if case in WHEN_RUN:
        assert content["problems"] == {}
        assert set(content["plugins"]) == {*listed, f"robots/{case}"}
    else:
        assert reason in content["problems"][str(path)]
        assert set(content["plugins"]) == listed
    assert call(*RUN)[0] == 0
    for arguments in (("run", case), ("check", path), ("check", f"robots/{case}"), ("check", case)):
        code, out, err = call(*arguments)
        assert code == 2
        assert out == ""
        assert str(path) in err
        assert reason in err


@pytest.mark.parametrize(
    ("kind", "name", "text", "says"),
    [
        ("controllers", "lone", "CONTROLLER = 3\n", "must be a dataclass with a method bind"),
        ("laws", "lone", "COEFFICIENTS = 3\ndef impulse(): ...\n", "must be a tuple of"),
        ("methods", "lone", "TABLEAU = 3\n", "must be a saltus.engine.Tableau"),
    ],
)
def test_things_of_the_wrong_type_are_refused(call_json, tmp_path, kind, name, text, says):
    path = tmp_path / f"{name}.py"
    path.write_text(text)
    code, content = call_json("check", path)
    assert code == 1
    assert says in content["checks"][0]["reason"]
    assert str(path) in content["checks"][0]["reason"]
    assert len(content["checks"]) == 1


# A file of each kind that leaves a mark when it is run.
MARKED = {
    "robots": "def build():\n    return HybridSystem(m, about='a marked one')\n",
    "controllers": "CONTROLLER = 1\n",
    "laws": "COEFFICIENTS = ()\ndef impulse(): ...\n",
    "methods": "TABLEAU = 1\n",
    "gaits": "ROBOT = 'monkeybot'\nGAIT = 1\n",
    "papers": "PAPER = 1\n",
    "problems": "PROBLEM = 1\n",
}


def test_a_list_runs_no_plugin(call_json, tmp_path):
    mark = tmp_path / "mark"
    for kind, text in MARKED.items():
        (tmp_path / f"marked_{kind}.py").write_text(f"import os\nos.makedirs({str(mark)!r})\n{text}")
    (tmp_path / "odd.py").write_text(
        f"import os\nos.makedirs({str(mark)!r})\ndef build():\n    return made(about=f'{1}')\n"
    )
    code, content = call_json("list", "--plugins", tmp_path)
    assert code == 0
    assert content["problems"] == {}
    assert set(content["plugins"]) == {*(f"{kind}/marked_{kind}" for kind in MARKED), "robots/odd"}
    assert content["robots"]["marked_robots"] == "a marked one"
    assert content["robots"]["odd"] == "(see saltus list odd)"
    assert not mark.exists()


def test_files_that_are_no_text_to_read_spoil_nothing(call_json, tmp_path, monkeypatch):
    monkeypatch.setattr(_reading, "MOST_BYTES", 100_000)
    (tmp_path / "deep.py").write_text("x = " + "-" * 50_000 + "1\ndef build(): ...\n")
    (tmp_path / "long.py").write_text("#" * 100_001)
    (tmp_path / "folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    code, content = call_json("list", "--plugins", tmp_path)
    assert code == 0
    assert set(content["problems"]) == {str(tmp_path / "deep.py"), str(tmp_path / "long.py")}


STEP = '''"""A step."""
from dataclasses import replace
from saltus.gaits.types import swing

ROBOT = "monkeybot"


def GAIT(robot):
    return replace(swing.make(robot), name="step")
'''


def test_gaits_and_papers_are_known_as_kinds(call, tmp_path):
    (tmp_path / "step.py").write_text(STEP)
    (tmp_path / "page.py").write_text("PAPER = object()\n")
    assert call("check", tmp_path / "step.py")[0] == 0
    code, out, _ = call("check", tmp_path / "page.py")
    assert code == 1
    assert "has no docstring" in out
    assert "must be a saltus.studies.Paper" in out


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('ROBOT = "monkeybot"', "", "it has no ROBOT"),
        ('ROBOT = "monkeybot"', 'ROBOT = "monkey"', "monkeybot"),
        ('name="step"', 'name="stop"', "that of its file 'step'"),
        ('name="step"', 'name="step", start={"dtheta2": -1e3}, longest=1e-3', "ok   a cycle runs or says why not"),
        ('return replace(swing.make(robot), name="step")', "return robot", "must make a saltus.gaits.Gait"),
    ],
)
def test_what_is_wrong_with_a_gait_is_said(call, tmp_path, old, new, says):
    assert old in STEP
    (tmp_path / "step.py").write_text(STEP.replace(old, new))
    code, out, _ = call("check", tmp_path / "step.py")
    assert code == (0 if says.startswith("ok") else 1)
    assert says in out


@pytest.mark.parametrize("where", ["option", "environment", "function"])
def test_a_folder_that_does_not_exist_is_refused_before_any_work(call_json, monkeypatch, tmp_path, where):
    missing = tmp_path / "missing"
    if where == "function":
        with pytest.raises(InputError, match="no plugin folder"):
            registry.add_folder(missing)
        return
    if where == "environment":
        monkeypatch.setenv("SALTUS_PLUGINS", str(missing))
    code, content = call_json("run", "pendulum", *(("--plugins", missing) if where == "option" else ()))
    assert code == 2
    assert str(missing) in content["error"]


def test_files_that_cannot_be_plugins(call, tmp_path):
    (tmp_path / "_private.py").write_text("def build(): ...\n")
    (tmp_path / "notes.txt").write_text("")
    for name, says in (("_private.py", "not begin with _"), ("notes.txt", "end in .py"), ("none.py", "no plugin file")):
        code, _, err = call("check", tmp_path / name)
        assert code == 2
        assert says in err
    registry.add_folder(tmp_path)
    assert registry.plugins() == []


def test_a_file_in_the_folder_of_another_kind(tmp_path, write):
    path = write("slick", "astray", folder=tmp_path / "robots")
    registry.add_folder(tmp_path)
    assert "lies in a folder named robots" in registry.problems()[path]
    with pytest.raises(SaltusError, match="astray"):
        registry.load("laws", "astray")


# -- names -----------------------------------------------------------------------------------------------


def test_a_name_that_is_taken_is_refused(call, monkeypatch, write, tmp_path):
    path = write("slick", "newton")
    own = Path(saltus.__file__).parent / "contact" / "laws" / "newton.py"
    code, _, err = call("run", "bouncing_ball", "--plugins", tmp_path)
    assert code == 2
    assert str(path) in err
    assert str(own) in err
    assert call("check", path)[0] == 2
    # where nobody can be told no, the first has the name and a warning says so
    monkeypatch.setenv("SALTUS_PLUGINS", str(tmp_path))
    with pytest.warns(UserWarning, match="is refused"):
        assert registry.load("laws", "newton").__file__ == str(own)
    assert str(own) in registry.problems()[path]
    assert saltus.contact.find_law("plastic").name == "plastic"


def test_two_plugins_of_one_name(monkeypatch, write, tmp_path):
    one, two = (write("slick", "twin", folder=tmp_path / folder) for folder in ("one", "two"))
    registry.add_folder(tmp_path / "one")
    with pytest.raises(InputError, match=f"{one}.*{two}"):
        registry.add_folder(tmp_path / "two")
    assert registry.where("laws", "twin") == one


def test_one_name_in_two_kinds_is_no_clash(write, tmp_path):
    write("slick", "pendulum")
    registry.add_folder(tmp_path)
    assert registry.where("laws", "pendulum") == tmp_path / "pendulum.py"
    assert saltus.robots.pendulum().name == "pendulum"


def test_the_same_file_twice_counts_once(monkeypatch, write, tmp_path):
    write("cart", "coach", folder=tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for folder in ("real", "link", "real/"):
        registry.add_folder(tmp_path / folder)
    registry.add_file(tmp_path / "link" / "coach.py")
    assert len(registry.plugins()) == 1


def test_a_plugin_named_like_a_module_does_no_harm(write, tmp_path):
    import random

    write("cart", "random")
    write("slick", "json")
    registry.add_folder(tmp_path)
    assert saltus.robots.random().name == "random"
    assert saltus.contact.find_law("json").name == "json"
    assert random.Random(1).random() < 1
    assert sys.modules["random"] is random
    assert sys.modules["json"] is json


def test_unknown_names_and_kinds():
    with pytest.raises(UnknownName, match="robots"):
        registry.names("robot")
    with pytest.raises(UnknownName, match="hopper"):
        registry.load("robots", "hoper")
    with pytest.raises(AttributeError, match="hopper"):
        _ = saltus.robots.hoper


def test_plugins_are_attributes_of_robots(write, tmp_path):
    write("cart", "lorry")
    registry.add_folder(tmp_path)
    robot = saltus.robots.lorry(length=0.7)
    assert robot.values["length"] == 0.7
    assert "lorry" in dir(saltus.robots)
    assert saltus.robots.lorry.__doc__.startswith("A cart")


# -- other processes -------------------------------------------------------------------------------------

ELSEWHERE = """
import multiprocessing, sys
import saltus
from saltus import _reading, registry

def work(robot, controller):
    return saltus.simulate(robot, controller=controller, until=0.5).final

if __name__ == "__main__":
    registry.add_folder(sys.argv[1])
    robot = saltus.robots.cart(length=0.6).with_law("slick")
    controller = saltus.control.find_controller("brake")(gain=1.5)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.apply(work, (robot, controller))
    assert there == work(robot, controller)
    assert there != work(saltus.robots.cart(), controller)
"""


def test_plugins_travel_to_spawned_processes(four, tmp_path):
    script = tmp_path / "elsewhere" / "script.py"
    script.parent.mkdir()
    script.write_text(ELSEWHERE)
    new_process(script, four)


def test_what_a_plugin_defines_can_be_pickled(four):
    registry.add_folder(four)
    brake = saltus.control.find_controller("brake")(gain=3.0)
    assert pickle.loads(pickle.dumps(brake)) == brake
    law = saltus.contact.find_law("slick")
    assert pickle.loads(pickle.dumps(law)).impulse is law.impulse


def test_a_process_that_does_not_know_the_plugin_says_so(four, monkeypatch):
    registry.add_folder(four)
    kind = saltus.control.find_controller("brake")
    robot, brake = pickle.dumps(saltus.robots.cart()), pickle.dumps(kind())
    monkeypatch.setenv("SALTUS_PLUGINS", "")
    monkeypatch.delitem(sys.modules, kind.__module__)
    with pytest.raises(ModuleNotFoundError, match="SALTUS_PLUGINS"):
        pickle.loads(brake)
    # a robot brings the paths of plugins along: its file is still there, and then no more
    assert pickle.loads(robot).name == "cart"
    monkeypatch.setenv("SALTUS_PLUGINS", "")
    for file in four.glob("*.py"):
        file.unlink()
    with pytest.raises(SaltusError, match=r"robot cart was sent here .*cart\.py: copy that file .*SALTUS_PLUGINS"):
        pickle.loads(robot)


def test_an_edit_of_a_plugin_is_never_missed(four):
    """Edits that keep the size of a file, within a second: nothing may go by its date."""

    def final():
        content = json.loads(new_process("-m", "saltus", *RUN, "--json", SALTUS_PLUGINS=str(four)))
        return tuple(content["final"].values())

    def edit(name, old, new):
        path = four / f"{name}.py"
        state, text = path.stat(), path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))

    seen = [final()]
    for name, old, new in (
        ("slick", "-c[1] * min", "-0.3 * min"),
        ("brake", "-data[0] *", "-data[1] *"),
        ("bogacki", "(2 / 9, 1 / 3, 4 / 9)", "(1 / 4, 1 / 4, 1 / 2)"),
        ("cart", "0.8, ", "0.7, "),
    ):
        edit(name, old, new)
        seen.append(final())
    assert len(set(seen)) == len(seen)
    assert not list(four.glob("__pycache__"))


def test_importing_saltus_looks_for_no_plugins(tmp_path):
    """A wrong setting is told when something is looked up, not when saltus is imported."""
    new_process(
        "-c",
        "import sys, saltus; assert 'saltus.registry' not in sys.modules; import saltus.robots, saltus.control",
        SALTUS_PLUGINS=str(tmp_path / "missing"),
    )
