"""The gallery's images are there, its commands exist, and its figures and verdicts are those of the papers' reports."""

import io
import re
import runpy
import shlex
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image

from saltus.cli import app
from saltus.gaits import error_map, find_gait, iterate, run_cycle
from saltus.robots import find_robot
from saltus.studies import find_paper
from saltus.studies.papers import ufford2009

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "gallery.md"
TEXT = PAGE.read_text()
SECTION = re.compile(
    r"^### .+?\n\n!\[(?P<alt>[^\]]+)\]\((?P<image>gallery/(?P<paper>[a-z0-9_]+)-(?P<figure>[a-z0-9-]+)\.png)\)"
    r"\n\n(?P<facts>.*?)\* Verdict: (?P<verdict>[a-z ]+)\.\n\n```console\n\$ (?P<command>.+?)\n```\n\n"
    r"In `(?P<file>[^`]+)`\.",
    re.MULTILINE | re.DOTALL,
)
SECTIONS = [match.groupdict() for match in SECTION.finditer(TEXT)]
COMMANDS = sorted({*re.findall(r"^\$ (.+)$", TEXT, re.MULTILINE), *re.findall(r"`(saltus [^`]+)`", TEXT)})


def test_ten_figures_or_more_each_with_all_its_parts():
    assert len(SECTIONS) == TEXT.count("\n### ") == TEXT.count("![") >= 10
    assert len({section["image"] for section in SECTIONS}) == len(SECTIONS)
    for section in SECTIONS:
        assert "* In the paper: " in section["facts"]
        assert "* Here: " in section["facts"]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section["image"])
def test_images_are_there_small_and_named_by_what_makes_them(section):
    path = PAGE.parent / section["image"]
    assert path.stat().st_size <= 120_000
    with Image.open(path) as image:
        assert image.format == "PNG"
        assert image.width == 900
        assert np.asarray(image.convert("L")).std() > 5
    assert section["file"] == f"report/{path.name}"
    assert section["command"] == f"saltus reproduce {section['paper']} --out report"


def test_no_image_is_left_over_and_all_are_small():
    images = list((PAGE.parent / "gallery").iterdir())
    assert {f"gallery/{path.name}" for path in images} == {section["image"] for section in SECTIONS}
    assert sum(path.stat().st_size for path in images) < 1_500_000


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_can_be_given(command):
    program, verb, *arguments = shlex.split(command)
    assert program == "saltus"
    group = typer.main.get_command(app)
    found = group.commands[verb]
    with found.make_context(verb, list(arguments), parent=typer.Context(group)) as context:
        assert context.params


def small_maps(gait):
    return {
        name: error_map(gait, ("dtheta1", np.linspace(*x, 20)), ("dtheta2", np.linspace(*y, 20)))
        for name, (x, y) in ufford2009.RANGES.items()
    }


def drawings(paper):
    """Name and verdict of each figure of a report; of the longest one without its searches, which none shows."""
    if paper != "ufford2009":
        return {one.name: one.verdict for one in find_paper(paper).reproduce(detail=20).drawings}
    gait = find_gait("swing", find_robot("monkeybot"))
    cycles = [run_cycle(gait, start) for start in (ufford2009.FIRST, ufford2009.SECOND)]
    runs = [
        iterate(gait, ufford2009.CYCLES, period, start=start)
        for start in (ufford2009.FIRST, ufford2009.SECOND)
        for period in (ufford2009.MILLISECOND, None)
    ]
    found = ufford2009.Found(gait, small_maps(gait), *cycles, {}, {}, *runs)
    return {one.name: one.verdict for one in ufford2009._drawings(found)}


@pytest.mark.parametrize("paper", ["ufford2009", "oh_huang"])
def test_figures_and_verdicts_are_those_of_the_report(paper):
    made = drawings(paper)
    shown = {section["figure"]: section["verdict"] for section in SECTIONS if section["paper"] == paper}
    assert shown
    assert shown.items() <= made.items()


def test_sources_are_in_the_list_of_references():
    known = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "docs" / "references.bib").read_text(), re.MULTILINE))
    assert set(re.findall(r"\[([a-z_]+\d{0,4})\](?!\()", TEXT)) == {"ufford2009", "oh_huang"} <= known


def test_the_script_knows_the_commands_and_images():
    script = runpy.run_path(str(ROOT / "docs" / "make_gallery.py"))
    assert script["commands"](TEXT) == [
        f"saltus reproduce {paper} --out report" for paper in ("ufford2009", "oh_huang")
    ]
    assert script["images"](TEXT) == {section["image"]: section["file"] for section in SECTIONS}


def test_the_script_makes_pictures_small(tmp_path):
    script = runpy.run_path(str(ROOT / "docs" / "make_gallery.py"))
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (500, 1800, 3), dtype=np.uint8)).save(tmp_path / "a.png")
    with Image.open(io.BytesIO(script["small"](tmp_path / "a.png"))) as image:
        assert (image.size, image.mode) == ((900, 250), "P")


def test_the_readme_opens_with_the_picture_that_its_script_draws():
    top = (ROOT / "README.md").read_text().split("```")[0]
    alt = re.search(r"^# saltus\n\n!\[([^\]]{40,})\]\(docs/picture\.png\)$", top, re.MULTILINE)
    assert alt
    path = ROOT / "docs" / "picture.png"
    assert path.stat().st_size < 200_000
    file = io.BytesIO()
    runpy.run_path(str(ROOT / "examples" / "picture.py"))["picture"]().savefig(file, format="png")
    with Image.open(path) as kept, Image.open(file) as drawn:
        assert kept.width >= 2.5 * kept.height
        assert kept.size == drawn.size
        # text may be set a little otherwise elsewhere
        small = (kept.width // 6, kept.height // 6)
        one, other = (np.asarray(image.convert("RGB").resize(small)).astype(int) for image in (kept, drawn))
    assert (np.abs(one - other).max(axis=2) > 30).mean() < 0.01
