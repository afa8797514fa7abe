"""Files from anywhere: sizes are known before anything expands, depths and lengths are limited, digests are checked."""

import io
import json
import math
import os
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from records import reworded

import saltus
from saltus import _reading, _write
from saltus._provenance import provenance
from saltus._reading import MOST_DEEP, parse_json
from saltus._records import load_arrays, load_record, save_arrays, save_record, write_json
from saltus.control import PD, Constant, Points, Schedule, Table
from saltus.errors import InputError, SaltusError

KIND = "a test 1"

# -- archives of arrays -------------------------------------------------------------------------------


@pytest.fixture
def archive(tmp_path):
    """A whole file of words and one array, and its parts as bytes."""
    path = save_arrays(tmp_path / "good.npz", KIND, {"a": 1}, {"values": np.arange(12.0).reshape(3, 4)})
    with zipfile.ZipFile(path) as file:
        return path, {info.filename: file.read(info) for info in file.infolist()}


def packed(path, parts, how=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", how) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return path


def header(shape, kind="<f4"):
    """The beginning of an array's file."""
    begin = io.BytesIO()
    np.lib.format.write_array_header_1_0(begin, {"descr": kind, "fortran_order": False, "shape": shape})
    return begin.getvalue()


def test_words_and_arrays_come_back(archive):
    head, arrays = load_arrays(archive[0], KIND, ("values", "others"))
    assert head == {"a": 1}
    assert list(arrays) == ["values"]
    np.testing.assert_array_equal(arrays["values"], np.arange(12.0).reshape(3, 4))


def refused_in_little_room(path, match):
    """Refused with less than 20 MB of memory at any time."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=match):
            load_arrays(path, KIND, ("values",))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_a_file_that_would_expand_is_refused_before_it_does(archive, tmp_path):
    size = 200_000_000
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as file:
        for name in ("head.npy", "digest.npy"):
            file.writestr(name, archive[1][name])
        with file.open("values.npy", "w") as part:
            part.write(header((size // 4,)))
            for _ in range(size // 10_000_000):
                part.write(bytes(10_000_000))
    assert (tmp_path / "bomb.npz").stat().st_size < 2_000_000
    refused_in_little_room(tmp_path / "bomb.npz", r"would expand from .* to 200,00.* bytes")
    # words may be packed, but are never long
    packed(tmp_path / "words.npz", {**archive[1], "head.npy": bytes(30_000_000)}, zipfile.ZIP_DEFLATED)
    refused_in_little_room(tmp_path / "words.npz", "words take more than 8 MB")


@pytest.mark.parametrize("shape", [(10**12,), (10**400,), (0, 10**400), (-3, -4), (3, 5)], ids=str)
def test_an_array_takes_no_more_room_than_its_part_has(archive, tmp_path, shape):
    bad = packed(tmp_path / "bad.npz", {**archive[1], "values.npy": header(shape) + bytes(48)})
    refused_in_little_room(bad, "damaged")


def test_parts_that_lie_upon_each_other_are_refused(archive, tmp_path):
    """As many times the same bytes as there are names for them."""
    bad = packed(tmp_path / "bad.npz", {**archive[1], "values.npy": header((5_000_000,)) + bytes(20_000_000)})
    with zipfile.ZipFile(bad, "a") as file:
        one = file.getinfo("values.npy")
        for k in range(20):
            other = zipfile.ZipInfo(f"values{k}.npy")
            for name in ("header_offset", "CRC", "compress_size", "file_size"):
                setattr(other, name, getattr(one, name))
            file.filelist.append(other)
        file._didModify = True
    refused_in_little_room(bad, "its parts are head, digest, values, values0")


def test_objects_are_never_unpickled(archive, tmp_path):
    content = io.BytesIO()
    np.save(content, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    bad = packed(tmp_path / "bad.npz", {**archive[1], "values.npy": content.getvalue()})
    with pytest.raises(InputError, match="values has not the size that it says"):
        load_arrays(bad, KIND, ("values",))


def test_every_byte_of_the_numbers_and_words_counts(archive, tmp_path):
    _, parts = archive
    for name, content in parts.items():
        for k in range(0, len(content), 7):
            changed = content[:k] + bytes([content[k] ^ 0x01]) + content[k + 1 :]
            bad = packed(tmp_path / "bad.npz", {**parts, name: changed})
            try:
                head, arrays = load_arrays(bad, KIND, ("values",))
            except InputError:
                continue
            # a byte of a header that says the same in another way
            assert head == {"a": 1}
            assert arrays["values"].tolist() == np.arange(12.0).reshape(3, 4).tolist()


def test_a_table_that_would_expand_is_refused(tmp_path):
    path = tmp_path / "table.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in (("head", json.dumps({"format": "saltus table 3"})), ("digest", "")):
            content = io.BytesIO()
            np.save(content, np.array(text))
            file.writestr(f"{name}.npy", content.getvalue())
        file.writestr("values.npy", header((10_000_000,)) + bytes(40_000_000))
    with pytest.raises(InputError, match="would expand from"):
        Table.load(path)


# -- JSON ---------------------------------------------------------------------------------------------

DEEP = 100_000


@pytest.mark.parametrize("text", ["[" * DEEP, '{"a":' * DEEP, "[" * DEEP + "]" * DEEP, '[{"a":[' * DEEP])
def test_brackets_in_brackets_are_refused(text, tmp_path):
    with pytest.raises(InputError, match="more than 64 deep"):
        parse_json(text)
    (tmp_path / "deep.json").write_text(text)
    with pytest.raises(InputError, match=r"deep.json: brackets in brackets"):
        load_record(tmp_path / "deep.json", KIND)


def test_brackets_in_words_do_not_count():
    word = '[{"' * DEEP
    assert parse_json(json.dumps({word: [word, "\\", '"']})) == {word: [word, "\\", '"']}
    assert parse_json("[" * MOST_DEEP + "]" * MOST_DEEP)
    with pytest.raises(json.JSONDecodeError):
        parse_json('"' + '\\"' * 1_000_000)  # a word that does not end is gone through once


VALUES = st.none() | st.integers() | st.text() | st.floats(allow_nan=False)


@settings(max_examples=60, deadline=None)
@given(st.recursive(VALUES, lambda one: st.lists(one) | st.dictionaries(st.text(), one), max_leaves=8))
def test_what_python_writes_is_read(content):
    assert parse_json(json.dumps(content)) == content


def test_long_numbers_are_refused():
    assert math.isfinite(float(parse_json("9" * 300)))
    with pytest.raises(InputError, match="at most 300 digits, got one of 400"):
        parse_json(f'{{"a": [{"1" * 400}]}}')
    with pytest.raises(InputError, match="at most 300 digits"):
        parse_json("-" + "1" * 5000)


def test_long_files_and_those_without_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_reading, "MOST_BYTES", 1_000_000)
    (tmp_path / "long.json").write_text(" " * 1_000_001)
    for path in (tmp_path / "long.json", Path("/dev/zero")):
        if path.exists():
            with pytest.raises(InputError, match="is longer than 1 MB"):
                load_record(path, KIND)


def test_an_archive_without_end_is_not_read_to_its_end(tmp_path):
    for path in (Path("/dev/zero"), tmp_path):
        if path.exists():
            refused_in_little_room(path, "it is no plain file")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "is no JSON, or damaged"),
        (b"\xff\xfe", "is no JSON, or damaged"),
        (b"[1]", "does not name its format"),
        (b'{"format": 1}', "does not name its format"),
        (b'{"format": "a test 2"}', "another kind, 'a test 2'; this is for 'a test 1'"),
        (b'{"format": "a test 1"}', "not those that were written"),
        (b'{"format": "a test 1", "digest": NaN}', "not those that were written"),
        (None, "cannot read .*: No such file"),
    ],
)
def test_what_is_no_record_is_refused(content, match, tmp_path):
    if content is not None:
        (tmp_path / "file.json").write_bytes(content)
    with pytest.raises(InputError, match=match):
        load_record(tmp_path / "file.json", KIND)


def test_records_come_back_and_an_edit_is_seen(tmp_path):
    content = {"b": [1.5, -math.inf, 10**25, "ü"], "a": {"x": None, "y": True}}
    path = save_record(tmp_path / "file.json", KIND, content)
    assert load_record(path, KIND) == content
    reworded(path, a={"x": None, "y": False})
    assert load_record(path, KIND)["a"] == {"x": None, "y": False}
    reworded(path, a={"x": None, "y": True}, whole=False)
    with pytest.raises(InputError, match="not those that were written"):
        load_record(path, KIND)


# -- robots and numbers from anywhere -----------------------------------------------------------------


def urdf(joints, kind="revolute", pad=""):
    """A chain of links."""
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f'<link name="link{pad}{k}">{inertia}</link>' for k in range(joints + 1))
    hung = "".join(
        f'<joint name="joint{k}" type="{kind}"><parent link="link{pad}{k}"/><child link="link{pad}{k + 1}"/>'
        '<axis xyz="0 1 0"/><limit effort="1" velocity="1" lower="-1" upper="1"/></joint>'
        for k in range(joints)
    )
    return f'<robot name="chain">{links}{hung}</robot>'


BOMB = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><robot name="&b;"/>'


@pytest.mark.parametrize("read", [saltus.read_urdf, saltus.lint_urdf])
@pytest.mark.parametrize(
    ("text", "match"),
    [
        ('<robot name="r">' + "<a>" * DEEP + "</a>" * DEEP + "</robot>", "more than 64 deep"),
        (
            urdf(1).replace('mass value="1"', f'mass value="{"9" * 400}"'),
            r"\(400 letters\)\" of <mass> in line 1",
        ),
        (urdf(201), "at most 200 joints of a robot move, here 201 do"),
        (urdf(1001, "fixed"), "at most 1000 links, this one has 1002"),
        (urdf(1, pad="x" * 1000), "has 1005 letters; at most 200"),
        (BOMB, "the entity 'a' is declared"),
    ],
    ids=["deep", "number", "moving", "links", "name", "entities"],
)
def test_robots_that_are_too_much_are_refused(read, text, match):
    with pytest.raises(InputError, match=match):
        read(text)


@pytest.mark.parametrize("encoding", ["utf-7", "utf-16", "latin-1", "no-such-encoding"])
def test_a_robot_is_the_text_whatever_encoding_it_says_it_had(encoding):
    text = urdf(1).replace('"joint0"', '"kn\N{LATIN SMALL LETTER I WITH DIAERESIS}"')
    declared = f'<?xml version="1.0" encoding="{encoding}"?>' + text
    assert list(saltus.read_urdf(declared).coordinates) == list(saltus.read_urdf(text).coordinates)


@pytest.mark.parametrize("read", [saltus.read_urdf, saltus.lint_urdf])
def test_a_name_that_no_file_can_have_is_refused(read):
    with pytest.raises(InputError, match="cannot read URDF file"):
        read("a\0b.urdf")


def test_long_robots_and_tables_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_reading, "MOST_BYTES", 1000)
    path = tmp_path / "long.urdf"
    path.write_text(urdf(10))
    for read in (saltus.read_urdf, saltus.contact.World.read, lambda one: Points(file=str(one)).schedule()):
        with pytest.raises(InputError, match="longer than"):
            read(path)


HUGE = 10**400


@pytest.mark.parametrize("number", [HUGE, -HUGE], ids=["large", "negative"])
@pytest.mark.parametrize(
    "make",
    [
        lambda n: saltus.simulate(saltus.robots.pendulum(), until=n),
        lambda n: saltus.simulate(saltus.robots.pendulum(), until=1.0, rtol=n),
        lambda n: saltus.simulate(saltus.robots.pendulum(), {"theta": n}, until=1.0),
        lambda n: saltus.simulate_many(saltus.robots.pendulum(), {"theta": [0, n]}, until=1.0),
        lambda n: saltus.robots.pendulum(mass=n),
        lambda n: PD(kp=n).bind(saltus.robots.pendulum()),
        lambda n: Constant(n).bind(saltus.robots.pendulum()),
        lambda n: Points((0, 1), (n, 1)).bind(saltus.robots.pendulum()),
        lambda n: Schedule((0, 1), [[[n]], [[0]]]).bind(saltus.robots.pendulum()),
        lambda n: Schedule((0, 1), [[[n]], [[0, 1]]]).bind(saltus.robots.pendulum()),
        lambda n: saltus.contact.World(((0, 0), (n, 1))),
        lambda n: saltus.contact.ladder(n, 3),
        lambda n: saltus.contact.rope(n),
    ],
)  # fmt: skip
def test_numbers_larger_than_any_are_refused(make, number):
    with pytest.raises(InputError):
        make(number)


@pytest.mark.parametrize("text", ["[" * DEEP, "1" * 400, "[" + "1" * 5000 + "]"], ids=["deep", "number", "list"])
def test_options_of_controllers_are_limited(call, text):
    code, _, err = call("run", "pendulum", "--controller", "pd", "--control", f"kp={text}")
    assert code == 2
    assert len(err.splitlines()) == 1


# -- what made a file ---------------------------------------------------------------------------------


def test_files_say_what_made_them(tmp_path):
    import platform

    made = provenance()
    assert made["saltus"] == saltus.__version__
    assert {"Python", "numpy", "casadi", "numba", "processor", "machine"} <= set(made)
    words = " ".join(made.values())
    for private in (platform.node(), os.environ.get("USER", ""), str(Path.home()), os.sep + "usr"):
        assert not private or private not in words
    for path in (save_record(tmp_path / "a.json", KIND, {}), write_json(tmp_path / "b.json", {"x": 1})):
        assert json.loads(path.read_text())["made_with"] == made
    with np.load(save_arrays(tmp_path / "c.npz", KIND, {}, {})) as file:
        assert json.loads(str(file["head"]))["made_with"] == made
    made["saltus"] = "another"  # a copy
    assert provenance()["saltus"] == saltus.__version__


def test_runs_say_what_made_them(tmp_path):
    import scipy.io
    import xarray

    run = saltus.simulate(saltus.robots.bouncing_ball(), {"y": 1.0}, until=0.1)
    with xarray.open_dataset(run.save(tmp_path / "ball.nc"), engine="h5netcdf") as data:
        words = data.attrs["made_with"]
    for name, value in provenance().items():
        assert f"{name} {value}" in words
    content = scipy.io.loadmat(run.save(tmp_path / "ball.mat"), simplify_cells=True)
    assert content["attributes"]["made_with"] == words


# -- all or nothing, and on the disk ------------------------------------------------------------------


def test_a_file_is_on_the_disk_before_it_has_its_name_and_the_name_after(tmp_path, monkeypatch):
    done = []
    sync, replace = os.fsync, os.replace

    def synced(handle):
        done.append(Path(f"/proc/self/fd/{handle}").readlink())
        sync(handle)

    def replaced(old, new):
        done.append((Path(old), Path(new)))
        replace(old, new)

    if not Path("/proc/self/fd").exists():
        pytest.skip("names of open files are only known on Linux")
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    path = tmp_path / "file.txt"
    for write in (
        lambda: _write.write(path, b"content"),
        lambda: save_record(path, KIND, {}),
        lambda: save_arrays(path, KIND, {}, {}),
    ):
        done.clear()
        write()
        temporary, (old, new), folder = done
        assert temporary == old
        assert new == path
        assert folder == tmp_path


@pytest.mark.parametrize("broken", ["fsync", "replace", "chmod"])
def test_a_write_that_fails_leaves_what_was(tmp_path, monkeypatch, broken):
    path = tmp_path / "file.json"
    path.write_text("before")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, broken, fail)
    for write in (
        lambda: _write.write(path, b"content"),
        lambda: save_record(path, KIND, {}),
        lambda: save_arrays(path, KIND, {}, {"a": np.zeros(3)}),
    ):
        with pytest.raises(SaltusError, match=r"cannot write .*: No space left"):
            write()
        assert [one.name for one in tmp_path.iterdir()] == ["file.json"]
        assert path.read_text() == "before"


def test_a_folder_that_cannot_be_synced_is_no_reason_to_fail(tmp_path, monkeypatch):
    sync = os.fsync

    def synced(handle):
        if Path(f"/proc/self/fd/{handle}").is_dir():
            raise OSError(22, "Invalid argument")
        sync(handle)

    monkeypatch.setattr(os, "fsync", synced)
    assert _write.write(tmp_path / "file", b"content").read_bytes() == b"content"


def test_what_killed_processes_left_is_removed(tmp_path):
    """What a living process writes stays, and so does what belongs to another file."""
    path = tmp_path / "part.npz"
    names = (".new-part.npz-dead.npz", ".new-part.npz-young.npz", ".new-part.npz-alive.npz", ".new-other.npz-x.npz")
    dead, young, alive, other = (tmp_path / name for name in names)
    for one in (dead, young, alive, other):
        one.write_bytes(b"half")
        if one != young:
            os.utime(one, (1e9, 1e9))
    with alive.open("rb") as file:
        assert _write._lock(file)
        save_arrays(path, KIND, {}, {})
    assert {one.name for one in tmp_path.iterdir()} == {path.name, young.name, alive.name, other.name}
