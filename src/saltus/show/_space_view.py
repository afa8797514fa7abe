"""A run in three dimensions as one HTML page: meshcat's viewer, a scene and its motion, and nothing from elsewhere."""

from __future__ import annotations

import html
import math
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from saltus._write import write
from saltus.engine import Trajectory
from saltus.errors import InputError
from saltus.show._animation import usual_speed
from saltus.show._bundle import data_safe, script_safe, source
from saltus.show._document import check_html
from saltus.show._meshcat import commands, packed
from saltus.show._modes import bands_of
from saltus.show._run_report import default_title
from saltus.show._space_scene import SpaceScene, space_scene

# Frames for a second of motion unless said, and of one motion at most.
RATE, MOST_FRAMES = 60.0, 4000
# A robot that goes farther than so many times its own size is followed by the eye.
FAR = 6.0
# Modes that the page names at most.
MOST_MODES = 5000

_HOLE = re.compile(r"\{\{(title|style|viewer|licences|data|script)\}\}")


def save_space_view(
    run: Trajectory,
    path: Path | str,
    *,
    title: str = "",
    rate: float = RATE,
    forces: bool = True,
    follow: bool | None = None,
    force: bool = False,
) -> Path:
    """Write a run in three dimensions as an HTML file that needs nothing else; arguments as for `space_view`.

    Parameters
    ----------
    force
        Write over an existing file.
    """
    check_space_view(path, force=force)
    text = space_view(run, title=title, rate=rate, forces=forces, follow=follow)
    return write(Path(path), text.encode())


def check_space_view(path: Path | str, *, force: bool = False) -> None:
    """Refuse a path to which no view can be written, and a machine without the viewer, before any work."""
    check_html(path, force=force)
    _folder()


def space_view(
    run: Trajectory, *, title: str = "", rate: float = RATE, forces: bool = True, follow: bool | None = None
) -> str:
    """The text of a page that shows a run in three dimensions, to be turned, played and scrubbed, without a network.

    A planar robot stands upright: its x is x, its y is z. Bodies look as their shapes say; those that have none are
    drawn as the links of the skeleton and as wheels.

    Parameters
    ----------
    rate
        Frames for a second of motion; a long run has fewer, 4000 in all. Between frames the viewer interpolates.
    forces
        Whether there are arrows for contact forces, which the reader can switch off.
    follow
        Whether the eye follows the robot at first; if nothing is said, where the robot goes far for its size.
    """
    if not isinstance(run, Trajectory):
        raise InputError(f"a view in space is made of one run, got {run!r}")
    if not 0 < rate < math.inf:
        raise InputError(f"the rate must be positive and finite, in frames for a second, got {rate:g}")
    viewer, licences = _viewer()
    scene = space_scene(run, frame_times(run, rate), forces=forces)
    name = title or default_title({"": run})
    parts = {
        "title": html.escape(name),
        "style": source("space/view.css"),
        "viewer": script_safe(viewer),
        "licences": licences.replace("</", "<\\/"),
        "data": data_safe(_document(run, scene, name, follow)),
        "script": script_safe(source("space/view.mjs")),
    }
    # in one pass: what is put in is not looked through for holes
    return _HOLE.sub(lambda hole: parts[hole[1]], source("space/view.html"))


def frame_times(run: Trajectory, rate: float) -> np.ndarray:
    """Equal steps from start to end, both of which are shown, s."""
    length = run.end_time - run.start_time
    count = 1 if length <= 0 else 1 + min(max(1, math.ceil(rate * length)), MOST_FRAMES - 1)
    return np.asarray(np.linspace(run.start_time, run.end_time, count))


def _document(run: Trajectory, scene: SpaceScene, title: str, follow: bool | None) -> dict[str, Any]:
    """What the page reads: commands of the viewer, and what the page itself tells and does."""
    span = float(np.linalg.norm(scene.high - scene.low))
    bands = bands_of(run)
    return {
        "format": 1,
        "title": title,
        "start": run.start_time,
        "clock": packed(scene.times - run.start_time),
        "commands": commands(scene),
        "modes": [[band.begin, band.mode] for band in bands[:MOST_MODES]],
        "centre": packed(scene.centre),
        "box": [scene.low.tolist(), scene.high.tolist()],
        "size": scene.size,
        "speed": usual_speed([run]),
        "follow": span > FAR * scene.size if follow is None else bool(follow),
        "force": scene.largest_force,
    }


def _folder() -> Path:
    """Where the viewer is, in the installed package."""
    # found without being imported: the package's own modules would load a web server
    spec = find_spec("meshcat")
    folder = Path(spec.origin).parent / "viewer" if spec is not None and spec.origin else None
    if folder is None or not (folder / "dist" / "main.min.js").is_file():
        raise InputError("a view in space is drawn by meshcat's viewer, which is not installed; pip install meshcat")
    return folder


def _viewer() -> tuple[str, str]:
    """The viewer's code and the licences that go with it."""
    folder = _folder()
    code = (folder / "dist" / "main.min.js").read_text(encoding="utf-8")
    names = ("LICENSE", "dist/main.min.js.LICENSE.txt", "dist/main.min.js.THIRD_PARTY_LICENSES.json")
    licences = [(folder / name).read_text(encoding="utf-8") for name in names if (folder / name).is_file()]
    return code, "\n".join(licences)
