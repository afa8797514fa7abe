"""A figure as it is seen: colours of pixels where something must be drawn, and texts that were written."""

import itertools

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.text import Text


class Picture:
    """A figure that was drawn."""

    def __init__(self, figure):
        self.figure = figure
        self.written = {}
        canvas = FigureCanvasAgg(figure)
        draw = Text.draw

        def noted(text, renderer):
            if text.get_visible() and text.get_text():
                self.written[id(text)] = text
            draw(text, renderer)

        Text.draw = noted
        try:
            canvas.draw()
        finally:
            Text.draw = draw
        # rows from the bottom, as figures count
        self.pixels = np.asarray(canvas.buffer_rgba())[::-1, :, :3].astype(float) / 255.0

    @property
    def texts(self):
        """All that is written."""
        return [text.get_text() for text in self.written.values()]

    def places(self, axes, x, y):
        """Pixels, column and row, of places in the units of axes."""
        return np.rint(axes.transData.transform(np.column_stack([x, y])) - 0.5).astype(int)

    def near(self, axes, x, y, colour, *, reach=2, tolerance=0.12):
        """At which places a colour is seen, within a few pixels."""
        rgb = np.array(to_rgb(colour) if isinstance(colour, str) else colour[:3])
        height, width, _ = self.pixels.shape
        found = []
        for column, row in self.places(axes, x, y):
            if not (0 <= column < width and 0 <= row < height):
                found.append(False)
                continue
            part = self.pixels[max(0, row - reach) : row + reach + 1, max(0, column - reach) : column + reach + 1]
            found.append(bool((np.abs(part - rgb).max(axis=2) < tolerance).any()))
        return np.array(found)

    def count(self, axes, x, y, colour, *, reach, tolerance=0.25):
        """How many pixels about a place have a colour."""
        ((column, row),) = self.places(axes, [x], [y])
        part = self.pixels[row - reach : row + reach + 1, column - reach : column + reach + 1]
        return int((np.abs(part - to_rgb(colour)).max(axis=2) < tolerance).sum())

    def share(self, axes, x, y, colour, **how):
        """At how much of a curve its colour is seen."""
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        there = np.isfinite(x) & np.isfinite(y)
        return float(self.near(axes, x[there], y[there], colour, **how).mean())

    def upright(self, axes, x):
        """All pixels of the column of axes at a place."""
        box = axes.get_window_extent()
        column = int(axes.transData.transform((x, axes.get_ylim()[0]))[0])
        return self.pixels[int(box.y0) + 3 : int(box.y1) - 3, column]

    def ground(self, axes, x):
        """The colour that most of a column has."""
        values, counts = np.unique(self.upright(axes, x), axis=0, return_counts=True)
        return tuple(values[counts.argmax()])

    def check_texts(self, margin=1.0):
        """Every text is within the figure, and none is on another."""
        edge = self.figure.bbox
        boxes = [(text.get_text(), text.get_window_extent()) for text in self.written.values() if text.get_text()]
        assert boxes
        for text, box in boxes:
            out = max(-box.x0, -box.y0, box.x1 - edge.x1, box.y1 - edge.y1)
            assert out <= margin, f"{text!r} leaves the figure"
        for (one, a), (other, b) in itertools.combinations(boxes, 2):
            wide = min(a.x1, b.x1) - max(a.x0, b.x0)
            high = min(a.y1, b.y1) - max(a.y0, b.y0)
            assert wide <= margin or high <= margin, f"{one!r} is on {other!r}"
