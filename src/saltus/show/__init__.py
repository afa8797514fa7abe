"""Pictures and pages of what runs and gaits left behind; nothing here knows a robot."""

from typing import TYPE_CHECKING

from saltus._lazy import loaded_later

if TYPE_CHECKING:
    from saltus.show._all import run_figures
    from saltus.show._animation import check_animation, save_animation
    from saltus.show._bars import bars_figure, mean_interval, wilson_interval
    from saltus.show._document import Document, check_html, versions
    from saltus.show._energies import energies_figure
    from saltus.show._family import family_figure
    from saltus.show._figure import FORMS, figure_bytes, save_figure
    from saltus.show._forces import force_ratio_figure, forces_figure, normal_force_figure
    from saltus.show._intervals import intervals_figure
    from saltus.show._iterates import error_figure, height_figure, iterates_figure, kinetic_figure
    from saltus.show._maps import intensity_figure, surface_figure
    from saltus.show._multipliers import multipliers_figure
    from saltus.show._painleve import painleve_figure
    from saltus.show._phase import phase_figure
    from saltus.show._region import region_figure
    from saltus.show._run_report import add_runs, report
    from saltus.show._runs import coordinates_figure, series_figure, torques_figure, velocities_figure
    from saltus.show._snapshots import side_by_side_figure, snapshot_times, snapshots_figure
    from saltus.show._space_view import check_space_view, save_space_view, space_view
    from saltus.show._strobe import paths_figure, strobe_figure
    from saltus.show._trade import trade_figure

__all__ = [
    "FORMS",
    "Document",
    "add_runs",
    "bars_figure",
    "check_animation",
    "check_html",
    "check_space_view",
    "coordinates_figure",
    "energies_figure",
    "error_figure",
    "family_figure",
    "figure_bytes",
    "force_ratio_figure",
    "forces_figure",
    "height_figure",
    "intensity_figure",
    "intervals_figure",
    "iterates_figure",
    "kinetic_figure",
    "mean_interval",
    "multipliers_figure",
    "normal_force_figure",
    "painleve_figure",
    "paths_figure",
    "phase_figure",
    "region_figure",
    "report",
    "run_figures",
    "save_animation",
    "save_figure",
    "save_space_view",
    "series_figure",
    "side_by_side_figure",
    "snapshot_times",
    "snapshots_figure",
    "space_view",
    "strobe_figure",
    "surface_figure",
    "torques_figure",
    "trade_figure",
    "velocities_figure",
    "versions",
    "wilson_interval",
]

__getattr__ = loaded_later(__name__)
