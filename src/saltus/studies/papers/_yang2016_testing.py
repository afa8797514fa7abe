"""Chapter 8 of [yang2016]: what was seen of the robot itself, looked for in simulation with its claws and sensors."""

from __future__ import annotations

from saltus.studies.papers._yang2016_chapter import Chapter
from saltus.studies.papers._yang2016_testing_drawings import drawings
from saltus.studies.papers._yang2016_testing_found import find
from saltus.studies.papers._yang2016_testing_numbers import corrections, numbers

CHAPTER = Chapter("8", find, numbers, corrections, drawings, share=2.0)
