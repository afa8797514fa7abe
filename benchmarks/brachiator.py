"""A thousand swings of the brachiator under the energy controller, with all events, in one batch.

``python benchmarks/brachiator.py [--swings 1000] [--turns 5]`` prints how long they take, the best of several turns.
``--mixes 500`` makes random mixes of torque, friction, mass, spacing, incline and sensor noise instead, and prints how
many swings and swing-ups end in a catch.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

import saltus
from saltus.contact import World
from saltus.control import Encoder, Energy, Hardware, Imu, Motor
from saltus.mechanism._dh import hanging, two_link_angles

HEAVY = {"r1": 0.28, "r2": 0.12}
LIMITS = {"swing": 6.0, "swing-up": 15.0}
IMU = Imu(angle_noise=math.radians(1), rate_noise=math.radians(5))


def robot(task: str, case: str = "mid"):  # type: ignore[no-untyped-def]
    """The robot between bars, or hanging from one; a run ends with the catch."""
    bars = ((-0.55, 0.0), (0.0, 0.0), (0.55, 0.0)) if task == "swing" else ((0.0, 0.0), (0.568, 0.0))
    made = saltus.robots.brachiator(world=World(bars), **(HEAVY if case == "heavy" else {}))
    return made.with_guards(**{"B.catch": "terminal"})


def mixes(count: int, seed: int) -> dict[str, np.ndarray]:
    """Torque gain, frictions, mass, both spacings and incline of each run, drawn evenly."""
    u = np.random.default_rng(seed).random((count, 7)).T
    return {
        "gain": 0.9 + 0.2 * u[0],
        "viscous": 0.06 * u[1],
        "coulomb": 0.3 * u[2],
        "mass": 0.95 + 0.2 * u[3],
        "behind": 0.5 + 0.15 * u[4],
        "ahead": 0.5 + 0.15 * u[5],
        "incline": np.radians(-10 + 20 * u[6]),
    }


def given(system, task: str, mix: dict[str, np.ndarray]):  # type: ignore[no-untyped-def]
    """Parameters and starts of the runs of a mix."""
    count, last = len(mix["gain"]), 2 if task == "swing" else 1
    way = np.array([np.cos(mix["incline"]), np.sin(mix["incline"])])
    parameters = {
        "torque_gain": mix["gain"],
        **dict.fromkeys(("elbow_viscous", "hand_viscous"), mix["viscous"]),
        **dict.fromkeys(("elbow_coulomb", "hand_coulomb"), mix["coulomb"]),
        **{name: system.values[name] * mix["mass"] for name in ("m1", "m2", "I1", "I2")},
        **{f"bar{last}_{axis}": mix["ahead"] * part for axis, part in zip("xy", way, strict=True)},
    }
    states = np.zeros((count, len(system.state_names)))
    if task == "swing":
        behind = -mix["behind"] * way
        parameters |= {f"bar0_{axis}": part for axis, part in zip("xy", behind, strict=True)}
        for row, (x, y) in zip(states, behind.T, strict=True):
            ways = [two_link_angles(x, y, 0.4, 0.4, elbow) for elbow in ("down", "up")]
            row[2], row[3] = max(((hanging(a), b) for a, b in ways), key=lambda pair: math.cos(pair[0]))
    return parameters, states


def batch(task: str, case: str, law: str, motor: Motor | None, mix: dict[str, np.ndarray], *, sensors: bool):  # type: ignore[no-untyped-def]
    """All runs of a mix: whether each ended in a catch, when, and with which kinetic energy."""
    system = robot(task, case)
    parameters, states = given(system, task, mix)
    energy = Energy(law=law, tuned=case, observer=sensors, motor=motor, model=system.values)
    controllers = energy
    if sensors:
        parts = {"imu": IMU, "encoder": Encoder(), "motor": motor}
        controllers = [Hardware(energy, **parts, seed=k) for k in range(len(states))]
    return saltus.simulate_many(
        system,
        states,
        parameters=parameters,
        controllers=controllers,
        mode=None if task == "swing" else {"B": "open"},
        until=LIMITS[task],
        rtol=1e-8,
        atol=1e-10,
        figures={"kinetic": system.dynamics.kinetic},
    )


def wilson(good: int, count: int) -> tuple[float, float]:
    """Bounds of a share at 95 %."""
    z, share = 1.959964, good / count
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(0.0, centre - half), min(1.0, centre + half)


def study(count: int, seed: int) -> None:
    """Print shares of catches for all cases."""
    mix = mixes(count, seed)
    for case in ("mid", "heavy"):
        for law in ("power", "momentum"):
            for task in LIMITS:
                for motor in (None, Motor()):
                    begin = time.perf_counter()
                    made = batch(task, case, law, motor, mix, sensors=True)
                    took = time.perf_counter() - begin
                    good = made.status == "terminal"
                    low, high = (100 * bound for bound in wilson(int(good.sum()), count))
                    times = np.quantile(made.t_end, [0.5, 0.95, 1])
                    lost = np.quantile(made["kinetic"][good], [0.5, 0.95, 1]) if good.any() else [math.nan] * 3
                    name = f"{case} {law} {task} {'ideal' if motor is None else 'curve'}"
                    print(
                        f"{name:32} {good.sum():4}/{count} [{low:.1f}, {high:.1f}] %  "
                        f"t {times[0]:.2f}/{times[1]:.2f}/{times[2]:.2f} s  "
                        f"J {lost[0]:.2f}/{lost[1]:.2f}/{lost[2]:.2f}  ({took:.1f} s)",
                        flush=True,
                    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--swings", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--mixes", type=int, default=0)
    parser.add_argument("--seed", type=int, default=987654)
    chosen = parser.parse_args()
    if chosen.mixes:
        study(chosen.mixes, chosen.seed)
        return
    mix = mixes(chosen.swings, chosen.seed)
    for sensors in (False, True):
        times = []
        for _ in range(chosen.turns):
            begin = time.perf_counter()
            made = batch("swing", "mid", "power", None, mix, sensors=sensors)
            times.append(time.perf_counter() - begin)
        caught, what = int((made.status == "terminal").sum()), "sensors" if sensors else "exact state"
        print(
            f"{chosen.swings} swings, {what:12} {min(times):7.2f} s, best of {chosen.turns}; {caught} caught, "
            f"{made.t_end.mean():.3f} s each, {made.event_count.mean():.1f} events, {made.steps.mean():.0f} steps"
        )


if __name__ == "__main__":
    main()
