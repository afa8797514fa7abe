"""Reading a trajectory: samples, the continuous motion, files, and an audit that can fail."""

import csv
import dataclasses
import json
import math
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import scipy.io
import xarray

import saltus
from saltus.control import Sine
from saltus.engine import _layout as L
from saltus.errors import InputError, SaltusError
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, Mechanism, Revolute


@pytest.fixture(scope="module")
def bounce():
    return saltus.simulate(saltus.robots.bouncing_ball(), {"y": 1.0, "dx": 0.5}, until=2.0, output_step=0.01)


@pytest.fixture(scope="module")
def block():
    return saltus.simulate(saltus.robots.block(), controller=Sine(amplitude=6.0), until=2.0)


def test_samples_have_both_sides_of_every_event(bounce):
    for event in bounce.events:
        rows = np.flatnonzero(np.abs(bounce.t - event.t) < 1e-12)
        assert len(rows) == 2
        assert bounce.x[rows[0], 3] == pytest.approx(event.state_before["dy"], abs=1e-9)
        assert bounce.x[rows[1], 3] == pytest.approx(event.state_after["dy"], abs=1e-9)


def test_regular_samples(bounce):
    regular = np.arange(201) * 0.01
    assert np.isin(np.round(regular, 9), np.round(bounce.t, 9)).all()
    assert (np.diff(bounce.t) >= 0).all()


def test_continuous_motion_between_samples(bounce):
    t = 0.3
    assert bounce.at(t)[1] == pytest.approx(1 - 0.5 * 9.81 * t**2, abs=1e-13)
    many = bounce.at([0.1, 0.2, 0.3])
    assert many.shape == (3, 4)
    with pytest.raises(InputError, match="between 0 and 2"):
        bounce.at(2.1)


def test_dataset_is_labelled(block):
    data = block.dataset
    assert set(data.mode.values) == {"stick", "slip+", "slip-"}
    assert list(data.row.values) == ["block.t", "block.n"]
    assert data.attrs["parameter_mu"] == 0.3
    friction, normal = data.force.sel(row="block.t"), data.force.sel(row="block.n")
    assert float(abs(friction / normal).max()) <= 0.3 * (1 + 1e-12)
    assert np.allclose(data.torque.sel(actuator="push"), 6 * np.sin(2 * math.pi * data.t), atol=1e-12)
    assert float(abs(data.energy_residual).max()) < 1e-7


def test_netcdf(block, tmp_path):
    path = block.save(tmp_path / "block.nc")
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        assert np.array_equal(data.q.values, block.dataset.q.values)
        assert list(data.mode.values) == list(block.dataset.mode.values)


def test_matlab(block, tmp_path):
    content = scipy.io.loadmat(block.save(tmp_path / "block.mat"), squeeze_me=True)
    assert np.array_equal(content["q"], block.dataset.q.values)
    assert list(content["mode"]) == list(block.dataset.mode.values)
    assert content["events"]["t"].tolist() == [event.t for event in block.events]


def test_csv(block, tmp_path):
    path = block.save(tmp_path / "block.csv")
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["s"]) for row in rows] == block.dataset.q.values[:, 0].tolist()
    assert rows[0]["mode"] == "stick"


LONG = "x" * 60


@pytest.fixture(scope="module")
def chain():
    """Joints that are named as columns of a file are, and parameters whose names are long or not plain."""
    m = Mechanism("chain")
    m.gravity = m.parameter("g", 9.81, "m/s^2")
    mass, inertia = m.parameter(f"{LONG}_mass", 1.0, "kg"), m.parameter(f"{LONG}_inertia", 2.0, "kg m^2")
    length = m.parameter("L\u00e4nge", 0.5, "m")
    body = None
    for name in ("t", "mode", "arc", "energy", "torque_t", "q_t"):
        joint = Revolute(name, at=(length, 0))
        body = m.body(f"of_{name}", joint, parent=body, mass=mass, inertia=inertia, com=(length, 0))
    m.actuator("t", "t")
    return saltus.simulate(HybridSystem(m), {"t": 0.3, "energy": -0.2}, until=0.1)


def test_no_column_hides_another(chain, tmp_path):
    with chain.save(tmp_path / "chain.csv").open() as file:
        header, *rows = csv.reader(file)
    data = chain.dataset
    assert len(set(header)) == len(header)
    assert header[:7] == ["t", "q_q_t", "q_mode", "q_arc", "q_energy", "q_torque_t", "q_t"]
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    assert set(columns["mode"]) == {"free"}
    numbers = {name: list(map(float, column)) for name, column in columns.items() if name != "mode"}
    assert numbers["t"] == data.t.values.tolist()
    assert numbers["energy"] == data.energy.values.tolist()
    assert numbers["torque_t"] == data.torque.values[:, 0].tolist()
    for label, name in zip(data.coordinate.values, header[1:7], strict=True):
        assert numbers[name] == data.q.sel(coordinate=label).values.tolist()
    for label in data.velocity.values:
        assert numbers[label] == data.v.sel(velocity=label).values.tolist()


def test_a_velocity_that_is_named_as_a_column_is(tmp_path):
    """The rate of amping_loss: hardly anybody has such a name, but it must lose nothing."""
    m = Mechanism("slider")
    m.body("b", Floating("x", "amping_loss", "a"), mass=1.0, inertia=1.0)
    run = saltus.simulate(HybridSystem(m), {"damping_loss": 0.5}, until=0.1)
    with run.save(tmp_path / "slider.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["v_damping_loss"] for row in rows} == {"0.5"}
    assert {row["damping_loss"] for row in rows} == {"0.0"}


def test_matlab_and_netcdf_keep_every_parameter(chain, tmp_path):
    content = scipy.io.loadmat(chain.save(tmp_path / "chain.mat"), squeeze_me=True, simplify_cells=True)
    kept = {name: value for name, value in content["attributes"].items() if name.startswith("parameter_")}
    assert list(kept.values()) == list(chain.system.values.values())
    assert all(name.isascii() and len(name) <= 63 for name in kept)
    assert list(content["coordinate_names"]) == list(chain.coordinates)
    with xarray.open_dataset(chain.save(tmp_path / "chain.nc"), engine="h5netcdf") as data:
        assert {name: data.attrs[f"parameter_{name}"] for name in chain.system.values} == chain.system.values
        assert data.equals(chain.dataset)


def test_matlab_names_what_is_read_off(tmp_path):
    run = saltus.simulate(saltus.robots.coin(), until=0.01)
    content = scipy.io.loadmat(run.save(tmp_path / "coin.mat"), squeeze_me=True)
    assert list(content["quantity_names"]) == list(run.readings)


@pytest.mark.parametrize("ending", [".nc", ".mat", ".csv"])
def test_failed_write_leaves_nothing_behind(block, tmp_path, monkeypatch, ending):
    def fails(source, target):
        raise OSError("disk full")

    old = tmp_path / f"run{ending}"
    old.write_text("older result")
    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(SaltusError, match="disk full"):
        block.save(old)
    assert [path.name for path in tmp_path.iterdir()] == [old.name]
    assert old.read_text() == "older result"


@pytest.mark.skipif(os.name != "posix", reason="limits on file size are set the POSIX way")
@pytest.mark.parametrize("ending", [".nc", ".mat", ".csv"])
def test_full_disk_is_an_error_and_not_half_a_file(tmp_path, ending):
    target = tmp_path / f"run{ending}"
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)); "
        "from saltus.cli import main; "
        f"main(['run', 'pendulum', '--out', {str(target)!r}, '--json'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "cannot write" in json.loads(done.stdout)["error"]
    assert list(tmp_path.iterdir()) == []


def test_unknown_ending(block, tmp_path):
    with pytest.raises(InputError, match="nc"):
        block.save(tmp_path / "run.txt")


def test_audit_notices_a_lost_joule(block):
    steps = block.step_rows.copy()
    # the work integral is the first after the four states: falsify it in the last quarter of the run
    first = L.S_VECTORS + 1
    steps[3 * len(steps) // 4 :, first + 4] += 1e-3
    forged = dataclasses.replace(block, step_rows=steps)
    assert block.check().ok
    assert not forged.check().ok
    assert not forged.check()["energy balance"].ok


def test_audit_notices_a_sunken_foot(block):
    steps = block.step_rows.copy()
    steps[:, L.S_VECTORS + 1 + 1] -= 1e-4
    forged = dataclasses.replace(block, step_rows=steps)
    assert not forged.check()["contacts closed"].ok


def test_same_bits_every_time():
    hopper = saltus.robots.hopper()
    runs = [saltus.simulate(hopper, controller=hopper.profiles["paper"].controller) for _ in range(2)]
    assert runs[0].step_rows.tobytes() == runs[1].step_rows.tobytes()
    assert runs[0].event_rows.tobytes() == runs[1].event_rows.tobytes()


def test_run_from_another_start_time():
    late = saltus.simulate(saltus.robots.pendulum(), start=100.0, until=110.0)
    early = saltus.simulate(saltus.robots.pendulum(), start=0.0, until=10.0)
    assert late.final == pytest.approx(early.final, abs=1e-7)
    assert late.t[0] == 100.0


def test_no_time_at_all():
    run = saltus.simulate(saltus.robots.hopper(), until=0.0)
    assert run.status.name == "finished"
    assert run.dataset.sizes["t"] == 1
    assert run.check().ok


def test_event_at_the_last_instant_shows_both_sides():
    run = saltus.simulate(saltus.robots.bouncing_ball(g=8.0, restitution=0.5), {"y": 1.0}, until=0.5)
    assert len(run.events) == 1
    assert run.final["dy"] == pytest.approx(2.0, abs=1e-12)
    assert run.at(0.5)[3] == pytest.approx(2.0, abs=1e-12)
    assert run.x[-2:, 3] == pytest.approx([-4.0, 2.0], abs=1e-12)
    assert run.check().ok


def test_arcs_are_joined_by_events(bounce):
    assert sorted(set(bounce.samples.arc)) == list(range(len(bounce.events) + 1))


@pytest.mark.parametrize("times", [[[0.1, 0.2]], "now", [math.nan]])
def test_times_that_are_none(bounce, times):
    with pytest.raises(InputError):
        bounce.at(times)


@pytest.mark.parametrize("raise_errors", [True, False])
def test_interrupted_run_is_kept_and_never_taken_for_a_bad_end(raise_errors):
    def press_control_c(t, state, mode, memory):
        if t > 0.1:
            os.kill(os.getpid(), signal.SIGINT)
        return 0.0

    with pytest.raises(KeyboardInterrupt) as stopped:
        saltus.simulate(saltus.robots.pendulum(), controller=press_control_c, until=5.0, raise_errors=raise_errors)
    run = stopped.value.run
    assert run.status.name == "interrupted"
    assert 0.1 < run.end_time < 0.2
    assert run.check().ok
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
