"""Reading a trajectory: samples, the continuous motion, files, and an audit that can fail."""

import csv
import dataclasses
import math

import numpy as np
import pytest
import scipy.io
import xarray

import saltus
from saltus.control import Sine
from saltus.engine import _layout as L
from saltus.errors import InputError


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


@pytest.mark.parametrize("ending", [".nc", ".mat", ".csv"])
def test_failed_write_leaves_nothing_behind(block, tmp_path, monkeypatch, ending):
    from saltus.engine import _files

    def fails(run, path):
        path.write_text("half a file")
        raise OSError("disk full")

    old = tmp_path / f"run{ending}"
    old.write_text("older result")
    monkeypatch.setitem(_files.WRITERS, ending, fails)
    with pytest.raises(OSError, match="disk full"):
        block.save(old)
    assert [path.name for path in tmp_path.iterdir()] == [old.name]
    assert old.read_text() == "older result"


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
