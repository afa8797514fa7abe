"""Make the images of gallery.md again: run its commands, and keep what they draw, small enough for a page."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

PAGE = Path(__file__).parent / "gallery.md"
WIDTH, COLOURS = 900, 256


def commands(text: str) -> list[str]:
    """Those that make the figures of a paper; each once."""
    found = re.findall(r"^\$ (saltus reproduce .*)$", text, re.MULTILINE)
    return list(dict.fromkeys(found))


def images(text: str) -> dict[str, str]:
    """Where each image of the page is, and what its command calls it."""
    places = re.findall(r"\]\((gallery/[\w.-]+\.png)\)", text)
    return {place: f"report/{Path(place).name}" for place in places}


def small(path: Path) -> bytes:
    """A picture of the page's width and few colours."""
    with Image.open(path) as opened:
        picture = opened.convert("RGB")
    height = round(picture.height * WIDTH / picture.width)
    picture = picture.resize((WIDTH, height), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    return file.getvalue()


def main() -> None:
    text = PAGE.read_text()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "report").mkdir()
        for command in commands(text):
            print(command, flush=True)
            arguments = [sys.executable, "-m", *shlex.split(command)]
            subprocess.run(arguments, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=os.environ)
        made = {place: small(Path(folder) / source) for place, source in images(text).items()}
    for place, content in made.items():
        path = PAGE.parent / place
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        print(f"wrote {path} ({len(content) // 1000} kB)")


if __name__ == "__main__":
    main()
