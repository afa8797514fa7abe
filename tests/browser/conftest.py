"""A browser without a window and without a network, which opens pages from disk."""

import shutil
from pathlib import Path

import pytest

from saltus.show._bundle import page

SCREENSHOTS = Path(__file__).parent.parent.parent / "out" / "screenshots"
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not Path(CHROMIUM).exists():
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as driver:
        # the second lets views in space be drawn without a graphics card
        args = ["--no-sandbox", "--enable-unsafe-swiftshader"]
        found = driver.chromium.launch(executable_path=CHROMIUM, args=args)
        yield found
        found.close()


class Opened:
    """A page that was opened, and what went wrong in it."""

    def __init__(self, tab):
        self.tab, self.troubles = tab, []
        tab.on("console", lambda message: self.troubles.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: self.troubles.append(str(error)))

    def settle(self):
        """Wait until what was asked for is drawn."""
        self.tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def seek(self, time):
        self.tab.evaluate("(time) => saltus.players[0].seek(time)", time)
        self.settle()

    @property
    def time(self):
        return self.tab.evaluate("() => saltus.players[0].time")

    @property
    def playing(self):
        return self.tab.evaluate("() => saltus.players[0].player.playing")

    def pixel_of(self, run, point):
        """Where a point is on the canvas, in CSS pixels."""
        found = self.tab.evaluate("([run, point]) => saltus.players[0].scene.pixelOf(run, point)", [run, point])
        return found["x"], found["y"]

    def colour_of(self, run):
        """The colour of a run's robot."""
        text = self.tab.evaluate("(run) => saltus.players[0].scene.colourOf(run)", run)
        return tuple(int(text[k : k + 2], 16) for k in (1, 3, 5))

    def overflow(self):
        """By how much the page is wider than the window, in CSS pixels."""
        return self.tab.evaluate("() => document.documentElement.scrollWidth - innerWidth")

    def screenshot(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.tab.screenshot(path=SCREENSHOTS / f"{name}.png")


@pytest.fixture
def open_page(browser, tmp_path):
    """Write a document and open it; at the end nothing may have gone wrong and nothing may have been fetched."""
    opened, contexts, fetched = [], [], []

    def turn_away(route):
        fetched.append(route.request.url)
        route.abort()

    def start(document, *, width=1400, height=900, text=None, **options):
        file = tmp_path / f"page{len(contexts)}.html"
        file.write_text(text or page(document), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        context.set_offline(True)
        context.route(lambda url: not url.startswith("file:"), turn_away)
        contexts.append(context)
        one = Opened(context.new_page())
        opened.append(one)
        one.tab.goto(file.as_uri())
        one.tab.wait_for_function("() => window.saltus !== undefined")
        one.settle()
        one.settle()
        return one

    yield start
    for context in contexts:
        context.close()
    assert [trouble for one in opened for trouble in one.troubles] == []
    assert fetched == []
