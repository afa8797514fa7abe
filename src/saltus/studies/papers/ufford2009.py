"""Ufford's search for open-loop gaits of the MonkeyBot [ufford2009]: maps, two minima and what became of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import casadi as ca
import numpy as np
from scipy.optimize import minimize

from saltus import registry
from saltus.errors import SaltusError
from saltus.gaits import (
    Cycle,
    ErrorMap,
    Gait,
    Iterates,
    Minimised,
    error_map,
    find_gait,
    iterate,
    minimise,
    run_cycle,
    solve,
    spectral_radius,
)
from saltus.hybrid import HybridSystem
from saltus.robots import find_robot
from saltus.show import error_figure, height_figure, intensity_figure, kinetic_figure, surface_figure
from saltus.studies import Correction, Drawing, Number, Paper, Report

FIRST, SECOND = {"dtheta1": 0.902, "dtheta2": 10.935}, {"dtheta1": 0.768, "dtheta2": 11.094}
GUESSES = {"first": {"dtheta1": 1.0, "dtheta2": 12.0}, "second": {"dtheta1": 0.5, "dtheta2": 11.75}}
# Of figures 3 and 4, 9, and 10. The paper prints none: these are ours, around the places that its text names.
RANGES = {"4": ((0.0, 4.0), (6.0, 14.0)), "9": ((-4.0, 4.0), (14.0, 26.0)), "10": ((2.0, 10.0), (-8.0, 8.0))}
FITTED = "parameters were inferred from such numbers"
MILLISECOND = 0.001
CYCLES = 30
# Cycles of figure 6; later ones are so much wilder that nothing else would be seen.
SHOWN = 16
# What "small" and "visibly" may mean; the paper does not say, so that all of them are told.
SMALL = (0.05, 0.1, 0.2)
VISIBLE = (0.02, 0.05, 0.1)


@dataclass(frozen=True)
class Found:
    """All that is computed before anything is judged."""

    gait: Gait
    maps: dict[str, ErrorMap]
    first: Cycle
    second: Cycle
    searches: dict[str, Minimised]
    sampled_searches: dict[str, tuple[np.ndarray, float]]
    sampled: Iterates
    exact: Iterates
    sampled_second: Iterates
    exact_second: Iterates


def make(paper: Paper, detail: int, progress: Callable[[str, float], None]) -> Report:
    gait = find_gait("swing", find_robot(paper.robot))
    maps = {}
    for k, (name, (x, y)) in enumerate(RANGES.items()):

        def told(done: int, total: int, k: int = k, name: str = name) -> None:
            progress(f"figure {name}", (k + done / total) * 0.2)

        axes = ("dtheta1", np.linspace(*x, detail)), ("dtheta2", np.linspace(*y, detail))
        maps[name] = error_map(gait, *axes, progress=told)
    progress("searches", 0.6)
    found = Found(
        gait,
        maps,
        run_cycle(gait, FIRST),
        run_cycle(gait, SECOND),
        {name: minimise(gait, guess) for name, guess in GUESSES.items()},
        {name: _sampled_search(gait, guess) for name, guess in GUESSES.items()},
        iterate(gait, CYCLES, MILLISECOND, start=FIRST),
        iterate(gait, CYCLES, start=FIRST),
        iterate(gait, CYCLES, MILLISECOND, start=SECOND),
        iterate(gait, CYCLES, start=SECOND),
    )
    progress("formulas as printed", 0.8)
    printed_switch = _outcome(_switch_as_printed(gait))
    numbers = (*_first_gait(found, printed_switch), *_second_gait(found), *_maps(found), *_stability(found))
    corrections = _corrections(found, printed_switch)
    progress("figures", 0.95)
    return Report(paper, ABOUT, numbers, corrections, _drawings(found))


# -- numbers ------------------------------------------------------------------------------------------


def _first_gait(found: Found, printed_switch: str) -> list[Number]:
    cycle, sampled = found.first, _sampled_cycle(found.gait, FIRST)
    here = {"where": "4.2, first search", "printed": printed_switch}
    return [
        Number(
            what="error from (0.902, 10.935)", published=0.000016, corrected=cycle.error, verdict="not reproducible",
            note=f"{FITTED}; {sampled.error:.3g} if events are at whole milliseconds", **here,
        ),
        Number(
            what="the switch", published=0.428, corrected=cycle.durations["switch"], unit="s", verdict="reproduced",
            note=f"{FITTED}; the first millisecond after it is {sampled.durations['switch']:.3f} s", **here,
        ),
        Number(
            what="how long the motor acts", published=0.025, corrected=cycle.durations["motor"], unit="s",
            verdict="reproduced", note=FITTED, **here,
        ),
        _searched(found, "first", "where the search from (1, 12) ends", (0.902, 10.935)),
    ]  # fmt: skip


def _second_gait(found: Found) -> list[Number]:
    sampled = _sampled_cycle(found.gait, SECOND)
    return [
        Number(
            "4.2, second search", "error from (0.768, 11.094)", 0.00053, found.second.error, "not reproducible",
            note=f"{FITTED}; of the same size, {1 - found.second.error / 0.00053:.0%} less; {sampled.error:.3g} if "
            "events are at whole milliseconds",
        ),
        _searched(found, "second", "where the search from (0.5, 11.75) ends", (0.768, 11.094)),
    ]  # fmt: skip


def _searched(found: Found, which: str, what: str, published: tuple[float, float]) -> Number:
    search, (place, error) = found.searches[which], found.sampled_searches[which]
    return Number(
        f"4.2, {which} search", what, published, (search.start["dtheta1"], search.start["dtheta2"]),
        "not reproducible",
        note=f"error {search.error:.2g} after {search.evaluations} cycles: on along the valley, towards where nothing "
        f"is lost at the switch ({search.cycle.losses['switch']:.1g} J here). With events at whole milliseconds the "
        f"same search stops early in the valley, at ({place[0]:.3f}, {place[1]:.3f}) with {error:.2g}, which is not "
        "the published place either",
    )  # fmt: skip


def _maps(found: Found) -> list[Number]:
    rough = found.maps["4"]
    border = float(np.mean([_beside_nothing(rough, one.row, one.column) for one in rough.minima(most=8)]))
    high, low = found.maps["9"], found.maps["10"]
    forward = high.good & (high.x >= 0)[None, :]
    unknown = "neither its ranges nor the parameters are printed"
    return [
        Number(
            "figure 4", "around where the errors are smallest", (0.5, 11.5),
            "; ".join(f"{_middle(rough, small)} below {small:g}" for small in SMALL), "reproduced",
            note="middle of all cells with an error below some value",
        ),
        Number(
            "figure 4", "the smallest errors are along the border of too little energy", "yes",
            f"{border:.0%} of the eight lowest minima are within two cells of it, or of cycles that take another swing",
            "reproduced",
        ),
        Number(
            "figure 9", "least error at greater speeds of the elbow", "not much below 1, at an elbow speed near 20",
            _least(high), "not reproducible",
            note=f"{unknown}; where link A does not begin backwards it is {high.error[forward].min():.3g}",
        ),
        Number(
            "figure 10", "least error at smaller speeds of the elbow", "not much below 1", _least(low),
            "not reproducible", note=unknown,
        ),
    ]  # fmt: skip


def _middle(found: ErrorMap, below: float) -> str:
    X, Y = np.meshgrid(found.x, found.y)
    cells = found.good & (np.nan_to_num(found.error, nan=np.inf) < below)
    return f"({X[cells].mean():.2f}, {Y[cells].mean():.2f})" if cells.any() else "none"


def _beside_nothing(found: ErrorMap, row: int, column: int) -> bool:
    rows, columns = slice(max(0, row - 2), row + 3), slice(max(0, column - 2), column + 3)
    period = found.period[rows, columns]
    return bool(np.isnan(period).any() or np.nanmax(period) > 1.5 * found.period[row, column])


def _least(found: ErrorMap) -> str:
    one = found.minima(most=1)[0]
    return f"{one.error:.3g} at ({one.x:.3g}, {one.y:.3g})" + (", where the map ends" if one.edge else "")


def _stability(found: Found) -> list[Number]:
    gait, sampled, exact = found.gait, found.sampled, found.exact
    falls = np.flatnonzero(sampled.y < -0.05)
    powered = solve(gait, {"dtheta1": 0.75, "dtheta2": 11.08}, {"motor_torque": 3.0})
    by_state, by_clock = (np.abs(values).max() for values in (powered.multipliers, powered.multipliers_timed))
    lasts = [iterate(powered, 60, period).first_above(1.0) for period in (None, MILLISECOND)]
    return [
        Number(
            "figure 6", "cycle from which the kinetic energy changes visibly", "about 10",
            "; ".join(f"{_changes(sampled, much)} by {much:.0%}" for much in VISIBLE), "reproduced",
            note="events at whole milliseconds; exact events: "
            + "; ".join(f"{_changes(exact, much)} by {much:.0%}" for much in VISIBLE),
        ),
        Number(
            "figure 7", "the robot keeps its height, then falls", "yes",
            f"lower by 5 cm from cycle {falls[0] + 1} on, at last by {-sampled.y.min():.2f} m", "reproduced",
            note=sampled.reason,
        ),
        Number(
            "figure 8", "the second gait is lost likewise", "yes",
            f"error above 1 from cycle {found.sampled_second.first_above(1.0)}", "reproduced",
            note=f"exact events: from cycle {found.exact_second.first_above(1.0)}",
        ),
        Number(
            "4.3", "no stable gaits of this kind", "none found",
            f"the cycle from (0.902, 10.935), by the clock: largest multiplier {_largest(gait, found.first):.3g}",
            "reproduced",
            note=f"of the gaits looked at, which is no proof. One at 3 N m that repeats to {powered.residual:.1g} "
            f"from ({powered.start['dtheta1']:.5g}, {powered.start['dtheta2']:.6g}), has {by_state:.3g} by its state "
            f"and {by_clock:.3g} by the clock: its error is above 1 from cycle {lasts[0]} with exact events, "
            f"{lasts[1]} at whole milliseconds",
        ),
    ]  # fmt: skip


def _changes(run: Iterates, much: float) -> int | None:
    seen = np.flatnonzero(np.abs(run.kinetic / run.kinetic_start - 1) > much)
    return int(seen[0]) + 1 if seen.size else None


def _largest(gait: Gait, cycle: Cycle) -> float:
    """The largest multiplier of a cycle by the clock."""
    return spectral_radius(run_cycle(gait.timed(cycle.durations), cycle.start, derivatives=True))


# -- events at whole milliseconds ---------------------------------------------------------------------


@lru_cache(maxsize=1)
def _partly_timed(gait: Gait) -> list[Gait]:
    """The gait with none of its phases by the clock, with the first, and so on."""
    timed = gait.timed(dict.fromkeys((phase.name for phase in gait.phases), 1.0))
    known = replace(gait, knobs=timed.knobs, symbols=timed.symbols)
    return [replace(known, phases=(*timed.phases[:k], *gait.phases[k:])) for k in range(len(gait.phases))]


def _sampled_cycle(gait: Gait, start: Mapping[str, float]) -> Cycle:
    """A cycle whose switch, and whose motor, ends at the first millisecond after it should."""
    lengths: dict[str, float] = {}
    clock = 0.0
    *parts, last = _partly_timed(gait)
    for part, phase in zip(parts, gait.phases, strict=False):
        end = clock + run_cycle(part, start, lengths).durations[phase.name]
        sample = math.ceil(end / MILLISECOND - 1e-9) * MILLISECOND
        lengths[f"{phase.name}_t"], clock = sample - clock, sample
    return run_cycle(last, start, lengths)


def _sampled_search(gait: Gait, guess: Mapping[str, float]) -> tuple[np.ndarray, float]:
    """Where the simplex ends, and with which error, if events are at whole milliseconds."""

    def error(place: np.ndarray) -> float:
        try:
            return _sampled_cycle(gait, dict(zip(guess, place.tolist(), strict=True))).error
        except SaltusError:
            return math.inf

    found = minimize(error, list(guess.values()), method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-4})
    return found.x, float(found.fun)


# -- formulas as printed ------------------------------------------------------------------------------


def _outcome(gait: Gait) -> str:
    """What one cycle from the first start gives, in words."""
    try:
        cycle = run_cycle(gait, FIRST)
    except SaltusError as error:
        return str(error).partition(": ")[2]
    return f"error {cycle.error:.3g} after {cycle.period:.4g} s"


def _switch_as_printed(gait: Gait) -> Gait:
    m = gait.robot.mechanism
    printed = m.coordinate("theta1").symbol + m.coordinate("theta2").symbol - math.pi
    return replace(gait, phases=(replace(gait.phases[0], ends=printed), *gait.phases[1:]))


def _fresh() -> HybridSystem:
    made: HybridSystem = registry.load("robots", "monkeybot").build()
    return made


def _torque_as_printed() -> Gait:
    robot = _fresh()
    m = robot.mechanism
    limit = m.actuators.pop("elbow").limit
    m.actuator("elbow", "theta1", limit=limit)
    return find_gait("swing", replace(robot))


def _angles_not_wrapped() -> Gait:
    robot = _fresh()
    m, symmetry = robot.mechanism, robot.symmetry
    assert symmetry is not None
    turned = math.pi + m.coordinate("theta1").symbol + m.coordinate("theta2").symbol
    return find_gait("swing", replace(robot, symmetry=replace(symmetry, state={**symmetry.state, "theta1": turned})))


def _potential_of_heights(robot: HybridSystem, height: Callable[[ca.SX], ca.SX]) -> ca.Function:
    """Potential energy as a function of state and parameters; heights are as printed if ``height`` is the sine."""
    m = robot.mechanism
    p = dict(zip(m.parameters, ca.vertsplit(m.p), strict=True))
    y, one, two = (m.coordinate(name).symbol for name in ("y", "theta1", "theta2"))
    first = y - p["r1"] * height(one)
    second = y - p["L1"] * height(one) - p["r2"] * height(one + two)
    energy = p["g"] * (p["m1"] * first + p["m2"] * second)
    return ca.Function("potential", [ca.vertcat(m.q, m.v), m.p], [energy, ca.gradient(energy, one)])


def _corrections(found: Found, printed_switch: str) -> tuple[Correction, ...]:
    gait, cycle = found.gait, found.first
    robot = gait.robot
    right = f"error {cycle.error:.3g} after {cycle.period:.4g} s"
    hanging, values = [0.0] * 8, robot.parameter_values
    by_sine, by_cosine = (float(_potential_of_heights(robot, f)(hanging, values)[1]) for f in (ca.sin, ca.cos))
    by_angles = 2 * cycle.final["theta2"] ** 2
    exact, sampled = found.exact, found.sampled
    return (
        Correction(
            "3.1, heights", "y1 = y - r1 sin θ1, …", "y1 = y - r1 cos θ1, y2 = y - L1 cos θ1 - r2 cos(θ1 + θ2)",
            f"gravity turns link A of the robot that hangs straight down by {-by_sine:.3g} N m",
            f"by {abs(by_cosine):.3g} N m: it hangs at rest, as the printed G says too",
        ),
        Correction(
            "3.1, motor torque", "in the third row of F", "in the row of θ2: the fourth, or the second of two",
            _outcome(_torque_as_printed()), right,
        ),
        Correction(
            "4.2, switch", "θ2 = π - θ1", "θ2 = π - 2θ1 where both links are as long: hand B at the height of A",
            printed_switch, right,
        ),
        Correction(
            "3.3, parameter swap", "swap the parameters of the links",
            "measure the centres of mass from the other ends too: r1' = L2 - r2, r2' = L1 - r1",
            f"at the switch the potential energy jumps by {_jump(found, whole=False):.3g} J though nothing moves",
            f"by {abs(_jump(found, whole=True)):.1g} J",
        ),
        Correction(
            "3.3, flip", "θ1 becomes π + θ1 + θ2, near a whole turn", "brought back between -π and π",
            _outcome(_angles_not_wrapped()), right,
        ),
        Correction(
            "4.2, error", "squares of differences of angles", "θ2² + (Δθ̇1)² + (Δθ̇2)² where θ1 = 0",
            f"{by_angles:.3g} from (0.902, 10.935), whatever the speeds", f"{cycle.error:.3g}",
        ),
        Correction(
            "4.2, why it is lost", "limited precision of 1 ms",
            "the gait is unstable by itself: what is left of the error grows in each cycle",
            f"1 ms: error above 1 from cycle {sampled.first_above(1.0)}",
            f"exact times: from cycle {exact.first_above(1.0)}; largest multiplier {_largest(gait, cycle):.3g}",
        ),
    )  # fmt: skip


def _jump(found: Found, *, whole: bool) -> float:
    """By how much the potential energy changes when the links change their names at the switch, J."""
    robot = found.gait.robot
    m, symmetry = robot.mechanism, robot.symmetry
    assert symmetry is not None
    potential = _potential_of_heights(robot, ca.cos)
    state = np.concatenate([[0.0, 0.0], found.first.runs[0].x[-1][:2], np.zeros(4)])
    flipped = ca.Function("flip", [ca.vertcat(m.q, m.v), m.p], [symmetry.map(m)])(state, robot.parameter_values)
    values = dict(robot.values)
    if not whole:
        values |= {"r1": values["r2"], "r2": values["r1"]}
    before, after = potential(state, robot.parameter_values)[0], potential(flipped, list(values.values()))[0]
    return float(after - before)


# -- figures ------------------------------------------------------------------------------------------


def _drawings(found: Found) -> tuple[Drawing, ...]:
    maps = found.maps
    both = {"events at whole milliseconds": found.sampled, "exact events": found.exact}
    second = {"events at whole milliseconds": found.sampled_second, "exact events": found.exact_second}
    cut = "Errors above 5 are cut off; numbers are the lowest minima that lie apart; grey where no cycle ends."
    return (
        Drawing(
            "figure-3", surface_figure(maps["4"]),
            f"Figure 3: square root of the error, with cliffs where it takes another swing. {cut}", "reproduced",
        ),
        Drawing("figure-4", intensity_figure(maps["4"]), f"Figure 4: error. {cut}", "reproduced"),
        Drawing("figure-5", error_figure(both), "Figure 5: error in each cycle of the first gait.", "reproduced"),
        Drawing(
            "figure-6", kinetic_figure(both, until=SHOWN),
            f"Figure 6: kinetic energy where θ1 = 0 in the first {SHOWN} cycles, first gait.", "reproduced",
        ),
        Drawing("figure-7", height_figure(both), "Figure 7: height of the hold, first gait.", "reproduced"),
        Drawing("figure-8", error_figure(second), "Figure 8: error in each cycle of the second gait.", "reproduced"),
        Drawing(
            "figure-9", intensity_figure(maps["9"]), f"Figure 9: error at greater speeds of the elbow. {cut}",
            "not reproducible",
        ),
        Drawing(
            "figure-10", intensity_figure(maps["10"]), f"Figure 10: error at smaller speeds of the elbow. {cut}",
            "not reproducible",
        ),
    )  # fmt: skip


ABOUT = (
    "The paper prints no masses, inertias, centres of mass or torque. The set used here was inferred from its numbers, "
    "as the one that explains them best, so that agreement with these numbers is no independent test of either. "
    "Events are found exactly; the paper's program acted at whole milliseconds. Values as printed are by the formula "
    "or rule as it stands in the paper, all else being right. Figures are judged by what the text says of them: their "
    "ranges are not printed and were chosen here."
)

PAPER = Paper(
    key="ufford2009",
    title="Simulation of a 2-link brachiating robot with open-loop controllers",
    citation="David Ufford, Northwestern University, June 2009.",
    robot="monkeybot",
    make=make,
)
