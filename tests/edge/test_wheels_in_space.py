"""Wheels in space that are described or started as none can be."""

from __future__ import annotations

import math
from typing import Any

import pytest

import saltus
from saltus.contact import SpatialWheel
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.mechanism import FreeFlyer, Mechanism


def wheel(radius: Any = 0.2, **options: Any) -> HybridSystem:
    m = Mechanism("lone", dimension=3)
    m.gravity = 9.81
    body = m.body("wheel", FreeFlyer(), mass=1.0, inertia=(0.01, 0.02, 0.01))
    return HybridSystem(m, units=(SpatialWheel(m.point("hub", body), body, radius, **options),))


@pytest.mark.parametrize("axis", [(0, 0.5, 0), (0, -3.0, 0)])
def test_the_length_of_an_axis_does_not_matter(axis: tuple[float, float, float]) -> None:
    run = saltus.simulate(wheel(axis=axis), {"z": 0.4}, until=0.5)
    assert run.final["z"] == pytest.approx(0.2, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"axis": (0, 0, 0)}, "axis"),
        ({"axis": (0, math.nan, 1)}, "axis"),
        ({"axis": (0, 1)}, "axis"),
        ({"axis": "y"}, "axis"),
        ({"friction": "x"}, "friction"),
        ({"friction": -0.1}, "friction"),
        ({"friction": math.nan}, "friction"),
        ({"radius": 0}, "radius"),
        ({"radius": -1.0}, "radius"),
        ({"radius": math.inf}, "radius"),
        ({"radius": None}, "radius"),
        ({"height": math.nan}, "height"),
    ],
)
def test_what_makes_no_wheel_is_refused(options: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=rf"hub: .*{word}"):
        wheel(**options)


@pytest.mark.parametrize("contact", ["rim", "upright"])
def test_a_wheel_that_lies_flat_cannot_start(contact: str) -> None:
    flat = {"z": 0.3, "qw": math.sqrt(0.5), "qx": math.sqrt(0.5)}
    for one, start in ((wheel(axis=(0, 0, 1), contact=contact), {"z": 0.3}), (wheel(contact=contact), flat)):
        with pytest.raises(InputError, match="hub lies flat"):
            saltus.simulate(one, start)
        batch = saltus.simulate_many(one, [start, start])
        assert batch.status.tolist() == ["not_started"] * 2
        assert "hub lies flat" in batch.reasons[1]
