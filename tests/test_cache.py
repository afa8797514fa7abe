"""The disk cache: never stale after an edit, whole or absent, and not needed."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import saltus
from saltus._native import CONTROL, cache_folder, compile_entry, function_digest

PROGRAM = """
import saltus
from saltus.control import PD
ball = saltus.simulate(saltus.robots.bouncing_ball(restitution=0.5), {"y": 1.0}, until=0.6)
arm = saltus.simulate(saltus.robots.pendulum(), controller=PD(kp=5.0), until=0.5)
print(ball.final["dy"], arm.final["theta"])
"""


@pytest.fixture
def copy(tmp_path):
    """A copy of the package that may be edited, and a way to run a program with it."""
    package = tmp_path / "saltus"
    shutil.copytree(Path(saltus.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))

    def run(program, **environment):
        settings = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1", **environment}
        done = subprocess.run(
            [sys.executable, "-c", program], env=settings, capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        return [float(number) for number in done.stdout.split()]

    def edit(name, old, new):
        path = package / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return run, edit


def test_an_edit_is_never_missed(copy):
    run, edit = copy
    before = run(PROGRAM)
    assert run(PROGRAM) == before
    edit("contact/laws/newton.py", "target = -c[1] * before[1]", "target = -0.5 * c[1] * before[1]")
    law = run(PROGRAM)
    assert law[0] != before[0]
    assert law[1] == before[1]
    edit("control/pd.py", "u[k] = data[d + 2] *", "u[k] = 2.0 * data[d + 2] *")
    controller = run(PROGRAM)
    assert controller[0] == law[0]
    assert controller[1] != law[1]


def test_edits_of_the_engine_and_of_helpers_in_other_files_are_never_missed(copy):
    """Both at once, since each compiles the whole engine anew; they are told apart by what they change."""
    run, edit = copy
    program = f"{PROGRAM}print(saltus.simulate(saltus.robots.pendulum(), until=1.0).steps)"
    speed, _, steps = run(program)
    edit("contact/_coulomb.py", "need = target - free[1]", "need = 0.9 * (target - free[1])")
    edit("engine/_stepsize.py", "factor = 0.9 * _exp2(", "factor = 0.45 * _exp2(")
    new_speed, _, new_steps = run(program)
    # steps of another length change a speed by far less
    assert abs(new_speed - speed) > 1e-3
    assert new_steps > steps


def test_damaged_files_are_compiled_anew(copy, tmp_path):
    run, _ = copy
    cache = tmp_path / "cache"
    shutil.copytree(cache_folder(), cache)
    good = run(PROGRAM, SALTUS_CACHE=str(cache))
    for path in cache.glob("pendulum-*.bin"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    for path in cache.glob("law-*.bin"):
        path.write_bytes(b"")
    assert run(PROGRAM, SALTUS_CACHE=str(cache)) == good
    assert not list(cache.glob(".new-*"))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_cache_costs_only_time(copy, tmp_path):
    run, _ = copy
    cache = tmp_path / "cache"
    shutil.copytree(cache_folder(), cache)
    for path in cache.glob("control-*.bin"):
        path.unlink()
    cache.chmod(0o500)
    assert len(run(PROGRAM, SALTUS_CACHE=str(cache))) == 2


def test_digest_follows_globals_and_helpers():
    def law(x):
        return SCALE * x

    SCALE = 1.0
    first = function_digest(law)
    SCALE = 2.0
    assert first is not None
    assert function_digest(law) != first


def test_digest_gives_up_on_what_it_cannot_see():
    def law(x):
        return sys.float_info.max * x

    assert function_digest(law) is None


def test_functions_of_one_name_have_symbols_of_their_own():
    # Numba counts functions from the start in every process, so from the cache two might come with one number
    def made(value):
        def law(t, x, status, memory, p, data, piece, u, request):
            u[0] = value
            return 0

        return law

    one, two = (compile_entry(made(value), CONTROL, "control-law", f"test of {value}") for value in (1.0, 2.0))
    symbols = [re.sub(r"B\d+v\d+", "", entry.native_name) for entry in (one, two)]
    assert symbols[0] != symbols[1]


ALONE = """
import math
import sys
import time

from saltus._native import KERNEL, compile_entry, compiling_told


def kernel(t, x, u, p, out):
    total = 0.0
    for k in range(100):
        total += math.sin(x[k]) * math.exp(u[k]) + p[k] ** 3
    out[0] = total
    return 0


while time.time() < float(sys.argv[1]):
    pass
with compiling_told(print):
    compile_entry(kernel, KERNEL, "alone", "a key")
"""


def test_what_another_process_compiles_is_waited_for(tmp_path):
    script = tmp_path / "alone.py"
    script.write_text(ALONE)
    surroundings = os.environ | {"SALTUS_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, str(script), str(time.time() + 4)]
    several = [subprocess.Popen(command, env=surroundings, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    told = [one.communicate(timeout=120)[0] for one in several]
    assert [one.returncode for one in several] == [0, 0, 0]
    assert "".join(told) == "alone\n"
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".bin"]
