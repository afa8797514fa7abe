"""Section 7.4 of [yang2016]: control by energy, its figures 7.26 to 7.39, and how it depends on what is given."""

from __future__ import annotations

from saltus.studies.papers._yang2016_chapter import Chapter
from saltus.studies.papers._yang2016_energy_drawings import drawings
from saltus.studies.papers._yang2016_energy_found import find
from saltus.studies.papers._yang2016_energy_numbers import corrections, numbers

CHAPTER = Chapter("7.4", find, numbers, corrections, drawings, share=3.0)
