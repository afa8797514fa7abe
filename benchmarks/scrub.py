"""How smoothly a page is scrubbed: a run of 10,000 frames with eight plots in a browser without a window."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from tables import table

from saltus.show._bundle import page

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "browser"))

from swing_records import document, run_record

BROWSER = "/usr/bin/chromium"
FRAMES = 10_000
PLOTS = 8
END = 20.0
SECONDS = 6.0
# Frames of the screen that are looked at together for the lowest rate.
TOGETHER = 15

# Moves the time at each frame of the screen: to and fro, a little each time, or anywhere; tells when each frame was.
_SCRUB = """([how, seconds]) => new Promise((done) => {
  const [motion] = saltus.players;
  const { start, end } = motion.player;
  const times = [];
  let seed = 1;
  const anywhere = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const step = (now) => {
    times.push(now);
    const passed = (now - times[0]) / 1000;
    const part = how === "anywhere" ? anywhere() : 0.5 - 0.5 * Math.cos((2 * Math.PI * passed) / 4);
    motion.seek(start + part * (end - start));
    if (passed < seconds) requestAnimationFrame(step); else done(times);
  };
  requestAnimationFrame(step);
})"""

_PLAY = """([how, seconds]) => new Promise((done) => {
  const [motion] = saltus.players;
  motion.seek(motion.player.start);
  motion.player.setSpeed(4);
  motion.play();
  const times = [];
  const step = (now) => {
    times.push(now);
    if (now - times[0] < 1000 * Math.min(seconds, 4.5)) requestAnimationFrame(step); else done(times);
  };
  requestAnimationFrame(step);
})"""


@dataclass(frozen=True)
class Smoothness:
    """Frames a second, in the middle and at the lowest, the longest frame and the processor time of one, ms."""

    median: float
    lowest: float
    longest: float
    processor: float


def smoothness(times: list[float], processor: float) -> Smoothness:
    """From the times of frames of the screen, ms, and the processor time of all of them, s."""
    lengths = [after - before for before, after in pairwise(times)]
    middle = sorted(lengths)[len(lengths) // 2]
    slowest = max(sum(lengths[k : k + TOGETHER]) for k in range(len(lengths) - TOGETHER + 1))
    return Smoothness(1000.0 / middle, 1000.0 * TOGETHER / slowest, max(lengths), 1000.0 * processor / len(lengths))


def measure(opened: Any, how: str, seconds: float = SECONDS) -> Smoothness:
    """Scrub or play an opened page for some time."""
    used = _processor_time()
    times = opened.evaluate(_PLAY if how == "play" else _SCRUB, [how, seconds])
    return smoothness(times, _processor_time() - used)


def _processor_time() -> float:
    """Processor time of all processes below this one that are still there, s."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(file.parent.name)
        parents[number] = int(fields[1])
        seconds[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return sum(time for number, time in seconds.items() if os.getpid() in _above(number, parents))


def _above(number: int, parents: dict[int, int]) -> list[int]:
    above = []
    while number in parents:
        number = parents[number]
        above.append(number)
    return above


def report() -> str:
    """Open the page, scrub it and tell."""
    from playwright.sync_api import sync_playwright

    load = os.getloadavg()[0]
    record = run_record(end=END, frames=FRAMES, events=200, plots=PLOTS)
    ways = {
        "to and fro": "scrubbed to and fro",
        "anywhere": "scrubbed to times in no order",
        "play": "played at four times its speed",
    }
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder) / "scrub.html"
        file.write_text(page(document(record)), encoding="utf-8")
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        # so high that all plots are in sight
        opened = browser.new_page(viewport={"width": 1400, "height": 2000})
        opened.goto(file.as_uri())
        opened.wait_for_timeout(500)
        measured = {words: measure(opened, how) for how, words in ways.items()}
        version = browser.version
        browser.close()
    rows = [
        [words, f"{m.median:.0f}", f"{m.lowest:.0f}", f"{m.longest:.0f}", f"{m.processor:.1f}"]
        for words, m in measured.items()
    ]
    return "\n\n".join(
        [
            "## Scrubbing a page",
            f"A run of {FRAMES:,} frames with 200 events and {PLOTS} plots, all in sight in a window of 1400 by 2000\n"
            f"pixels, in chromium {version}, headless. The lowest rate is that of {TOGETHER} frames in a row.\n"
            f"Load of the machine when begun: {load:.1f} on {os.cpu_count()} cores.",
            table(["how", "median frames/s", "lowest frames/s", "longest frame, ms", "processor a frame, ms"], rows),
        ]
    )


if __name__ == "__main__":
    print(report())
