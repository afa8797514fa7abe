"""The disk cache: never stale after an edit, whole or absent, and not needed."""

import ctypes
import os
import pickle
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


def codegen(name="haswell", features="+fma"):
    """What numba knows of a processor."""
    return SimpleNamespace(magic_tuple=lambda: ("x86_64-unknown-linux-gnu", name, features))


def test_a_file_is_of_one_key_one_processor_and_the_versions_in_use(monkeypatch):
    path = _cache.DiskCache("part", "a key").path(codegen())
    assert path == _cache.DiskCache("part", "a key").path(codegen())
    others = [_cache.DiskCache("part", "another key").path(codegen())]
    others += [_cache.DiskCache("part", "a key").path(one) for one in (codegen("znver3"), codegen(features="-fma"))]
    for library in (_cache.numba, _cache.llvmlite, _cache.np):
        with monkeypatch.context() as changed:
            changed.setattr(library, "__version__", "0.0.0")
            others.append(_cache.DiskCache("part", "a key").path(codegen()))
    for place, name, value in ((sys, "version", "3.99"), (_cache.platform, "machine", lambda: "aarch64")):
        with monkeypatch.context() as changed:
            changed.setattr(place, name, value)
            others.append(_cache.DiskCache("part", "a key").path(codegen()))
    assert len({path, *others}) == 1 + len(others)


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


@pytest.mark.parametrize("relative", ["cache", "./cache", "~/cache", "."])
def test_a_relative_folder_of_all_caches_is_ignored(relative, monkeypatch, tmp_path):
    """Otherwise machine code would come from whatever folder one works in."""
    monkeypatch.setattr(_cache.sys, "platform", "linux")
    monkeypatch.delenv("SALTUS_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", relative)
    assert cache_folder() == Path.home() / ".cache" / "saltus"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "saltus"


def test_a_home_that_is_set_to_nothing_is_not_set(monkeypatch):
    pwd = pytest.importorskip("pwd")
    monkeypatch.setattr(_cache.sys, "platform", "linux")
    for name in ("SALTUS_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, "")
    assert cache_folder() == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "saltus"


@pytest.mark.parametrize(
    ("system", "place"),
    [
        ("linux", ".cache/saltus"),
        ("darwin", "Library/Caches/saltus"),
        ("win32", "saltus"),
        ("freebsd", ".cache/saltus"),
    ],
)
def test_the_cache_is_where_each_system_keeps_caches(system, place, monkeypatch):
    for name in ("SALTUS_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_cache.sys, "platform", system)
    assert _cache._chosen_folder() == Path.home() / place


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


def test_a_file_in_which_one_bit_is_another_is_not_used(tmp_path):
    """Also where it could still be loaded, and would be run: what is read is what was written, or nothing."""
    assert small(tmp_path) == ""
    path = min(tmp_path.glob("*.bin"))
    good = path.read_bytes()
    where = len(good) // 2
    path.write_bytes(good[:where] + bytes([good[where] ^ 1]) + good[where + 1 :])
    assert "is damaged or of another version" in small(tmp_path)
    assert path.read_bytes()[: len(_cache._HEAD)] == _cache._HEAD
    assert small(tmp_path) == ""


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


# -- folders of others ----------------------------------------------------------------------------------

POSIX = pytest.mark.skipif(not hasattr(os, "getuid"), reason="files belong to users on Unix")
ROOT = pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away")
OTHER = 12345


def shared(folder):
    """A folder as /tmp is: all may write, and each removes only what is theirs."""
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def parent_open(folder):
    """Others can put another folder in the place of the cache."""
    folder.chmod(0o777)
    return folder / "cache"


def parent_of_parent_open(folder):
    (folder / "between").mkdir()
    folder.chmod(0o777)
    return folder / "between" / "cache"


def link_to_open(folder):
    (folder / "open").mkdir()
    (folder / "open" / "real").mkdir(parents=True)
    (folder / "open").chmod(0o777)
    (folder / "link").symlink_to(folder / "open" / "real")
    return folder / "link"


def link_to_shared(folder):
    (folder / "link").symlink_to(shared(folder / "all"))
    return folder / "link"


def folder_of_another(folder):
    (folder / "cache").mkdir()
    os.chown(folder / "cache", OTHER, OTHER)
    return folder / "cache"


def parent_of_another(folder):
    (folder / "their").mkdir()
    (folder / "their" / "cache").mkdir()
    os.chown(folder / "their", OTHER, OTHER)
    return folder / "their" / "cache"


def link_of_another(folder):
    """In a folder such as /tmp, another user made a link to a folder of one's own."""
    (folder / "mine").mkdir(mode=0o700)
    link = shared(folder / "all") / "cache"
    link.symlink_to(folder / "mine")
    os.chown(link, OTHER, OTHER, follow_symlinks=False)
    return link


@POSIX
@pytest.mark.parametrize("make", [parent_open, parent_of_parent_open, link_to_open, link_to_shared])
def test_folders_that_others_can_exchange_are_not_used(make, tmp_path):
    assert _cache._foreign(make(tmp_path)).endswith("may be written by others")


@ROOT
@pytest.mark.parametrize("make", [folder_of_another, parent_of_another, link_of_another])
def test_folders_of_others_are_not_used(make, tmp_path):
    assert _cache._foreign(make(tmp_path)).endswith("belongs to another user")


@POSIX
def test_folders_of_ones_own_are_used(tmp_path):
    mine = shared(tmp_path / "all") / "mine"
    mine.mkdir(mode=0o700)
    (tmp_path / "one").symlink_to("all/../two")
    (tmp_path / "two").symlink_to(mine)
    for folder in (mine, tmp_path / "one", tmp_path / "all" / ".." / "two", tmp_path):
        assert _cache._foreign(folder) == ""
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match="round"):
        _cache._foreign(tmp_path / "round")


@POSIX
def test_a_group_of_ones_own_may_write(tmp_path, monkeypatch):
    """Where a group has the user's name, and nobody else is in it."""
    import grp
    import pwd

    user = pwd.getpwuid(os.getuid())
    cases = [([], user.pw_name, True), ([user.pw_name], user.pw_name, True), (["eve"], user.pw_name, False)]
    (tmp_path / "cache").mkdir()
    os.chown(tmp_path / "cache", -1, user.pw_gid)
    (tmp_path / "cache").chmod(0o770)
    for members, name, good in [*cases, ([], "staff", False)]:
        _cache._alone_in.cache_clear()
        group = SimpleNamespace(gr_gid=user.pw_gid, gr_name=name, gr_mem=members)
        monkeypatch.setattr(grp, "getgrgid", lambda _, group=group: group)
        assert (_cache._foreign(tmp_path / "cache") == "") == good
    _cache._alone_in.cache_clear()


@POSIX
def test_nothing_is_written_to_a_folder_of_others(tmp_path):
    """Neither machine code nor a lock, which might be a link to something else."""
    cache, victim = tmp_path / "cache", tmp_path / "victim"
    cache.mkdir()
    victim.write_text("of use")
    key = closure_key_of_small()
    for name in key:
        (cache / f".lock-{name}").symlink_to(victim)
    cache.chmod(0o777)
    said = small(cache)
    assert said.count("CacheWarning") == 1
    assert victim.read_text() == "of use"
    assert list(cache.glob("*.bin")) == []
    # nor through a link in a folder of one's own
    cache.chmod(0o700)
    assert small(cache) == ""
    assert victim.read_text() == "of use"
    assert len(list(cache.glob("*.bin"))) == 2


def closure_key_of_small():
    """The names of the locks of the two small kernels."""
    program = SMALL.format(before="").replace("compile_entry(function, KERNEL, function.__name__).place != 0", "True")
    program += """
import hashlib
from saltus._native import Entry
for function in (one, two):
    print(hashlib.sha256(Entry(function, KERNEL, function.__name__).key.encode()).hexdigest()[:40])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


@POSIX
def test_no_lock_is_made_in_a_folder_of_others(tmp_path, monkeypatch):
    monkeypatch.setenv("SALTUS_CACHE", str(tmp_path))
    monkeypatch.setattr(_cache, "_SAID", set())
    with _cache.DiskCache("part", "a key").alone():
        assert len(list(tmp_path.iterdir())) == 1
    tmp_path.chmod(0o777)
    with pytest.warns(CacheWarning, match="SALTUS_CACHE"), _cache.DiskCache("part", "a key").alone():
        assert list(tmp_path.iterdir()) == []


class Harm:
    """What makes a folder when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def test_nothing_is_unpickled_before_its_digest_is_right(tmp_path):
    """A damaged file may hold a pickle that can be read."""
    cache, mark = tmp_path / "cache", tmp_path / "mark"
    assert small(cache) == ""
    for path in cache.glob("*.bin"):
        head = path.read_bytes()[: len(_cache._HEAD) + _cache._DIGEST]
        path.write_bytes(head + pickle.dumps(Harm(mark)))
    assert small(cache).count("CacheWarning") == 1
    assert not mark.exists()


@POSIX
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path):
    cache = tmp_path / "cache"
    assert small(cache) == ""
    files = sorted(cache.glob("*.bin"))
    for path in files:
        path.unlink()
        os.mkfifo(path)
    assert "is no plain file" in small(cache)
    assert [path.is_file() for path in files] == [True, True]
    assert small(cache) == ""


@POSIX
def test_folders_on_the_way_are_made_for_the_user_alone(tmp_path):
    before = os.umask(0)
    try:
        _cache._make(tmp_path / "a" / "b" / "cache")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b", "a/b/cache")]
    assert modes == [0o755, 0o755, 0o700]
    assert _cache._foreign(tmp_path / "a" / "b" / "cache") == ""


def test_a_wait_that_is_long_says_for_which_process(tmp_path, monkeypatch):
    pytest.importorskip("fcntl")
    monkeypatch.setenv("SALTUS_CACHE", str(tmp_path))
    monkeypatch.setattr(_cache, "LONGEST_WAIT", 0.4)
    monkeypatch.setattr(_cache, "LONG_WAIT", 0.1)
    monkeypatch.setattr(_cache, "_SAID", set())
    cache = _cache.DiskCache("part", "a key")
    with (
        cache.alone(),
        pytest.warns(CacheWarning, match=f"process {os.getpid()} has been compiling part for 0.1 s; saltus waits"),
        pytest.warns(CacheWarning, match="saltus compiles it too"),
        cache.alone(),
    ):
        pass
