"""Every figure of a run that its robot allows."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.figure import Figure

from saltus.engine import Trajectory
from saltus.show._energies import energies_figure
from saltus.show._forces import force_ratio_figure, forces_figure, normal_force_figure
from saltus.show._phase import phase_figure
from saltus.show._points import on_ground
from saltus.show._runs import coordinates_figure, torques_figure, velocities_figure
from saltus.show._snapshots import snapshots_figure
from saltus.show._strobe import paths_figure, strobe_figure


def run_figures(run: Trajectory) -> dict[str, Figure]:
    """Figures of a run by name: torques only with actuators, forces only with contacts, and so on."""
    return {name: draw(run) for name, draw in _allowed(run).items()}


def _allowed(run: Trajectory) -> dict[str, Callable[[Trajectory], Figure]]:
    system = run.system
    figures: dict[str, Callable[[Trajectory], Figure]] = {
        "coordinates": coordinates_figure, "velocities": velocities_figure,
    }  # fmt: skip
    if system.mechanism.actuators:
        figures["torques"] = torques_figure
    figures["energies"] = energies_figure
    if system.row_names:
        figures["forces"] = forces_figure
    if any(map(on_ground, system.units)):
        figures |= {"normal-force": normal_force_figure, "force-ratio": force_ratio_figure}
    figures["phase"] = phase_figure
    if system.skeleton:
        figures |= {"snapshots": snapshots_figure, "strobe": strobe_figure}
    if system.mechanism.points:
        figures["paths"] = paths_figure
    return figures
