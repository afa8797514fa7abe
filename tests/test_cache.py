"""The disk cache: never stale after an edit, whole or absent, and not needed."""

import ctypes
import os
import re
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from processors import environment

import saltus
from saltus import _cache, _native
from saltus._cache import cache_folder
from saltus._closure import closure_digest
from saltus._native import CONTROL, KERNEL, compile_entry, compiled, ctypes_entry, entry_of, pointer_to
from saltus.errors import CacheWarning, CompileError


def copy_of_cache(folder, **how):
    """All that is in the cache, but for what other processes are about to write."""
    shutil.copytree(cache_folder(), folder, ignore=shutil.ignore_patterns(".*"), **how)


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
    """Both at once: they are told apart by what they change. Keys of all parts are tested in `test_cache_keys.py`."""
    run, edit = copy
    program = f"{PROGRAM}print(saltus.simulate(saltus.robots.pendulum(), until=1.0).steps)"
    speed, _, steps = run(program)
    edit("contact/_coulomb.py", "need = target - free[1]", "need = 0.9 * (target - free[1])")
    edit("engine/_tableau.py", "D[L.ERROR] = math.sqrt(total / n)", "D[L.ERROR] = 100.0 * math.sqrt(total / n)")
    new_speed, _, new_steps = run(program)
    # steps of another length change a speed by far less
    assert abs(new_speed - speed) > 1e-3
    assert new_steps > steps


def test_damaged_files_are_compiled_anew(copy, tmp_path):
    run, _ = copy
    cache = tmp_path / "cache"
    copy_of_cache(cache)
    good = run(PROGRAM, SALTUS_CACHE=str(cache))
    for path in cache.glob("pendulum-*.bin"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    for path in cache.glob("law-*.bin"):
        path.write_bytes(b"")
    assert run(PROGRAM, SALTUS_CACHE=str(cache)) == good
    assert not list(cache.glob(".new-*"))


SMALL = """
import math
import sys

from saltus._native import KERNEL, compile_entry

{before}


def one(t, x, u, p, out):
    out[0] = math.exp(t)
    return 0


def two(t, x, u, p, out):
    out[0] = 2.0 * t
    return 0


for function in (one, two):
    assert compile_entry(function, KERNEL, function.__name__).place != 0
"""


def small(cache, before=""):
    """Two small kernels, compiled in another process with that folder as its cache; what it writes to the terminal."""
    done = subprocess.run(
        [sys.executable, "-c", SMALL.format(before=before)],
        env={**os.environ, "SALTUS_CACHE": str(cache)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_cache_that_cannot_be_written_is_said_once(tmp_path):
    (tmp_path / "file").touch()
    said = small(tmp_path / "file")
    assert said.count("CacheWarning") == 1
    assert "cannot be stored" in said or "cannot be read" in said


# As on a full disk: no file may become longer than this.
FULL = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)"
FULL += "; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))"

PUSH = """
from dataclasses import dataclass

from saltus.control import Compiled


def law(t, x, status, memory, p, data, piece, u, request):
    u[0] = 0.125
    return 0


@dataclass(frozen=True)
class Push:
    def bind(self, system):
        return Compiled(law, []).bind(system)


CONTROLLER = Push
"""


def test_the_command_line_says_it_in_one_line(tmp_path):
    saltus.simulate(saltus.robots.pendulum(), until=0.1)  # only the controller is still to be compiled
    copy_of_cache(tmp_path / "cache", copy_function=os.symlink)
    (tmp_path / "push.py").write_text(PUSH)
    program = f"{FULL}; from saltus.__main__ import main; main()"
    words = ["run", "pendulum", "--controller", "push", "--plugins", str(tmp_path), "--until", "0.1", "--json"]
    settings = {**os.environ, "SALTUS_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.startswith("saltus: machine code cannot be stored") for line in done.stderr.splitlines()] == [True]


def test_a_full_disk_is_said_once_and_leaves_nothing(tmp_path):
    said = small(tmp_path, FULL)
    assert said.count("CacheWarning") == 1
    assert "SALTUS_CACHE" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"", b"half", b"saltus machine code 0\n" + bytes(5000)], ids=["empty", "cut", "old"]
)
def test_damaged_files_and_those_of_other_versions_are_replaced_and_said_once(tmp_path, content):
    assert small(tmp_path) == ""
    files = {path: path.read_bytes() for path in tmp_path.glob("*.bin")}
    assert len(files) == 2
    for path in files:
        path.write_bytes(content)
    assert small(tmp_path).count("CacheWarning") == 1
    assert all(path.read_bytes().startswith(b"saltus machine code 3") for path in files)
    assert small(tmp_path) == ""


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files belong to users on Unix")
@pytest.mark.parametrize("spoil", ["folder open", "file open", "file of another user"])
def test_code_that_others_may_have_written_is_not_executed(tmp_path, spoil):
    cache = tmp_path / "cache"
    assert small(cache) == ""
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    files = sorted(cache.glob("*.bin"))
    if spoil == "folder open":
        cache.chmod(0o777)
    elif spoil == "file open":
        files[0].chmod(0o666)
    elif os.getuid() != 0:
        pytest.skip("only root can give files away")
    else:
        os.chown(files[0], 12345, 12345)
    said = small(cache)
    assert said.count("CacheWarning") == 1
    assert "SALTUS_CACHE" in said
    # a file of one's own takes the place of a foreign one; in a foreign folder it is not used either
    assert small(cache).count("CacheWarning") == (1 if spoil == "folder open" else 0)


def test_variables_that_are_set_to_nothing_are_not_set(monkeypatch):
    for name in ("SALTUS_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "")
    assert cache_folder().is_absolute()
    assert cache_folder().parent in (Path.home() / ".cache", Path.home() / "Library" / "Caches")


def test_a_process_that_stopped_while_it_compiles_is_not_waited_for_for_ever(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setenv("SALTUS_CACHE", str(tmp_path))
    monkeypatch.setattr(_cache, "LONGEST_WAIT", 0.2)
    monkeypatch.setattr(_cache, "_SAID", set())
    cache, waits, made = _cache.DiskCache("part", "a key"), [], []
    with cache.alone():
        (lock,) = tmp_path.glob(".lock-*")
        with (
            pytest.warns(CacheWarning, match="another process has been compiling part"),
            cache.alone(lambda: waits.append(True)),
        ):
            made.append(True)
    assert (waits, made) == ([True], [True])
    with lock.open("w") as other:  # nobody holds it any more
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_folder_of_two_processors_never_mixes_their_code(tmp_path):
    """Each finds its own files again, and no others."""
    places = []
    for setting in ("host", "generic", "other", "host"):
        known = set(tmp_path.glob("*.bin"))
        command = [sys.executable, str(Path(__file__).parent / "processors.py"), setting, sys.executable, "-c", SMALL]
        command[-1] = command[-1].format(before="")
        done = subprocess.run(command, env={**os.environ, "SALTUS_CACHE": str(tmp_path)}, check=False)
        assert done.returncode == 0
        places.append(set(tmp_path.glob("*.bin")) - known)
    different = len({tuple(sorted(environment(setting).items())) for setting in ("host", "generic", "other")})
    assert sum(map(len, places[:3])) == 2 * different
    assert places[3] == set()


def test_digest_follows_globals_and_helpers():
    def law(x):
        return SCALE * x

    SCALE = 1.0
    first = closure_digest(law)
    SCALE = 2.0
    assert first is not None
    assert closure_digest(law) != first


def test_digest_gives_up_on_what_it_cannot_see():
    def law(x):
        return settings.scale * x

    settings = SimpleNamespace(scale=2.0)
    assert closure_digest(law) is None


def test_functions_of_one_name_have_symbols_of_their_own():
    # Numba counts functions from the start in every process, so from the cache two might come with one number
    def made(value):
        def law(t, x, status, memory, p, data, piece, u, request):
            u[0] = value
            return 0

        return law

    one, two = (compile_entry(made(value), CONTROL, "control-law") for value in (1.0, 2.0))
    symbols = [re.sub(r"B\d+v\d+", "", entry.native_name) for entry in (one, two)]
    assert symbols[0] != symbols[1]


def value_of(function):
    """What a kernel writes at t = 3, by the machine code that it has at this moment."""
    entry, out = entry_of(function, KERNEL, function.__name__), np.zeros(1)
    call = ctypes_entry(entry, ctypes.c_int32, [ctypes.c_double] + [ctypes.c_void_p] * 4)
    assert call(3.0, 0, 0, 0, pointer_to(out)) == 0
    return out[0]


GAIN, TABLE = 1.0, np.ones(2)


@numba.njit
def by_numba(x):
    return GAIN * x


@compiled
def by_saltus(x):
    return GAIN * x


def reads_a_number(t, x, u, p, out):
    out[0] = GAIN * t
    return 0


def reads_a_table(t, x, u, p, out):
    out[0] = TABLE[1] * t
    return 0


def calls_numba(t, x, u, p, out):
    out[0] = by_numba(t)
    return 0


def calls_saltus(t, x, u, p, out):
    out[0] = by_saltus(t)
    return 0


@pytest.mark.parametrize("kernel", [reads_a_number, reads_a_table, calls_numba, calls_saltus])
def test_another_value_of_what_a_function_reads_compiles_it_anew(kernel, monkeypatch, tmp_path):
    """As in a notebook, where a cell is run again; what is stored under each key is the code of that value."""
    monkeypatch.setenv("SALTUS_CACHE", str(tmp_path))
    seen = []
    for gain in (1.0, 5.0, 1.0):
        monkeypatch.setitem(globals(), "GAIN", gain)
        TABLE[1] = gain
        seen.append(value_of(kernel))
    assert seen == [3.0, 15.0, 3.0]
    assert len(list(tmp_path.glob("*.bin"))) == 2
    assert entry_of(kernel, KERNEL, "again") is entry_of(kernel, KERNEL, "again")
    # as in another process, which finds what is stored
    _native._LAST.clear()
    _native._ENTRIES.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_native.Entry, "_compile_uncached", lambda self: pytest.fail("compiled again"))
        patch.setitem(globals(), "GAIN", 5.0)
        TABLE[1] = 5.0
        assert value_of(kernel) == 15.0


def test_a_function_that_cannot_be_compiled_is_tried_again_where_it_has_changed(monkeypatch):
    def kernel(t, x, u, p, out):
        out[0] = LATER * t  # noqa: F821 - it comes later
        return 0

    for _ in range(2):
        with pytest.raises(CompileError, match="LATER"):
            value_of(kernel)
    monkeypatch.setitem(globals(), "LATER", 2.0)
    assert value_of(kernel) == 6.0


def test_two_texts_of_one_name_are_two_functions():
    def made(gain):
        scope = {}
        exec(f"def law(t, x, u, p, out):\n    out[0] = {gain} * t\n    return 0\n", scope)
        return scope["law"]

    assert [value_of(made(gain)) for gain in (1.0, 5.0)] == [3.0, 15.0]


def test_code_with_an_address_of_its_process_is_not_stored(monkeypatch, tmp_path):
    """Numba puts no more than a megabyte of a table into the code itself."""
    monkeypatch.setenv("SALTUS_CACHE", str(tmp_path))
    large = np.arange(200_000.0)

    def kernel(t, x, u, p, out):
        out[0] = large[int(t)]
        return 0

    assert value_of(kernel) == 3.0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("chosen", ["", "~nobody-has-this-name/cache"])
def test_without_a_home_nothing_is_stored_and_that_is_said_once(monkeypatch, chosen):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv("SALTUS_CACHE", chosen)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setattr(_cache, "_SAID", set())

    def made(gain):
        def kernel(t, x, u, p, out):
            out[0] = gain * t
            return 0

        return kernel

    with pytest.warns(CacheWarning, match="SALTUS_CACHE") as said:
        assert [value_of(made(gain)) for gain in (1.25, 1.5)] == [3.75, 4.5]
    assert len(said) == 1


ELSEWHERE = """
import warnings

from saltus._native import KERNEL, compile_entry, compiling_told
from {module} import kernel

warnings.simplefilter("error")
with compiling_told(print):
    compile_entry(kernel, KERNEL, "kernel")
"""


def test_code_of_a_file_that_moved_is_loaded_where_its_old_module_is_unknown(tmp_path):
    said = []
    for module in ("here", "there"):
        folder = tmp_path / module
        folder.mkdir()
        (folder / f"{module}.py").write_text("def kernel(t, x, u, p, out):\n    out[0] = 3.0 * t\n    return 0\n")
        settings = {**os.environ, "SALTUS_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(folder)}
        command = [sys.executable, "-c", ELSEWHERE.format(module=module)]
        done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said == ["kernel\n", ""]


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
    compile_entry(kernel, KERNEL, "alone")
"""


def test_what_another_process_compiles_is_waited_for(tmp_path):
    script = tmp_path / "alone.py"
    script.write_text(ALONE)
    surroundings = os.environ | {"SALTUS_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, str(script), str(time.time() + 4)]
    several = [subprocess.Popen(command, env=surroundings, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    told = [one.communicate(timeout=120)[0] for one in several]
    assert [one.returncode for one in several] == [0, 0, 0]
    # one compiles, and who comes while it does so waits
    assert "".join(told).count("alone\n") == 1
    assert set("".join(told).splitlines()) <= {"alone", "alone, which another process compiles"}
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".bin"]
