"""Pages in a real browser: they open from disk without a network, play, and draw what the record says."""

import io
import json
import math
import re

import numpy as np
import pytest
from PIL import Image
from swing_records import document, every_kind, packed, places, run_record, unpacked

from saltus.show._bundle import page

MINUS, GAP = "\u2212", "\u2013"
NASTY = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


@pytest.fixture
def swing(open_page):
    return open_page(document(run_record()))


def picture(opened, selector="canvas.scene"):
    """What is seen of an element, as an array of colours."""
    return np.asarray(Image.open(io.BytesIO(opened.tab.locator(selector).first.screenshot())).convert("RGB"), int)


def has_colour(seen, x, y, colour, reach=0, off=2):
    """Whether a colour, or one that differs by little, is at a place, or within some pixels of it."""
    row, column = math.floor(y), math.floor(x)
    near = seen[max(0, row - reach) : row + reach + 1, max(0, column - reach) : column + reach + 1]
    return bool((np.abs(near - np.array(colour)).max(axis=-1) <= off).any())


# -- opening ------------------------------------------------------------------------------------------


def test_a_page_opens_from_disk_with_no_network(open_page):
    opened = open_page(document(run_record(), sections=every_kind()))
    assert opened.tab.title() == "A test"
    assert opened.tab.locator("h1").inner_text() == "A test"
    assert opened.tab.locator("section").count() == len(every_kind()) + 1
    assert opened.tab.evaluate("() => saltus.players.length") == 1
    assert opened.time == 0.0
    opened.screenshot("opened")


def test_each_kind_of_section_is_shown(open_page):
    tab = open_page(document(sections=every_kind())).tab
    sections = [section.inner_text() for section in tab.locator("section").all()]
    assert [len(tab.locator("section").nth(0).locator("p").all()), "Second part." in sections[0]] == [2, True]
    assert "length\n0.5 m" in sections[1]
    assert sections[1].endswith("mass ratio\n2")
    assert "saltus run links --for 3" in sections[2]
    assert "none" in sections[4]
    assert re.search(r"✓ passed\s+energy", sections[5])
    assert re.search(r"✗ failed\s+drift", sections[5])
    assert tab.locator("img").get_attribute("alt") == "a dot"
    assert "This page cannot show a section of type “hologram”." in sections[7]


def test_a_long_table_shows_its_rest_when_asked(open_page):
    tab = open_page(document(sections=every_kind())).tab
    rows = tab.locator("section.table tbody tr")
    assert rows.count() == 200
    tab.get_by_role("button", name="Show all 450 rows").click()
    assert rows.count() == 450
    assert rows.nth(449).inner_text().split() == ["449", str(449**2)]


def test_a_command_is_copied(open_page):
    opened = open_page(document(sections=every_kind()), permissions=["clipboard-read", "clipboard-write"])
    opened.tab.get_by_role("button", name="Copy").click()
    opened.tab.get_by_role("button", name="Copied").wait_for()
    assert opened.tab.evaluate("() => navigator.clipboard.readText()") == "saltus run links --for 3"


# -- playing ------------------------------------------------------------------------------------------


def test_nothing_plays_by_itself(swing):
    swing.tab.wait_for_timeout(250)
    assert swing.time == 0.0


def test_play_and_pause(swing):
    swing.tab.get_by_role("button", name="play").click()
    swing.tab.wait_for_function("() => saltus.players[0].time > 0.1")
    assert swing.playing
    swing.screenshot("playing")
    swing.tab.get_by_role("button", name="pause").click()
    stopped = swing.time
    swing.tab.wait_for_timeout(150)
    assert swing.time == stopped
    assert 0.1 < stopped < 3.0


def test_play_takes_the_time_it_should(open_page):
    opened = open_page(document(run_record(end=30.0)))
    passed = opened.tab.evaluate(
        """() => new Promise((done) => {
          const [motion] = saltus.players;
          motion.player.setSpeed(2);
          motion.play();
          const begin = performance.now();
          setTimeout(() => done([motion.time, (performance.now() - begin) / 1000]), 800);
        })"""
    )
    assert passed[0] == pytest.approx(2 * passed[1], abs=0.3)


def test_it_stops_at_the_end_or_loops(swing):
    swing.tab.evaluate("() => { const [m] = saltus.players; m.player.setSpeed(4); m.seek(2.9); m.play(); }")
    swing.tab.wait_for_function("() => !saltus.players[0].player.playing")
    assert swing.time == 3.0
    swing.tab.get_by_label("loop").check()
    swing.tab.evaluate("() => { const [m] = saltus.players; m.seek(2.9); m.play(); }")
    swing.tab.wait_for_function("() => saltus.players[0].time < 2")
    assert swing.playing


def test_scrubbing_with_the_slider(swing):
    box = swing.tab.get_by_label("time", exact=True).bounding_box()
    middle = box["y"] + box["height"] / 2
    swing.tab.mouse.move(box["x"] + box["width"] / 2, middle)
    swing.tab.mouse.down()
    swing.settle()
    assert swing.time == pytest.approx(1.5, abs=0.02)
    swing.tab.mouse.move(box["x"] + 0.75 * box["width"], middle)
    swing.tab.mouse.up()
    swing.settle()
    assert swing.time == pytest.approx(2.25, abs=0.03)
    assert swing.tab.locator(".clock").inner_text() == f"{swing.time:.3f} s"
    assert "mode: hold" in swing.tab.locator(".modes").inner_text()


def test_clicking_and_dragging_on_a_plot(swing):
    box = swing.tab.locator("canvas.curves").first.bounding_box()
    wanted = swing.tab.evaluate("() => saltus.players[0].plots[0].across(1.25)")
    swing.tab.mouse.move(box["x"] + wanted, box["y"] + 60)
    swing.tab.mouse.down()
    swing.settle()
    assert swing.time == pytest.approx(1.25, abs=0.01)
    swing.tab.mouse.move(box["x"] + wanted + 100, box["y"] + 60)
    swing.tab.mouse.up()
    assert swing.time > 1.4
    swing.tab.mouse.move(box["x"] + wanted, box["y"] + 60)
    assert swing.time > 1.4


def test_speed_is_chosen(swing):
    chosen = swing.tab.get_by_label("speed", exact=True).last
    assert chosen.input_value() == "0.5"
    chosen.select_option("0.1")
    assert swing.tab.evaluate("() => saltus.players[0].player.speed") == 0.1


# -- events -------------------------------------------------------------------------------------------


def test_clicking_an_event_shows_its_instant(swing):
    swing.tab.locator(".events tr", has_text="1.5000").click()
    swing.settle()
    assert swing.time == 1.5
    assert swing.tab.locator(".events tr.current").inner_text().startswith("1.5000")
    assert swing.tab.locator(".events tr[aria-current=true]").count() == 1


def test_stepping_from_event_to_event(swing):
    seen = []
    for name in ["next event"] * 6 + ["previous event"] * 3:
        swing.tab.get_by_role("button", name=name).click()
        seen.append(swing.time)
    assert seen == [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 2.5, 2.0, 1.5]


def test_the_list_of_events_by_keyboard(swing):
    swing.tab.locator(".events tr[tabindex='0']").focus()
    swing.tab.keyboard.press("ArrowDown")
    swing.tab.keyboard.press("ArrowDown")
    assert swing.time == 0.0
    swing.tab.keyboard.press("Enter")
    assert swing.time == 1.5


def test_a_thousand_events(open_page):
    opened = open_page(document(run_record(end=20.0, frames=4001, events=1000)))
    lines = opened.tab.locator(".events tr[data-index]")
    assert 5 < lines.count() < 100
    assert "Events (1,000)" in opened.tab.locator(".events h3").inner_text()
    opened.seek(10.0)
    current = opened.tab.locator(".events tr.current")
    box, line = opened.tab.locator(".rows").bounding_box(), current.bounding_box()
    assert box["y"] < line["y"] < box["y"] + box["height"] - line["height"]
    indices = lines.evaluate_all("(all) => all.map((line) => Number(line.dataset.index))")
    assert indices == list(range(indices[0], indices[-1] + 1))
    assert float(current.inner_text().split()[0]) == pytest.approx(10.0, abs=0.02)
    opened.tab.locator(".rows").evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
    last = opened.tab.locator(".events tr[data-index='999']")
    last.click()
    assert opened.time == pytest.approx(20.0 * 1000 / 1001)
    opened.settle()
    assert last.get_attribute("aria-current") == "true"
    opened.screenshot("thousand-events")


def test_no_events(open_page):
    opened = open_page(document(run_record(events=0)))
    assert opened.tab.locator(".events").inner_text().split() == ["Events", "none"]
    opened.tab.get_by_role("button", name="next event").click()
    assert opened.time == 3.0


# -- keyboard -----------------------------------------------------------------------------------------


def test_keys_in_the_player(swing):
    swing.tab.locator(".stage").focus()
    frame = 3.0 / 300
    for key, time in [
        ("ArrowRight", frame),
        ("ArrowRight", 2 * frame),
        ("ArrowLeft", frame),
        ("Shift+ArrowRight", 0.5),
        (".", 1.0),
        (",", 0.5),
        ("End", 3.0),
        ("Shift+ArrowLeft", 2.5),
        ("Home", 0.0),
    ]:
        swing.tab.keyboard.press(key)
        assert swing.time == pytest.approx(time, abs=1e-12), key
    swing.tab.keyboard.press("ArrowUp")
    assert swing.tab.evaluate("() => saltus.players[0].player.speed") == 1
    swing.tab.keyboard.press(" ")
    assert swing.playing
    swing.tab.keyboard.press(" ")
    assert not swing.playing


def test_space_on_a_button_presses_it_once(swing):
    swing.tab.get_by_role("button", name="play").focus()
    swing.tab.keyboard.press(" ")
    assert swing.playing
    swing.tab.get_by_role("button", name="next event").focus()
    swing.tab.keyboard.press(" ")
    assert not swing.playing
    assert swing.time == 0.5


def test_space_plays_with_no_focus_while_the_picture_is_in_sight(open_page):
    opened = open_page(document(run_record(), sections=[{"type": "text", "text": "words\n\n" * 200}]))
    opened.tab.keyboard.press("ArrowRight")
    assert opened.time == 0.0
    opened.tab.locator("canvas.scene").scroll_into_view_if_needed()
    opened.tab.keyboard.press("ArrowRight")
    assert opened.time > 0.0


def test_the_focus_is_seen_and_everything_has_a_name(swing):
    swing.tab.keyboard.press("Tab")
    outline = swing.tab.evaluate("() => getComputedStyle(document.activeElement).outlineWidth")
    assert swing.tab.evaluate("() => document.activeElement.className") == "stage"
    assert outline == "3px"
    nameless = swing.tab.evaluate(
        """() => [...document.querySelectorAll("button, input, select, canvas, [role]")].filter((one) =>
          !one.getAttribute("aria-label") && !one.closest("label") && !one.textContent.trim()
          && one.getAttribute("aria-hidden") !== "true").length"""
    )
    assert nameless == 0


# -- what is drawn ------------------------------------------------------------------------------------

TIMES = [0.0, 0.123, 0.5, 0.77777, 1.5, 2.2, 2.9999, 3.0]


def test_points_are_those_of_the_motion(swing):
    for time in TIMES:
        found = swing.tab.evaluate("(time) => [...saltus.players[0].runs[0].pointsAt(time)]", time)
        np.testing.assert_allclose(found, places(time)[0].ravel(), atol=5e-8)


def test_pixels_are_those_of_the_motion(swing):
    assert swing.tab.get_by_label("force arrows").is_checked()
    swing.seek(0.0)
    view = swing.tab.evaluate("() => saltus.players[0].scene.viewAt(0)")
    colour = swing.colour_of(0)
    for time in TIMES:
        swing.seek(time)
        seen = picture(swing)
        for name, (x, y) in zip(("pivot", "elbow", "hand"), places(time)[0], strict=True):
            across, down = view["x"] + view["scale"] * x, view["y"] - view["scale"] * y
            assert swing.pixel_of(0, name) == pytest.approx((across, down), abs=0.01)
            assert has_colour(seen, across, down, colour), (time, name)
        # halfway along a link is the link, beside it is not
        (x, y), (x2, y2) = swing.pixel_of(0, "pivot"), swing.pixel_of(0, "elbow")
        assert has_colour(seen, (x + x2) / 2, (y + y2) / 2, colour)
        length = math.hypot(x2 - x, y2 - y)
        away = 12 * (y2 - y) / length, -12 * (x2 - x) / length
        assert not has_colour(seen, (x + x2) / 2 + away[0], (y + y2) / 2 + away[1], colour, reach=2)


def test_a_wheel_is_a_circle_of_its_radius(swing):
    swing.seek(1.3)
    seen, (x, y) = picture(swing), swing.pixel_of(0, "hand")
    radius = 0.08 * swing.tab.evaluate("() => saltus.players[0].scene.viewAt(1.3).scale")
    for angle in np.linspace(0.0, 2 * np.pi, 9):
        assert has_colour(seen, x + radius * np.cos(angle), y + radius * np.sin(angle), swing.colour_of(0), reach=1)


def test_following_keeps_the_robot_in_the_middle(swing):
    swing.tab.get_by_label("follow the robot").check()
    for time in TIMES[::3]:
        swing.seek(time)
        seen, (x, y) = picture(swing), swing.pixel_of(0, "elbow")
        assert has_colour(seen, x, y, swing.colour_of(0))
        corners = np.array([swing.pixel_of(0, name) for name in ("pivot", "elbow", "hand")])
        middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
        assert abs(middle[0] - seen.shape[1] / 2) < 40
        assert abs(middle[1] - seen.shape[0] / 2) < 40


def test_arrows_paths_and_names_come_and_go(swing):
    swing.seek(1.3)
    seen = picture(swing)
    for label in ("force arrows", "hand", "point names"):
        box = swing.tab.get_by_label(label, exact=True)
        box.click()
        swing.settle()
        other = picture(swing)
        assert (seen != other).any(axis=-1).sum() > 30, label
        box.click()
        swing.settle()
        assert (picture(swing) == seen).all(), label


def test_a_force_is_an_arrow_of_its_length(swing):
    swing.seek(0.25)
    view = swing.tab.evaluate("() => saltus.players[0].scene.viewAt(0.25)")
    scale = swing.tab.evaluate("() => saltus.players[0].scene.arrowScale")
    force = np.array([4.0 * np.sin(0.75), 12.0 + 5.0 * np.cos(1.5)])
    tip = np.array(swing.pixel_of(0, "pivot")) + [1, -1] * force * scale["length"] / scale["force"] * view["scale"]
    along = np.array([1, -1]) * force / np.hypot(*force)
    arrow = (0xD5, 0x5E, 0x00)
    seen = picture(swing)
    assert has_colour(seen, *(tip - 5 * along), arrow, reach=1)
    assert has_colour(seen, *(np.array(swing.pixel_of(0, "pivot")) + 15 * along), arrow, reach=1)
    assert not has_colour(seen, *(tip + 5 * along), arrow, reach=2)
    swing.seek(0.75)
    assert not has_colour(picture(swing), *(tip - 5 * along), arrow, reach=1)


def test_a_path_is_drawn_up_to_now(swing):
    def path_pixels(time):
        swing.seek(time)
        return int((np.abs(picture(swing) - np.array([0xE6, 0x9F, 0x00])).max(axis=-1) <= 40).sum())

    counts = [path_pixels(time) for time in (0.0, 0.3, 0.6)]
    assert counts[0] < counts[1] < counts[2]
    # back again, and in one leap
    assert path_pixels(0.3) == counts[1]
    assert abs(path_pixels(0.6) - counts[2]) <= 0.02 * counts[2]


def test_the_cursor_and_the_values_move(swing):
    swing.seek(1.25)
    plot = swing.tab.locator(".plot").first
    values = [float(text.replace(MINUS, "-")) for text in plot.locator(".value").all_inner_texts()]
    assert values == pytest.approx([0.9 * math.sin(3.75), 0.7 * math.sin(6.65)], abs=1e-4)
    seen = picture(swing, "canvas.curves")
    x = swing.tab.evaluate("() => saltus.players[0].plots[0].across(1.25)")
    dark = (np.abs(seen - np.array([0x1B, 0x1F, 0x24])).max(axis=-1) < 60).sum(axis=0)
    assert abs(int(dark.argmax()) - x) <= 1


def test_curves_are_drawn_where_their_values_are(swing):
    seen = picture(swing, "canvas.curves")
    edges = swing.tab.evaluate("() => { const [p] = saltus.players[0].plots; return p.range.map((v) => p.down(v)); }")
    height = swing.tab.locator("canvas.curves").first.evaluate("(canvas) => canvas.clientHeight")
    assert edges == pytest.approx([height - 20, 19])
    for time in (0.3, 0.9, 1.7, 2.6):
        value = 0.9 * math.sin(3 * time)
        x, y = swing.tab.evaluate(
            "([t, v]) => [saltus.players[0].plots[0].across(t), saltus.players[0].plots[0].down(v)]", [time, value]
        )
        # the edges of a thin line are mixed with what is behind it
        assert has_colour(seen, x, y, (0x00, 0x72, 0xB2), off=90), time
        assert not has_colour(seen, x, y - 8, (0x00, 0x72, 0xB2), reach=3, off=90), time


def test_at_an_event_the_value_after_it_is_told(swing):
    swing.seek(0.5)
    told = swing.tab.locator(".plot").nth(1).locator(".value").nth(1).inner_text()
    assert float(told.replace(MINUS, "-")) == pytest.approx(3.5 * math.cos(2.9) + 1, abs=1e-3)


def test_runs_are_overlaid(open_page):
    opened = open_page(document(run_record("first"), run_record("second", amplitude=0.4, end=2.0)))
    opened.seek(0.6)
    seen = picture(opened)
    assert opened.colour_of(0) != opened.colour_of(1)
    for run, amplitude in enumerate((0.9, 0.4)):
        found = opened.tab.evaluate("(run) => [...saltus.players[0].runs[run].pointsAt(0.6)]", run)
        np.testing.assert_allclose(found, places(0.6, amplitude)[0].ravel(), atol=5e-8)
        assert has_colour(seen, *opened.pixel_of(run, "elbow"), opened.colour_of(run))
    assert opened.tab.locator(".plot").count() == 3
    assert opened.tab.locator(".plot").first.locator(".value").count() == 4
    assert {"first", "second"} <= set(opened.tab.locator(".events td").all_inner_texts())
    # the second is over by then: it stays where it was, and has no values
    opened.seek(2.5)
    assert opened.tab.locator(".plot").first.locator(".value").nth(1).inner_text() == GAP
    opened.screenshot("two-runs")


# -- sizes and light ----------------------------------------------------------------------------------


def test_a_narrow_screen_has_nothing_beside_it(open_page):
    record = run_record("a_run_with_a_name_that_is_very_long_and_has_no_place_to_break_it_anywhere_at_all")
    opened = open_page(document(record, title=record["name"], sections=every_kind()), width=380, height=780)
    assert opened.overflow() == 0
    opened.tab.locator("canvas.scene").scroll_into_view_if_needed()
    opened.seek(1.3)
    x, y = opened.pixel_of(0, "elbow")
    assert has_colour(picture(opened), x, y, opened.colour_of(0))
    assert opened.tab.locator("canvas.scene").bounding_box()["width"] > 320
    opened.screenshot("narrow")


def test_resizing_an_open_page(swing):
    swing.seek(1.3)
    for width in (380, 800, 1400):
        swing.tab.set_viewport_size({"width": width, "height": 780})
        swing.settle()
        swing.settle()
        assert swing.overflow() == 0
        assert swing.tab.locator("canvas.scene").evaluate("(canvas) => canvas.width === canvas.clientWidth")
        assert has_colour(picture(swing), *swing.pixel_of(0, "hand"), swing.colour_of(0))


def test_dark_mode(open_page):
    opened = open_page(document(run_record()), color_scheme="dark")
    opened.seek(1.3)
    seen = picture(opened)
    assert seen.mean() < 60
    assert has_colour(seen, *opened.pixel_of(0, "elbow"), opened.colour_of(0))
    assert picture(opened, "canvas.curves").mean() < 80
    opened.screenshot("dark")
    dark = opened.colour_of(0)
    opened.tab.emulate_media(color_scheme="light")
    opened.settle()
    assert opened.colour_of(0) != dark
    assert picture(opened).mean() > 200


def test_a_fine_screen_has_fine_pictures(open_page):
    opened = open_page(document(run_record()), device_scale_factor=2)
    opened.seek(1.3)
    assert opened.tab.locator("canvas.scene").evaluate("(canvas) => canvas.width === 2 * canvas.clientWidth")
    x, y = opened.pixel_of(0, "elbow")
    assert has_colour(picture(opened), 2 * x, 2 * y, opened.colour_of(0))


def test_reduced_motion_plays_when_asked(open_page):
    opened = open_page(document(run_record()), reduced_motion="reduce")
    opened.tab.wait_for_timeout(150)
    assert opened.time == 0.0
    opened.tab.get_by_role("button", name="play").click()
    opened.tab.wait_for_function("() => saltus.players[0].time > 0")


# -- unusual runs and documents -----------------------------------------------------------------------


def test_a_run_of_one_frame(open_page):
    opened = open_page(document(run_record(frames=1, events=0)))
    assert has_colour(picture(opened), *opened.pixel_of(0, "hand"), opened.colour_of(0))
    opened.tab.keyboard.press(" ")
    opened.settle()
    assert opened.time == 0.0
    assert opened.tab.get_by_label("time", exact=True).is_disabled()


def test_gaps_in_series_and_points(open_page):
    record = run_record()
    count = len(unpacked(record["t"]))
    record["plots"][0]["series"][0]["values"] = [None] * count
    record["plots"][2]["series"] = [{"name": "none", "label": "none", "values": packed(np.full(count, np.nan))}]
    opened = open_page(document(record))
    opened.seek(1.0)
    assert opened.tab.locator(".plot").first.locator(".value").all_inner_texts()[0] == GAP
    assert opened.tab.locator(".plot").nth(2).locator(".value").inner_text() == GAP


def test_names_are_words_and_no_markup(open_page):
    record = run_record(NASTY, points=(NASTY, "elbow", "<b>hand</b>"))
    for part in (*record["bands"], *record["events"], *record["plots"], *record["contacts"]):
        for key in part.keys() & {"mode", "guard", "from", "to", "title", "axis", "name"}:
            part[key] = NASTY
    record |= {"robot": NASTY, "status": NASTY, "meaning": NASTY}
    sections = [
        {"type": "text", "title": NASTY, "text": NASTY},
        {"type": "facts", "title": NASTY, "rows": [[NASTY] * 3]},
        {"type": "command", "title": NASTY, "text": NASTY},
        {"type": "table", "title": NASTY, "columns": [NASTY], "rows": [[NASTY]], "note": NASTY},
        {"type": "warnings", "title": NASTY, "items": [NASTY]},
        {"type": "checks", "title": NASTY, "rows": [[True, NASTY, NASTY, NASTY]]},
        {"type": "figures", "title": NASTY, "figures": [{"image": NASTY, "caption": NASTY}]},
        {"type": NASTY, "title": NASTY},
    ]
    opened = open_page(document(record, title=NASTY, sections=sections))
    opened.seek(1.3)
    assert opened.tab.title() == NASTY
    assert opened.tab.locator("h1").inner_text() == NASTY
    assert opened.tab.evaluate("() => window.hacked") is None
    assert opened.tab.locator("img, b").count() == 0
    assert opened.tab.locator("script").count() == 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("", "cannot be read"),
        ("{", "cannot be read"),
        ("[1]", "not a document"),
        ('{"format": 2, "sections": []}', "format 2"),
        ('{"format": 1, "title": "T", "sections": []}', "This document is empty"),
    ],
)
def test_a_document_that_is_empty_or_broken_says_so(open_page, data, words):
    text = re.sub(
        r'(type="application/json">).*?(</script>)', lambda found: found[1] + data + found[2], page(document())
    )
    opened = open_page(None, text=text)
    assert words in opened.tab.locator("[role=alert]").inner_text()


def test_a_broken_run_spoils_no_other(open_page):
    broken = run_record("broken")
    broken["t"] = packed([0.0, 1.0])
    empty = {"name": "empty", "t": [], "points": {"names": [], "positions": [], "velocities": []}}
    opened = open_page(document(broken, empty, run_record("good")))
    told = opened.tab.locator("[role=alert]").all_inner_texts()
    assert told[0].startswith("The run broken cannot be shown: it has")
    assert told[1] == "The run empty cannot be shown: it has no samples."
    assert opened.tab.evaluate("() => saltus.players[0].runs.map((run) => run.name)") == ["good"]


def test_a_section_with_no_runs_says_so(open_page):
    opened = open_page(document(sections=[{"type": "runs", "title": "Motion", "runs": []}]))
    assert "There is no run to show." in opened.tab.locator("section").inner_text()


def test_a_broken_section_spoils_no_other(open_page):
    opened = open_page(
        json.loads('{"format": 1, "sections": [{"type": "table", "rows": 5}, {"type": "text", "text": "fine"}]}')
    )
    assert "could not be shown" in opened.tab.locator("section").first.inner_text()
    assert opened.tab.locator("section").nth(1).inner_text() == "fine"
