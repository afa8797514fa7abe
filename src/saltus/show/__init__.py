"""Pictures and pages of what runs and gaits left behind; nothing here knows a robot."""

from saltus.show._animation import save_animation
from saltus.show._family import family_figure
from saltus.show._figure import FORMS, figure_bytes, save_figure
from saltus.show._iterates import error_figure, height_figure, iterates_figure, kinetic_figure
from saltus.show._maps import intensity_figure, surface_figure
from saltus.show._page import Page
from saltus.show._painleve import painleve_figure
from saltus.show._runs import coordinates_figure, force_ratio_figure, normal_force_figure
from saltus.show._snapshots import side_by_side_figure, snapshot_times, snapshots_figure
from saltus.show._trade import trade_figure

__all__ = [
    "FORMS",
    "Page",
    "coordinates_figure",
    "error_figure",
    "family_figure",
    "figure_bytes",
    "force_ratio_figure",
    "height_figure",
    "intensity_figure",
    "iterates_figure",
    "kinetic_figure",
    "normal_force_figure",
    "painleve_figure",
    "save_animation",
    "save_figure",
    "side_by_side_figure",
    "snapshot_times",
    "snapshots_figure",
    "surface_figure",
    "trade_figure",
]
