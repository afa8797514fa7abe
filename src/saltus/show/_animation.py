"""Runs as films: HTML pages, GIF files by Pillow, MP4 files by ffmpeg where it is installed; all or nothing."""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from matplotlib.colors import to_rgb
from PIL import Image

from saltus._write import check_path, write
from saltus.engine import Trajectory
from saltus.errors import InputError, SaltusError
from saltus.show._document import Document
from saltus.show._figure import GREY
from saltus.show._frames import BAR, COLOURS, FORCE, GRID, GROUND, Scene
from saltus.show._run_report import default_title

FORMS = (".html", ".gif", ".mp4")
# A run of real time lasts at least so long on the screen, s; a shorter one is slowed down.
SHORTEST = 2.0
# How long a run without a length is shown, s.
STILL = 1.0
# Pillow keeps all frames of a GIF in memory, and browsers show no more than fifty of them in a second.
MOST_FRAMES = {".gif": 1500, ".mp4": 36_000}
MOST_FPS = {".gif": 50.0, ".mp4": 240.0}
SMALLEST, LARGEST = (360, 300), 4096


def save_animation(
    runs: Trajectory | Mapping[str, Trajectory],
    path: Path | str,
    *,
    speed: float | None = None,
    fps: float = 30.0,
    size: tuple[int, int] = (800, 500),
    traces: Sequence[str] | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write a run, or several overlaid, as a film: .html with its own player, .gif, or .mp4 where ffmpeg is installed.

    Speed, frames and size are those of .gif and .mp4 files; on a page the reader chooses.

    Parameters
    ----------
    runs
        A run, or runs by name; one that is over stands still while others go on.
    speed
        Seconds of the run in a second of the film; if none is given, `usual_speed`, or what a long run needs.
    fps
        Frames in a second of the film.
    size
        Width and height in pixels; made even, as videos must be.
    traces
        Points whose paths are drawn; the last of the skeleton if none are given.
    force
        Whether a file that is there may be replaced.
    progress
        Told how many frames are done, and of how many.
    """
    path = Path(path)
    named = _named(runs)
    program = check_animation(path, force=force)
    if path.suffix == ".html":
        page = Document(default_title(named))
        page.runs("Motion", named)
        return page.save(path, force=force)
    pace = usual_speed(named.values()) if speed is None else _positive("speed", speed)
    if speed is None:  # a long run is as fast as its frames need it to be
        pace = max(pace, _length(named.values()) * _positive("fps", fps) / (MOST_FRAMES[path.suffix] - 1))
    if _positive("fps", fps) > MOST_FPS[path.suffix]:
        raise InputError(f"a {path.suffix} file has at most {MOST_FPS[path.suffix]:g} frames in a second, got {fps:g}")
    _check_count(_count(_length(named.values()), pace, fps), path, pace, fps)
    times = frame_times(named.values(), pace, fps)
    scene = Scene(named, times, size=_even(size), speed=pace, traces=traces)
    frames = _told(scene.frames(), len(times), progress or (lambda done, total: None))
    seconds = _length(named.values()) / pace or STILL
    content = _mp4(program, frames, scene, fps) if program else _gif(frames, scene, seconds)
    return write(path, content)


def usual_speed(runs: Iterable[Trajectory]) -> float:
    """Real time; of runs shorter than two seconds the fastest of 0.5, 0.2, 0.1, … at which they last that long."""
    length = _length(runs)
    if length >= SHORTEST or length == 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(length / SHORTEST))
    share = length / SHORTEST / power * (1 + 1e-9)
    return power * max(step for step in (1.0, 2.0, 5.0) if step <= max(1.0, share))


def frame_times(runs: Iterable[Trajectory], speed: float, fps: float) -> np.ndarray:
    """The time of each frame, s: from the first beginning to the last end; both of them are shown."""
    known = list(runs)
    begin, length = min(run.start_time for run in known), _length(known)
    count = _count(length, speed, fps)
    return begin + length * np.linspace(0.0, 1.0, count)


def _count(length: float, speed: float, fps: float) -> int:
    """How many frames a film has."""
    return max(2, round(length / speed * fps)) if length > 0 else 1


def _length(runs: Iterable[Trajectory]) -> float:
    known = list(runs)
    return max(run.end_time for run in known) - min(run.start_time for run in known)


def _named(runs: Trajectory | Mapping[str, Trajectory]) -> dict[str, Trajectory]:
    if isinstance(runs, Trajectory):
        return {"": runs}
    if not isinstance(runs, Mapping) or not all(isinstance(run, Trajectory) for run in runs.values()):
        raise InputError(f"an animation is made of a run, or of runs by name, got {runs!r}")
    named = dict(runs)
    if not 0 < len(named) <= len(COLOURS):
        raise InputError(f"an animation shows one run or up to {len(COLOURS)} that can be told apart, got {len(named)}")
    return named


def check_animation(path: Path | str, *, force: bool = False) -> str:
    """Refuse a path to which no film can be written, before any work; the program that writes it, if there is one."""
    check_path(Path(path), FORMS, force=force)
    if Path(path).suffix != ".mp4":
        return ""
    program = shutil.which("ffmpeg")
    if program is None:
        raise InputError(
            "an .mp4 file is written by ffmpeg, which is not on the PATH; install it (apt install ffmpeg, "
            "brew install ffmpeg), or write a .gif or an .html file, which need nothing else"
        )
    return program


def _positive(what: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise InputError(f"{what} must be a positive number, got {value!r}")
    return float(value)


def _even(size: tuple[int, int]) -> tuple[int, int]:
    try:
        width, height = (int(side) for side in size)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"size is a width and a height in pixels, got {size!r}") from None
    if not (SMALLEST[0] <= width <= LARGEST and SMALLEST[1] <= height <= LARGEST):
        least = f"at least {SMALLEST[0]} by {SMALLEST[1]}"
        raise InputError(f"a picture has {least} pixels, and at most {LARGEST} along a side, got {width} by {height}")
    return width + width % 2, height + height % 2


def _check_count(count: int, path: Path, speed: float, fps: float) -> None:
    most = MOST_FRAMES[path.suffix]
    if count > most:
        other = ", or an .mp4 file" if path.suffix == ".gif" else ""
        raise InputError(
            f"{path.name} would have {count} frames, and a {path.suffix} file has at most {most}: take a speed above "
            f"{speed * count / most:.3g} (now {speed:.3g}), fewer frames in a second (now {fps:g}){other}"
        )


def _told(frames: Iterator[np.ndarray], total: int, progress: Callable[[int, int], None]) -> Iterator[np.ndarray]:
    for done, frame in enumerate(frames, 1):
        yield frame
        progress(done, total)


# -- GIF ----------------------------------------------------------------------------------------------


def _gif(frames: Iterator[np.ndarray], scene: Scene, seconds: float) -> bytes:
    images = map(_reduced, frames)
    file = io.BytesIO()
    first = next(images)
    durations = _durations(len(scene.times), seconds)
    first.save(file, "GIF", save_all=True, append_images=images, duration=durations, loop=0, optimize=False)
    return file.getvalue()


@lru_cache(maxsize=1)
def _palette() -> tuple[np.ndarray, np.ndarray]:
    """All colours of a scene, pure and as their edges mix with white and the ground; the nearest of them by cell.

    A cell is 8 by 8 by 8 values of red, green and blue. The first colour is white.
    """
    pure = np.array([to_rgb(name) for name in (*COLOURS, FORCE, GREY, BAR, GROUND, GRID)])
    on_white = [share * pure + 1 - share for share in np.linspace(0.1, 1.0, 10)]
    on_ground = [share * pure[:-2] + (1 - share) * np.array(to_rgb(GROUND)) for share in np.linspace(0.2, 0.8, 4)]
    greys = np.repeat(np.linspace(0.05, 0.95, 16)[:, None], 3, axis=1)
    colours = np.round(255 * np.concatenate([np.ones((1, 3)), *on_white, *on_ground, greys]))
    steps = np.arange(32) * 255 / 31
    cells = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    # the nearest by |cell - colour|², without |cell|² which is the same for all
    nearest = ((colours**2).sum(axis=1) - 2 * cells @ colours.T).argmin(axis=1)
    return colours.astype(np.uint8), nearest.astype(np.uint8)


def _reduced(frame: np.ndarray) -> Image.Image:
    """A frame in the colours of the palette."""
    colours, nearest = _palette()
    cells = (frame[..., :3] >> 3).astype(np.uint16)
    image = Image.fromarray(nearest[cells[..., 0] << 10 | cells[..., 1] << 5 | cells[..., 2]])
    image.putpalette(colours.ravel().tolist())
    return image


def _durations(count: int, seconds: float) -> list[int]:
    """How long each frame is shown, ms: hundredths of a second, all that a GIF knows, that add up to the whole."""
    marks = np.round(100.0 * seconds * np.arange(count + 1) / count).astype(int)
    return [10 * max(1, after - before) for before, after in itertools.pairwise(marks.tolist())]


# -- MP4 ----------------------------------------------------------------------------------------------


def _mp4(program: str, frames: Iterator[np.ndarray], scene: Scene, fps: float) -> bytes:
    width, height = (int(side) for side in scene.figure.bbox.size)
    with tempfile.TemporaryDirectory(prefix="saltus-") as folder:
        film = Path(folder) / "film.mp4"
        given = ["-f", "rawvideo", "-pix_fmt", "rgba", "-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "-"]
        wanted = ["-an", "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(film)]
        command = [program, "-loglevel", "error", "-nostdin", "-y", *given, *wanted]
        with (Path(folder) / "errors").open("w+b") as errors:
            code = _feed(command, frames, errors)
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip()
        if code != 0 or not film.is_file():
            raise SaltusError(f"ffmpeg could not write the film (exit code {code}): {said[-500:] or 'no reason given'}")
        return film.read_bytes()


def _feed(command: Sequence[str], frames: Iterator[np.ndarray], errors: io.BufferedRandom) -> int:
    """Give all frames to a program; it is ended if that fails."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors)
    assert process.stdin is not None
    try:
        # where it has ended before the last frame, it has said why
        with contextlib.suppress(BrokenPipeError), process.stdin:
            for frame in frames:
                process.stdin.write(np.ascontiguousarray(frame).tobytes())
        return process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
