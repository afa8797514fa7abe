"""Chapter 6 of [yang2016]: its model beside independent integrations, what Euler's method does to it, and chaos."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from saltus.control import Constant, Schedule
from saltus.engine import Trajectory, simulate
from saltus.hybrid import HybridSystem
from saltus.robots import find_robot
from saltus.show._timeline import Curve, Panel, timeline
from saltus.studies import Correction, Drawing, Number
from saltus.studies.papers._yang2016_chapter import FINE, NOT_PRINTED, Chapter, Progress, near, reached, stands
from saltus.studies.papers._yang2016_pendulum import Pendulum, Torque, euler, runge_kutta, solved

UNTIL, STEP, HOLD = 10.0, 1e-3, 0.02
# How far energies may be from those of SciPy in the first second, and the balance from zero in ten, J.
SAME_ENERGY, BALANCE = 1e-8, 1e-10
# Runs part where an angle differs by this, rad. On a graph of energies it is seen where they differ by this share of
# that from hanging to level.
PARTED, SEEN = 0.01, 0.1
# Tolerances of the runs that are compared, and those of a run whose elbow spins up to hundreds of turns.
TIGHT: dict[str, Any] = {"rtol": 1e-14, "atol": 1e-15, "energy_tolerance": math.inf}
SPUN: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13, "energy_tolerance": math.inf, "method": "dop853"}
LOOSE: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-11, "energy_tolerance": math.inf}
# Seeds of the random torques of both figures; and so many more are asked when energies are seen to part.
FIRST, SECOND, SEEDS = 1, 2, 20

POINT, INERTIA, METRE = "point masses", "inertias of 4.4", "links of 1 m and 2 kg"
MODELS = (POINT, INERTIA, METRE)
FIGURES = {
    "6.1": "no torque, from horizontal",
    "6.2": "5 N m, from hanging",
    "6.3": f"random torques, seed {FIRST}",
    "6.4": f"random torques, seed {SECOND}",
}


@dataclass(frozen=True)
class Case:
    """One motion of one model: tightly, how far it is from other integrations, and by Euler's method."""

    run: Trajectory
    t: np.ndarray
    # total energy at those times: of the run, by Euler's method, and by one that takes the new rates
    energy: np.ndarray
    explicit: np.ndarray
    semi: np.ndarray
    # largest error of the energy balance over all; of the energy from SciPy's in the first second, J
    balance: float
    from_scipy: float
    # when it parts from a run with a looser tolerance; when that is seen of energies by Euler's two methods, s
    parted: float
    semi_parted: float
    explicit_parted: float

    @property
    def seen(self) -> float:
        """When the first of both is seen to part, s: which one was used is not told."""
        return min(self.semi_parted, self.explicit_parted)

    @property
    def turns(self) -> float:
        """How often the elbow has gone round at most."""
        return float(np.abs(angles(self.run, self.run.mesh.x)[:, 1]).max() / (2 * math.pi))


@dataclass(frozen=True)
class Found:
    """All that is computed of chapter 6."""

    cases: dict[tuple[str, str], Case]
    # by model: change of the energy of figure 6.1 by the classical method of Runge and Kutta at 1 ms, J
    fourth_order: dict[str, float]
    # the largest torque that gravity has about the elbow with the second link level, N m
    hold: dict[str, float]
    # when energies are seen to part, with links of 1 m and 2 kg and random torques, s, for each of some seeds
    seen: tuple[float, ...]


def find(detail: int, progress: Progress) -> Found:
    """Compute everything; more seeds with more ``detail``."""
    cases, fourth, hold = {}, {}, {}
    for k, model in enumerate(MODELS):
        system = _system(model)
        of = Pendulum.of(system.values)
        hold[model] = of.g2
        for j, figure in enumerate(FIGURES):
            progress(f"figure {figure}, {model}", (k + j / len(FIGURES)) / len(MODELS))
            cases[model, figure] = _case(system, of, figure, spun=model != METRE and figure == "6.2")
        states = runge_kutta(of, [math.pi / 2, 0.0, 0.0, 0.0], _torque("6.1"), STEP, round(UNTIL / STEP))
        fourth[model] = float(np.abs(of.energy(states) - of.energy(states[0])).max())
    return Found(cases, fourth, hold, _seen(SEEDS if detail >= FINE else SEEDS // 4))


def _system(model: str) -> HybridSystem:
    """The model: the brachiator held at one bar, or two links with no inertia of their own."""
    robot = find_robot("brachiator@1")
    if model == INERTIA:
        return robot.with_parameters(elbow_stop=1e6)
    shared = {name: robot.values[name] for name in ("m1", "m2", "L1", "L2", "r1", "r2", "g")}
    if model == METRE:
        shared |= {"m1": 2.0, "m2": 2.0, "L1": 1.0, "L2": 1.0, "r1": 0.5, "r2": 0.5}
    return find_robot("double_pendulum").with_parameters(**shared, I1=0.0, I2=0.0)


def angles(run: Trajectory, x: np.ndarray) -> np.ndarray:
    """Both angles and their rates, of rows of states."""
    m = run.system.mechanism
    places = [m.index(name) for name in ("theta1", "theta2")]
    made: np.ndarray = x[:, [*places, *(m.nq + m.velocity_index(name) for name in ("theta1", "theta2"))]]
    return made


def _random(seed: int) -> np.ndarray:
    """Torques that are held for 20 ms each, between -10 and 10 N m."""
    return np.random.default_rng(seed).uniform(-10, 10, round(UNTIL / HOLD))


def _held(torques: np.ndarray) -> Torque:
    return lambda t: float(torques[min(int(t / HOLD + 1e-6), len(torques) - 1)])


def _steps(torques: np.ndarray) -> Schedule:
    return Schedule.steps([k * HOLD for k in range(len(torques))], torques.tolist())


RANDOM = {"6.3": FIRST, "6.4": SECOND}


def _torque(figure: str) -> Torque:
    if figure in RANDOM:
        return _held(_random(RANDOM[figure]))
    return lambda t: 5.0 if figure == "6.2" else 0.0


def _controller(figure: str) -> Any:
    if figure in RANDOM:
        return _steps(_random(RANDOM[figure]))
    return Constant(5.0) if figure == "6.2" else None


def _seen(seeds: int) -> tuple[float, ...]:
    """When energies by Euler's methods are seen to part from the true one, for one seed after the other, s."""
    system = _system(METRE)
    of, t = Pendulum.of(system.values), np.arange(round(UNTIL / STEP) + 1) * STEP
    made = []
    for seed in range(seeds):
        torques = _random(seed)
        run = simulate(system, {"theta1": 0.0, "theta2": 0.0}, controller=_steps(torques), until=UNTIL, **LOOSE)
        true = of.energy(angles(run, run.at(np.minimum(t, UNTIL))))
        kinds = (euler(of, [0.0] * 4, _held(torques), STEP, len(t) - 1, semi=semi) for semi in (False, True))
        made.append(min(_first(t, np.abs(true - of.energy(x)) > SEEN * (of.g1 + of.g2)) for x in kinds))
    return tuple(made)


def _case(system: HybridSystem, of: Pendulum, figure: str, *, spun: bool) -> Case:
    start = [math.pi / 2 if figure == "6.1" else 0.0, 0.0, 0.0, 0.0]
    state = {"theta1": start[0], "theta2": 0.0}
    mode = {"A": "closed"} if system.units else None
    run, loose = (
        simulate(system, state, controller=_controller(figure), mode=mode, until=UNTIL, output_step=STEP, **how)
        for how in (SPUN if spun else {**TIGHT, "method": "dop853" if system.units else "dopri5"}, LOOSE)
    )
    t = np.arange(round(UNTIL / STEP) + 1) * STEP
    times = np.minimum(t, UNTIL)
    exact, other = (angles(one, one.at(times)) for one in (run, loose))
    torque, count = _torque(figure), len(t) - 1
    explicit, semi = (euler(of, start, torque, STEP, count, semi=kind) for kind in (False, True))
    scipy = solved(of, start, torque, HOLD, 1.0)
    there = of.energy(angles(run, run.at(np.arange(len(scipy)) * HOLD)))
    mesh = run.mesh
    balance = mesh.kinetic + mesh.potential - mesh.integrals[:, 0]
    return Case(
        run=run,
        t=t,
        energy=of.energy(exact),
        explicit=of.energy(explicit),
        semi=of.energy(semi),
        balance=float(np.abs(balance - balance[0]).max()),
        from_scipy=float(np.abs(there - of.energy(scipy)).max()),
        parted=_first(t, np.abs(exact - other)[:, :2].max(axis=1) > PARTED),
        semi_parted=_first(t, np.abs(of.energy(exact) - of.energy(semi)) > SEEN * (of.g1 + of.g2)),
        explicit_parted=_first(t, np.abs(of.energy(exact) - of.energy(explicit)) > SEEN * (of.g1 + of.g2)),
    )


def _first(t: np.ndarray, so: np.ndarray) -> float:
    """When something is so for the first time, s; the end if it never is."""
    return float(t[int(np.argmax(so))]) if so.any() else UNTIL


def _when(time: float) -> str:
    return f"{time:.2f} s" if time < UNTIL else "nowhere in 10 s"


def numbers(found: Found) -> tuple[Number, ...]:
    return (*_integrator(found), *_checks(found), *_chaos(found))


def _integrator(found: Found) -> list[Number]:
    made = []
    for model in MODELS:
        case = found.cases[model, "6.1"]
        gain, loss = (float(e[-1] - e[0]) for e in (case.explicit, case.semi))
        made += [
            Number(
                "6.2, figure 6.1", f"energy lost in 10 s by Euler's method at 1 ms with the new rates, {model}",
                "2 J", -loss, reached(near(-loss, 2.0)) if model == METRE else stands(near(-loss, 2.0)), unit="J",
                note="which order was used is not told. "
                + ("Masses and lengths of 7.4.4, where the thesis puts them in; these explain figure 6.2, too"
                   if model == METRE else "Masses of 4.4, links of 0.4 m"),
            ),
            Number(
                "6.2, figure 6.1", f"energy gained in 10 s by Euler's method at 1 ms, {model}", "loses 2 J", gain,
                stands(near(-gain, 2.0)), unit="J", note="explicit: it gains",
            ),
            Number(
                "6.2", f"drift of the energy at 1 ms by a method of fourth order, {model}", NOT_PRINTED,
                found.fourth_order[model], "corrected", unit="J", note="Runge and Kutta's, the largest in 10 s",
            ),
        ]  # fmt: skip
    return made


def _checks(found: Found) -> list[Number]:
    made = []
    for (model, figure), case in found.cases.items():
        spun = float(case.energy.max())
        made += [
            Number(
                f"6.2, figure {figure}", f"energy from SciPy's in the first second, {model}", "0", case.from_scipy,
                reached(case.from_scipy <= SAME_ENERGY), unit="J", note="equations written by hand, DOP853",
            ),
            Number(
                f"6.2, figure {figure}", f"energy less the motor's work, largest change in 10 s, {model}", "0",
                case.balance, reached(case.balance <= BALANCE), unit="J",
                note="" if case.balance <= BALANCE else
                f"the elbow spins up to {spun:.4g} J and {case.turns:.0f} turns; {BALANCE:g} J is {BALANCE / spun:.1g} "
                "of that",
            ),
        ]  # fmt: skip
    made += [
        Number(
            "6.2, figure 6.2", f"does 5 N m make it oscillate? {model}", "yes",
            "yes" if found.cases[model, "6.2"].turns < 1 else
            f"no: {found.cases[model, '6.2'].turns:.0f} turns of the elbow in 10 s",
            reached(found.cases[model, "6.2"].turns < 1),
            note=f"gravity holds {hold:.3g} N m at most with the second link level",
        )
        for model, hold in found.hold.items()
    ]  # fmt: skip
    return made


def _chaos(found: Found) -> list[Number]:
    median = float(np.median(found.seen))
    return [
        Number(
            "6.2, figures 6.3, 6.4", f"energies part, {METRE}, median of {len(found.seen)} seeds", "around 5 s", median,
            reached(near(median, 5.0)), unit="s", note=f"between {min(found.seen):.2f} and {max(found.seen):.2f} s",
        ),
        *_parting(found),
    ]  # fmt: skip


def _parting(found: Found) -> list[Number]:
    return [
        Number(
            f"6.2, figure {figure}", f"energies part, {model}", "around 5 s" if figure != "6.2" else "not told",
            case.seen, "corrected" if figure == "6.2" else stands(near(case.seen, 5.0)), unit="s",
            note=f"Euler's from the true one, by a tenth of that from hanging to level: {_when(case.explicit_parted)} "
            f"explicit, {_when(case.semi_parted)} with the new rates. True runs at relative tolerances of "
            f"{LOOSE['rtol']:g} and {case.run.rtol:g} differ by {PARTED:g} rad "
            + (f"from {case.parted:.3f} s on" if case.parted < UNTIL else "nowhere"),
        )
        for (model, figure), case in found.cases.items()
    ]  # fmt: skip


def corrections(found: Found) -> tuple[Correction, ...]:
    case = {model: found.cases[model, "6.1"] for model in MODELS}
    lost = {model: -float(one.semi[-1] - one.semi[0]) for model, one in case.items()}
    gained = {model: float(one.explicit[-1] - one.explicit[0]) for model, one in case.items()}
    return (
        Correction(
            "6.2, integrator", "Euler at 1 ms loses 0.2 J/s, 1 % of a swing",
            "so with links of 1 m and 2 kg; with the masses of 4.4 three times as much, and explicit Euler gains",
            f"{lost[METRE]:.3f} J lost in 10 s",
            f"{lost[POINT]:.2f} J lost and {gained[POINT]:.2f} J gained with point masses, {lost[INERTIA]:.2f} and "
            f"{gained[INERTIA]:.2f} J with the inertias; a method of fourth order drifts "
            f"{found.fourth_order[POINT]:.0e} J",
            stands(near(lost[POINT], 2.0)),
        ),
        Correction(
            "6.2, figure 6.2", "5 N m act as a spring, it oscillates",
            "only where gravity holds more than 5 N m about the elbow",
            f"{found.cases[METRE, '6.2'].turns:.2f} turns of the elbow with links of 1 m and 2 kg, "
            f"{found.hold[METRE]:.3g} N m",
            f"{found.cases[INERTIA, '6.2'].turns:.0f} turns and {found.cases[INERTIA, '6.2'].energy.max():.0f} J after "
            f"10 s with the robot of 4.4, {found.hold[INERTIA]:.3g} N m",
            stands(found.cases[INERTIA, "6.2"].turns < 1),
        ),
    )  # fmt: skip


def drawings(found: Found) -> tuple[Drawing, ...]:
    return tuple(_drawing(found, figure) for figure in FIGURES)


def _drawing(found: Found, figure: str) -> Drawing:
    panels = []
    for model in MODELS:
        case = found.cases[model, figure]
        kinds = (("true", case.energy), ("Euler, new rates", case.semi), ("Euler, explicit", case.explicit))
        # every fifth: curves of 10,000 points each look the same and are slow to read
        curves = [Curve(name, case.t[::5], values[::5]) for name, values in kinds]
        panels.append(Panel(f"{model}\nenergy (J)", curves))
    made = timeline(panels, f"Figure {figure}: {FIGURES[figure]}")
    parted = ", ".join(f"{_when(found.cases[model, figure].seen)} ({model})" for model in MODELS)
    case = found.cases[METRE, figure]
    lost = float(case.semi[0] - case.semi[-1])
    shown = {"6.1": near(lost, 2.0), "6.2": case.turns < 1}.get(figure, near(float(np.median(found.seen)), 5.0))
    return Drawing(
        f"figure-{figure}", made,
        f"Figure {figure}: total energy, {FIGURES[figure]}, of three models: true, and by Euler's method at 1 ms. "
        f"That Euler's are not true is seen at: {parted}; links of 1 m and 2 kg are judged, as they explain the "
        "published figures.", reached(shown),
    )  # fmt: skip


CHAPTER = Chapter("6", find, numbers, corrections, drawings, share=1.0)
