"""Random impacts of one to three contacts beside equations of motion and laws that are written down anew.

    python benchmarks/impacts.py --count 10000

Bodies, joints, contacts, states, laws and coefficients are drawn from the seed. Each impact begins with all contacts at
the ground, most approaching, some at rest or leaving. The mass matrix, the rows of the contacts and what each law says
are NumPy's here; nothing of saltus is used but what it recorded: states and impulses. Contacts whose rows are not
independent are drawn anew. Where saltus finds no impulse in the plane, all combinations of sticking, slipping and
leaving contacts are tried. Exits with 1 if a bound is exceeded or an impulse that exists was not found.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tables import table

import saltus
from saltus.contact import GroundPoint, SpatialPoint, chatterjee, newton, plastic
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, FreeFlyer, Hinge, Mechanism, Revolute

COUNT, SEED = 10_000, 35

# Relative; and the largest condition number of the rows of contacts, scaled by their own mobility.
BOUND, CONDITION = 1e-12, 1e6

LAWS = ("plastic", "newton", "chatterjee")

# A contact whose normal velocity is below this is at rest, m/s.
REST = 1e-9


@dataclass(frozen=True)
class Machine:
    """A robot with contacts, and where its bodies and contacts hang: on the world (-1) or on a body before.

    ``parents`` of the links behind the base; ``bodies`` of the contacts.
    """

    dimension: int
    law: str
    parents: tuple[int, ...]
    bodies: tuple[int, ...]
    robot: HybridSystem


def build(dimension: int, law: str, parents: tuple[int, ...], bodies: tuple[int, ...]) -> Machine:
    """A floating base with links, whose every number is a parameter."""
    m = Mechanism(f"impact{dimension}{law}{len(parents)}{''.join(map(str, bodies))}", dimension=dimension)
    axes = "xyz"[:dimension]

    def place(name: str) -> tuple[Any, ...]:
        return tuple(m.parameter(f"{name}_{axis}", 0.0, "m") for axis in axes)

    def inertia(name: str) -> Any:
        if dimension == 2:
            return m.parameter(f"{name}_inertia", 1.0, "kg m^2", positive=True)
        return tuple(m.parameter(f"{name}_inertia_{axis}", 1.0, "kg m^2", positive=True) for axis in axes)

    made: list[Any] = []
    for k, parent in enumerate((-1, *parents)):
        mass = m.parameter(f"mass{k}", 1.0, "kg", positive=True)
        if k == 0:
            joint: Any = Floating("x", "y", "angle") if dimension == 2 else FreeFlyer()
        elif dimension == 2:
            joint = Revolute(f"q{k}", at=place(f"at{k}"))
        else:
            axis = (1, 0, 0) if k % 2 else (0, 1, 0)
            joint = Hinge(f"q{k}", axis, at=place(f"at{k}"))
        on = None if parent < 0 else made[parent]
        made.append(m.body(f"body{k}", joint, parent=on, mass=mass, inertia=inertia(f"body{k}"), com=place(f"com{k}")))
    laws = {
        "plastic": plastic,
        "newton": lambda: newton(m.parameter("e", 0.5, "1", lower=0, upper=1)),
        "chatterjee": lambda: chatterjee(
            m.parameter("e", 0.5, "1", lower=0, upper=1), m.parameter("et", 0.0, "1", lower=-1, upper=1)
        ),
    }
    chosen, units = laws[law](), []
    for k, body in enumerate(bodies):
        mu = m.parameter(f"mu{k}", 0.5, "1", lower=0)
        point = m.point(f"foot{k}", made[body], place(f"foot{k}"))
        if dimension == 2:
            slope = m.parameter(f"slope{k}", 0.0, "rad")
            through = (m.parameter(f"ground{k}_x", 0.0, "m"), m.parameter(f"ground{k}_y", 0.0, "m"))
            units.append(GroundPoint(point, friction=mu, law=chosen, slope=slope, through=through))
        else:
            height = m.parameter(f"height{k}", 0.0, "m")
            units.append(SpatialPoint(point, made[body], friction=mu, law=chosen, height=height))
    return Machine(dimension, law, parents, bodies, HybridSystem(m, units=tuple(units)))


def machines() -> list[Machine]:
    """One, two and three contacts, in the plane and in space, by every law; links side by side and in chains."""
    shapes = {
        2: [((), (0,)), ((0,), (0, 1)), ((0, 1), (1, 2)), ((0, 0, 1), (2, 3)), ((0, 0, 1, 2), (1, 3, 4))],
        3: [((), (0,)), ((0, 1), (0, 2)), ((0, 0, 1, 2), (3, 4)), ((0, 1, 0, 3), (0, 2, 4))],
    }
    return [
        build(dimension, law, parents, bodies)
        for dimension, known in shapes.items()
        for parents, bodies in known
        for law in LAWS
    ]


def _turn(axis: int, angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    R, (i, j) = np.eye(3), ((1, 2), (2, 0), (0, 1))[axis]
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def _of_quaternion(w: float, x: float, y: float, z: float) -> np.ndarray:
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + (2 * w * K + 2 * K @ K) / (w * w + x * x + y * y + z * z)


def equations(machine: Machine, p: dict[str, float], q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass matrix, rows of all contacts (t, n or t, n, s), and where their points are.

    The plane is the x-y plane of space; rates are those of saltus: of the base linear in the world, angular in it.
    """
    flat, axes = machine.dimension == 2, "xyz"[: machine.dimension]

    def vector(name: str) -> np.ndarray:
        return np.array([*(p[f"{name}_{axis}"] for axis in axes), 0.0][:3])

    nv = (3 if flat else 6) + len(machine.parents)
    frames: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []  # place, turn, their rates by v
    M = np.zeros((nv, nv))
    for k, parent in enumerate((-1, *machine.parents)):
        if k == 0:
            speed, spin = np.zeros((3, nv)), np.zeros((3, nv))
            if flat:
                place, R = np.array([q[0], q[1], 0.0]), _turn(2, q[2])
                speed[0, 0] = speed[1, 1] = spin[2, 2] = 1.0
            else:
                place, R = q[:3].copy(), _of_quaternion(*q[3:7])
                speed[:, :3], spin[:, 3:6] = np.eye(3), R
        else:
            at, above, speed, spin = frames[parent]
            arm = above @ vector(f"at{k}")
            place, speed, spin = at + arm, speed - np.cross(arm, spin.T).T, spin.copy()
            axis = 2 if flat else (0 if k % 2 else 1)
            R = above @ _turn(axis, q[(2 if flat else 6) + k])
            spin[:, (2 if flat else 5) + k] += above[:, axis]
        frames.append((place, R, speed, spin))
        com = R @ vector(f"com{k}")
        at_com = speed - np.cross(com, spin.T).T
        moments = (
            np.diag([0.0, 0.0, p[f"body{k}_inertia"]])
            if flat
            else np.diag([p[f"body{k}_inertia_{axis}"] for axis in axes])
        )
        M += p[f"mass{k}"] * at_com.T @ at_com + spin.T @ R @ moments @ R.T @ spin
    rows, places = [], []
    for k, body in enumerate(machine.bodies):
        at, R, speed, spin = frames[body]
        arm = R @ vector(f"foot{k}")
        J = speed - np.cross(arm, spin.T).T
        places.append(at + arm)
        if flat:
            c, s = math.cos(p[f"slope{k}"]), math.sin(p[f"slope{k}"])
            rows += [c * J[0] + s * J[1], -s * J[0] + c * J[1]]
        else:
            rows += [J[0], J[2], J[1]]
    return M, np.array(rows), np.array(places)


@dataclass(frozen=True)
class Case:
    """An impact that is to come."""

    machine: Machine
    parameters: dict[str, float]
    state: np.ndarray


def draw(machine: Machine, random: np.random.Generator) -> Case | None:
    """A random impact of a machine; None where rows of contacts are not independent."""
    p = {}
    for name in machine.robot.values:
        if name.startswith("mass"):
            p[name] = math.exp(random.uniform(-1.5, 1.5))
        elif "inertia" in name:
            p[name] = math.exp(random.uniform(-3, 0.5)) * (1 if machine.dimension == 2 else 1.0)
        elif name.startswith("mu"):
            p[name] = float(random.choice([0.0, random.uniform(0, 1), random.uniform(0, 3)], p=[0.15, 0.7, 0.15]))
        elif name == "e":
            p[name] = float(random.choice([0.0, 1.0, random.uniform(0, 1)], p=[0.1, 0.05, 0.85]))
        elif name == "et":
            p[name] = float(random.choice([0.0, random.uniform(-1, 1)], p=[0.2, 0.8]))
        elif name.startswith("slope"):
            p[name] = random.uniform(-math.pi, math.pi)
        else:
            p[name] = random.uniform(-1, 1)
    if machine.dimension == 2:
        q = np.concatenate([random.uniform(-1, 1, 2), random.uniform(-math.pi, math.pi, 1 + len(machine.parents))])
    else:
        turn = random.normal(size=4)
        turn /= np.linalg.norm(turn)
        q = np.concatenate([random.uniform(-1, 1, 3), turn, random.uniform(-math.pi, math.pi, len(machine.parents))])
        # three moments that a body can have
        for k in range(len(machine.parents) + 1):
            parts = [p[f"body{k}_inertia_{axis}"] for axis in "xyz"]
            for axis, other in zip("xyz", ((1, 2), (0, 2), (0, 1)), strict=True):
                p[f"body{k}_inertia_{axis}"] = parts[other[0]] + parts[other[1]]
    M, J, places = equations(machine, p, q)
    for k, place in enumerate(places):
        if machine.dimension == 2:
            p[f"ground{k}_x"], p[f"ground{k}_y"] = float(place[0]), float(place[1])
        else:
            p[f"height{k}"] = float(place[2])
    A = J @ np.linalg.solve(M, J.T)
    size = np.sqrt(np.diag(A))
    if not size.min() > 1e-3 or np.linalg.cond(A / np.outer(size, size)) > CONDITION:
        return None
    v = random.normal(size=M.shape[0])
    count, width = len(places), machine.dimension
    wanted = J @ v
    for k in range(count):
        normal = width * k + 1
        wanted[normal] = -abs(wanted[normal]) if random.random() < 0.85 else abs(wanted[normal])
        if count > 1 and random.random() < 0.2:  # at rest
            wanted[normal] = 0.0
            if random.random() < 0.5:
                wanted[width * k : width * (k + 1)] = 0.0
    if not (wanted[1::width] < -1e-3).any():
        wanted[1] = -1.0
    for _ in range(3):  # what rests does so to rounding
        v += np.linalg.solve(M, J.T @ np.linalg.solve(A, wanted - J @ v))
    return Case(machine, p, np.concatenate([q, v]))


@dataclass
class Missed:
    """How far an impact misses what must hold, each relative: zero but for rounding."""

    adhesive: float = 0.0
    cone: float = 0.0
    momentum: float = 0.0
    law: float = 0.0

    @property
    def worst(self) -> float:
        numbers = self.adhesive, self.cone, self.momentum, self.law
        return max(math.inf if math.isnan(number) else number for number in numbers)


def judge(case: Case, event: Any) -> Missed:
    """Hold an impact that saltus recorded to the law, by the states and impulses of its record."""
    machine, p = case.machine, case.parameters
    nq = len(event.state_before) - ((3 if machine.dimension == 2 else 6) + len(machine.parents))
    before, after = (np.array(list(x.values())) for x in (event.state_before, event.state_after))
    M, J, _ = equations(machine, p, before[:nq])
    P = np.array(list(event.impulse.values()))
    size = max(np.abs(P).max(), 1e-300)
    dv = after[nq:] - before[nq:]
    parts = np.abs(M) @ (np.abs(after[nq:]) + np.abs(before[nq:])) + np.abs(J.T) @ np.abs(P)
    missed = Missed(momentum=float((np.abs(M @ dv - J.T @ P) / parts).max()))
    A, was, now = J @ np.linalg.solve(M, J.T), J @ before[nq:], J @ after[nq:]
    speed = float((np.abs(was) + np.abs(A) @ np.abs(P)).max())
    width = machine.dimension
    for k in range(len(machine.bodies)):
        rows, normal = slice(width * k, width * (k + 1)), width * k + 1
        if was[normal] > REST and not P[rows].any():
            continue  # it leaves, or strikes the next instant, in an event of its own
        along = np.delete(P[rows], 1)
        missed.adhesive = max(missed.adhesive, -P[normal] / size)
        missed.cone = max(missed.cone, (float(np.linalg.norm(along)) - p[f"mu{k}"] * P[normal]) / size)
        error = law_error(machine.law, A[rows, rows], P[rows], was[rows], now[rows], p, k, (size, speed))
        missed.law = max(missed.law, error)
    return missed


def law_error(
    law: str,
    A: np.ndarray,
    P: np.ndarray,
    was: np.ndarray,
    now: np.ndarray,
    p: dict[str, float],
    k: int,
    sizes: tuple[float, float],
) -> float:
    """How far a contact misses its law, relative; one at rest answers by the plastic law."""
    size, speed = sizes
    mu, at_rest = p[f"mu{k}"], was[1] > -REST and was[1] <= REST
    e = 0.0 if law == "plastic" or at_rest else p["e"]
    et = p["et"] if law == "chatterjee" and not at_rest else 0.0
    target = -e * min(was[1], 0.0)
    # the normal velocity is the target, or larger where there is no impulse
    gap = now[1] - target
    if not np.any(np.abs(P) > 1e-13 * size):
        return max(0.0, -gap) / speed
    error = abs(gap) / speed
    along, slip = np.delete(P, 1), np.delete(now, 1)
    if law == "chatterjee" and not at_rest:
        # what would stop it entirely, and et of what would have stopped it before; of that what acts along the ground,
        # or less in its direction
        stop = np.delete(P - np.linalg.solve(A, now + et * was), 1)
        scale = max(size, float(np.abs(stop).max()))
        if np.linalg.norm(along - stop) <= BOUND * scale:
            return error
        length = float(np.linalg.norm(stop))
        if length == 0.0:
            return max(error, float(np.linalg.norm(along)) / size)
        limit = stop / length * mu * P[1]
        inside = max(0.0, mu * P[1] - length) / scale  # friction could give all of it
        return max(error, inside, float(np.linalg.norm(along - limit)) / scale)
    sliding = float(np.linalg.norm(slip))
    # it stands still, or friction is at its limit against the slip
    against = float(np.linalg.norm(along * sliding + mu * P[1] * slip)) / (size * speed)
    return max(error, min(sliding / speed, against))


def solutions(case: Case) -> list[np.ndarray]:
    """All impulses of a planar impact, from every combination of leaving, sticking and slipping contacts."""
    machine, p = case.machine, case.parameters
    nq = 3 + len(machine.parents)
    M, J, _ = equations(machine, p, case.state[:nq])
    A, was = J @ np.linalg.solve(M, J.T), J @ case.state[nq:]
    found: list[np.ndarray] = []
    n = len(machine.bodies)
    for modes in itertools.product(("open", "stick", "plus", "minus"), repeat=n):
        S, b = np.zeros((2 * n, 2 * n)), np.zeros(2 * n)
        for k, mode in enumerate(modes):
            t, normal = 2 * k, 2 * k + 1
            at_rest = -REST < was[normal] <= REST
            e = 0.0 if machine.law == "plastic" or at_rest else p["e"]
            et = p["et"] if machine.law == "chatterjee" and not at_rest else 0.0
            if mode == "open":
                S[t, t] = S[normal, normal] = 1.0
                continue
            S[normal], b[normal] = A[normal], -was[normal] - e * min(was[normal], 0.0)
            if mode == "stick":
                inverse = np.linalg.inv(A[t : t + 2, t : t + 2])
                S[t] = inverse[0] @ A[t : t + 2]
                b[t] = -(1 + et) * inverse[0] @ was[t : t + 2]
            else:
                S[t, t], S[t, normal] = 1.0, -p[f"mu{k}"] * (1 if mode == "plus" else -1)
        if np.linalg.cond(S) > 1e13:
            continue
        P = np.linalg.solve(S, b)
        size, speed = max(np.abs(P).max(), 1e-300), float((np.abs(was) + np.abs(A) @ np.abs(P)).max())
        now, good = was + A @ P, True
        for k in range(n):
            rows, normal = slice(2 * k, 2 * k + 2), 2 * k + 1
            good &= P[normal] >= -1e-10 * size and abs(P[2 * k]) <= p[f"mu{k}"] * P[normal] + 1e-10 * size
            error = law_error(machine.law, A[rows, rows], P[rows], was[rows], now[rows], p, k, (size, speed))
            # a contact answers where it would come nearer without its own impulse; one that jams needs none
            free, e = now[normal] - A[normal, rows] @ P[rows], 0.0 if machine.law == "plastic" else p["e"]
            jams = P[rows].any() and modes[k] != "open" and free > -e * min(was[normal], 0.0) - 1e-12 * speed
            good = good and error <= 1e-9 and not jams
        if good:
            found.append(P)
    return found


@dataclass
class Tally:
    """The impacts of one kind."""

    count: int = 0
    none: int = 0
    overlooked: int = 0
    other: int = 0
    missed: Missed = field(default_factory=Missed)
    bad: list[tuple[Case, Missed]] = field(default_factory=list)


def strike(case: Case, tally: Tally) -> None:
    """Let saltus solve an impact, and judge it."""
    run = saltus.simulate(
        case.machine.robot, case.state, parameters=case.parameters, until=1e-12, raise_errors=False, rtol=1e-6
    )
    tally.count += 1
    if str(run.status.name) == "no_impulse":
        tally.none += 1
        if case.machine.dimension == 2 and solutions(case):
            tally.overlooked += 1
            tally.bad.append((case, Missed()))
        return
    struck = [event for event in run.events if any(event.impulse.values())]
    if not struck:
        tally.other += 1
        tally.bad.append((case, Missed()))
        return
    if not all(map(math.isfinite, (*struck[0].impulse.values(), *struck[0].state_after.values()))):
        missed = Missed(*[math.inf] * 4)
    else:
        missed = judge(case, struck[0])
    for name in vars(missed):
        setattr(tally.missed, name, max(getattr(tally.missed, name), getattr(missed, name)))
    if not missed.worst <= BOUND:
        tally.bad.append((case, missed))


def measure(count: int, seed: int, known: list[Machine] | None = None) -> dict[tuple[int, int, str], Tally]:
    """Tallies by dimension, number of contacts and law."""
    random, tallies = np.random.default_rng(seed), {}
    known, made = machines() if known is None else known, 0
    while made < count:
        machine = known[made % len(known)]
        case = draw(machine, random)
        if case is not None:
            key = machine.dimension, len(machine.bodies), machine.law
            strike(case, tallies.setdefault(key, Tally()))
            made += 1
    return tallies


def report(tallies: dict[tuple[int, int, str], Tally]) -> str:
    """A table with a line for each kind of impact."""
    rows = [
        [
            "plane" if dimension == 2 else "space",
            law,
            str(contacts),
            f"{tally.count:,}",
            f"{tally.none:,}",
            f"{tally.overlooked:,}",
            f"{len(tally.bad):,}",
            *(f"{getattr(tally.missed, name):.1e}" for name in ("adhesive", "cone", "momentum", "law")),
        ]
        for (dimension, contacts, law), tally in sorted(tallies.items())
    ]
    head = ["in", "law", "contacts", "impacts", "no impulse", "overlooked", "wrong"]
    return "## Random impacts\n\n" + table([*head, "adhesive", "out of cone", "momentum", "law"], rows, words=2)


def main() -> int:
    """Draw, solve, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=COUNT, help="how many impacts")
    parser.add_argument("--seed", type=int, default=SEED, help="of the random numbers")
    chosen = parser.parse_args()
    tallies = measure(chosen.count, chosen.seed)
    print(report(tallies))
    wrong = sum(len(tally.bad) for tally in tallies.values())
    print(f"\n{chosen.count:,} impacts: {wrong or 'none'} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
