// The strip under the slider: the modes of each run and a tick for each event, drawn once.

import { drawBands, eventPlaces, nameBands } from "./bands.mjs";
import { element, fitCanvas } from "./elements.mjs";

const ROW = 18;
const MOST_ROWS = 4;

export class Timeline {
  constructor(runs, modes, player) {
    Object.assign(this, { modes, player, theme: null, width: 0 });
    this.runs = runs.slice(0, MOST_ROWS);
    this.canvas = element("canvas", { class: "timeline", "aria-hidden": "true" });
    this.canvas.style.height = `${ROW * this.runs.length}px`;
  }

  resize(width) {
    this.width = width;
  }

  draw(theme) {
    const { width } = this;
    const { ratio, changed } = fitCanvas(this.canvas, width, ROW * this.runs.length);
    if (width === 0 || (!changed && theme === this.theme)) {
      return;
    }
    this.theme = theme;
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, ROW * this.runs.length);
    const { start, end } = this.player;
    const across = (time) => (end > start ? ((time - start) / (end - start)) * width : width / 2);
    this.runs.forEach((run, k) => this.drawRow(context, run, across, k * ROW));
  }

  drawRow(context, run, across, top) {
    drawBands(context, run, this.modes, this.theme, across, top, ROW - 2, 2 * this.theme.bandStrength);
    nameBands(context, run, this.theme, across, top + ROW / 2 - 1);
    context.fillStyle = this.theme.ink;
    eventPlaces(run.events.map((event) => event.t), across)
      .forEach((x) => context.fillRect(Math.round(x) - 0.5, top, 1, ROW - 2));
  }
}
