"""The picture at the top of the README: a jump of the hopper and swings of the MonkeyBot, as one long exposure."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

import saltus
from saltus import Trajectory, optimize
from saltus.control import Timed
from saltus.show._points import Points, closed, contacts

HERE = Path(__file__).parent
INK, GROUND, PATH = "#30353B", "#DAD6CE", "#9AA0A6"
# Size in inches, at 150 dots an inch.
SIZE, DPI = (12.0, 4.1), 150


def jump() -> Trajectory:
    """The jump of 0.434 m that keeps nine tenths of it in 95 of 100 mixes of errors."""
    problem = optimize.find_problem("jump", None, "until-impact", 1.0)
    best = optimize.read_best(problem, HERE / "jump-that-bears-mixes.json")
    return problem.run(problem.trial(best.values))


def swings() -> Trajectory:
    """Some swings of the gait of [ufford2009], by the clock."""
    controller = Timed(swap_t=0.428, motor_t=0.025, torque=0.66, cycle_t=0.861)
    return saltus.simulate(saltus.robots.monkeybot(), controller=controller, until=0.428 + 4 * 0.861)


def expose(axes: Axes, run: Trajectory, times: np.ndarray, *, traced: Sequence[str], colours: str) -> None:
    """The robot at some times, the later the darker, over the paths of some of its points."""
    points = Points(run.system)
    fine = points.positions(run.at(np.linspace(run.start_time, run.end_time, 1500)))
    for name in traced:
        axes.plot(*fine[:, points.index(name)].T, color=PATH, lw=1.0, zorder=2)
    held = run.arc_statuses[run.everything_at(times).arc]
    for k, at in enumerate(points.positions(run.at(times))):
        shade = matplotlib.colormaps[colours](0.28 + 0.68 * k / (len(times) - 1))
        for one, other in points.skeleton:
            axes.plot(*at[[one, other]].T, color="white", lw=6.6, solid_capstyle="round", zorder=3 + k)
            axes.plot(*at[[one, other]].T, "-o", color=shade, lw=4.4, ms=6, solid_capstyle="round", zorder=3 + k)
        for contact in contacts(run.system):
            if contact.kind == "grip" and closed(held[k], contact):
                axes.plot(*at[contact.point], "s", ms=10, mfc="none", mec=INK, mew=1.8, zorder=3 + len(times))


def scale(axes: Axes, x: float, y: float, length: float) -> None:
    """A line of a known length."""
    axes.plot([x, x + length], [y, y], color=INK, lw=2.0, solid_capstyle="butt", zorder=90)
    axes.text(x + length / 2, y, f"{length:g} m\n", ha="center", va="center", color=INK, fontsize=10, zorder=90)


def panel(figure: Figure, left: float, right: float, view: tuple[float, float, float], title: str) -> Axes:
    """Axes that are not seen, for a view of the world: the middle of x, and from which to which y."""
    axes = figure.add_axes((left, 0.0, right - left, 0.89))
    middle, low, high = view
    half = 0.5 * (high - low) * (right - left) * SIZE[0] / (0.89 * SIZE[1])
    axes.set(xlim=(middle - half, middle + half), ylim=(low, high), aspect="equal")
    axes.set_axis_off()
    axes.set_autoscale_on(False)
    figure.text(left + 0.012, 0.94, title, fontsize=12, color=INK, va="center")
    return axes


def picture() -> Figure:
    figure = Figure(figsize=SIZE, dpi=DPI)
    run = jump()
    axes = panel(figure, 0.0, 0.42, (0.30, -0.12, 0.88), "A hopper jumps 0.434 m: slip, flight, impact")
    expose(axes, run, np.linspace(0.0, run.end_time, 15), traced=["P", "R"], colours="Blues")
    axes.axhspan(-1.0, 0.0, color=GROUND, zorder=1)
    axes.axhline(0.0, color=INK, lw=1.2, zorder=2)
    scale(axes, 0.62, -0.09, 0.2)
    run = swings()
    axes = panel(figure, 0.44, 1.0, (1.27, -1.52, 0.18), "A MonkeyBot swings along a wall: hold, swing, change hands")
    expose(axes, run, np.linspace(0.0, run.end_time, 37), traced=["A", "B"], colours="Oranges")
    scale(axes, 2.3, -1.44, 0.5)
    return figure


def main() -> None:
    file = io.BytesIO()
    picture().savefig(file, format="png", dpi=DPI)
    with Image.open(file) as drawn:
        few = drawn.convert("RGB").quantize(200, dither=Image.Dither.NONE)
    path = HERE.parent / "docs" / "picture.png"
    few.save(path, "PNG", optimize=True)
    print(f"wrote {path} ({path.stat().st_size // 1000} kB)")


if __name__ == "__main__":
    main()
