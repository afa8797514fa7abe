"""Bogacki and Shampine's pair of orders 3 and 2; between steps it is the cubic through both ends."""

from saltus.engine import Tableau

# Notation: [bogacki1989].
TABLEAU = Tableau(
    name="bogacki",
    order=3,
    nodes=(0.0, 1 / 2, 3 / 4, 1.0),
    stages=((), (1 / 2,), (0.0, 3 / 4), (2 / 9, 1 / 3, 4 / 9)),
    error=(2 / 9 - 7 / 24, 1 / 3 - 1 / 4, 4 / 9 - 1 / 3, -1 / 8),
    dense=(),
)
