"""Hardware on the command line: what the words make, what the controller knows of it, what is refused."""

import json
import math

import pytest

from saltus import ladder, robots, simulate
from saltus.cli._hardware import behind
from saltus.control import PD, Current, Encoder, Energy, Gripper, Hardware, Imu, Motor

LADDER = ("run", "brachiator", "--world", "ladder", "--bars", "3", "--controller", "energy")


def test_words_make_parts():
    words = [
        "motor:limit=8", "encoder", "imu:angle_noise=1deg,rate_noise=5deg, delay=0.01", "current:torque_per_ampere=2",
        "gripper:close_time=0.1,open_time=0.2/0.25,approach=below/side,impact_limit=3,slack=0.005", "backlash=1deg",
        "seed=3",
    ]  # fmt: skip
    made = behind(None, words, ())
    assert made == Hardware(
        None,
        motor=Motor(limit=8.0),
        encoder=Encoder(),
        imu=Imu(angle_noise=math.radians(1), rate_noise=math.radians(5), delay=0.01),
        current=Current(2.0),
        gripper=Gripper(0.1, (0.2, 0.25), ("below", "side"), 3.0, 0.005),
        backlash=math.radians(1),
        seed=3,
    )


def test_without_words_the_controller_is_as_it_was():
    controller = Energy()
    assert behind(controller, None, ()) is controller


def test_the_energy_controller_knows_of_its_hardware():
    made = behind(Energy(), ["motor:limit=8", "imu", "gripper:close_time=0.1"], ())
    assert made.controller == Energy(motor=Motor(limit=8.0), observer=True, close_time=0.1)
    # but for what it was told itself
    made = behind(Energy(close_time=0.2), ["gripper", "encoder"], ("close_time", "observer"))
    assert made.controller == Energy(close_time=0.2)
    assert behind(Energy(), ["backlash=0.01"], ()).controller == Energy()
    other = PD(10.0, 1.0, 0.0, period=1e-3)
    assert behind(other, ["motor"], ()).controller is other


def test_a_run_is_that_of_python(call):
    parts = ("--hardware", "motor", "--hardware", "encoder", "--hardware", "gripper", "--hardware", "seed=5")
    sensor = ("--hardware", "imu:angle_noise=1deg,rate_noise=5deg")
    code, out, _ = call(*LADDER, *parts, *sensor, "--until", 2, "--json")
    content = json.loads(out)
    assert code == 0
    controller = Hardware(
        Energy(observer=True, close_time=0.18, motor=Motor()), Motor(), Encoder(),
        Imu(math.radians(1), math.radians(5)), gripper=Gripper(), seed=5,
    )  # fmt: skip
    run = simulate(robots.brachiator(world=ladder(0.55, 3)), controller=controller, until=2.0)
    assert content["final"] == run.final
    assert content["claws"] == controller.claws(run)
    assert content["audit"]["ok"]
    assert call(*LADDER, "--hardware", "gripper", "--until", 0.1)[1].count("claw A 0 tries, 0 misses") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["moter"], "unknown part of --hardware: 'moter'. Did you mean 'motor'?"),
        (["motor", "motor:limit=3"], "--hardware: motor is given twice"),
        (["imu=1deg"], "takes its options after a colon, as in --hardware imu:"),
        (["imu:angle_noise"], "takes options as option=value"),
        (["imu:angle_nose=1"], "unknown option of --hardware imu: 'angle_nose'"),
        (["imu:delay=0.1,delay=0.2"], "delay is given twice"),
        (["imu:delay=0.0015"], "must be a whole number, such as 0.002 s"),
        (["imu:angle_noise=much"], "--hardware imu: angle_noise must be a number"),
        (["imu:angle_noise=nan"], "must be a finite number"),
        (["gripper:approach=beneath"], "unknown approach of gripper: 'beneath'"),
        (["gripper:open_time=0.3/0.2"], "shortest and a longest time"),
        (["gripper:open_time=0.3"], "shortest and a longest time"),
        (["gripper:slack=-1"], "must not be negative"),
        (["current"], "--hardware current needs torque_per_ampere"),
        (["encoder:window=1.5"], "window must be a whole number, got '1.5'"),
        (["backlash"], "takes one number, as in backlash=1deg"),
        (["seed=three", "motor"], "--hardware seed must be a whole number"),
        (["seed=3"], "name a part of motor, encoder, imu, current and gripper"),
        (["backlash=4"], "an angle from 0 to less than pi"),
    ],
)
def test_what_cannot_be(call, words, said):
    code, out, err = call(*LADDER, *(part for word in words for part in ("--hardware", word)), "--until", 0.01)
    assert code == 2
    assert not out
    assert said in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--x0", "x=0.3"), "begins with hand A closed where nothing is to hold"),
        (("--set", "bar2_x=3"), "bar 2 is out of reach"),
        (("--set", "bar2_x=0.551"), "bars 1 and 2 overlap"),
        (("--control", "kp=-1"), "energy: kp must not be negative"),
        (("--bars", "0"), "a ladder has at least one bar"),
        (("--spacing", "0.9"), "bar 1 is out of reach"),
    ],
)
def test_starts_and_worlds_that_cannot_be(call, words, said):
    code, out, err = call(*LADDER, *words, "--until", 0.01, "--json")
    assert code == 2
    assert said in json.loads(out)["error"]
    assert said in err
