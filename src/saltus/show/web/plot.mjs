// One plot over time: what stands still is drawn once, a frame adds only the cursor and its values.

import { spread } from "./arrays.mjs";
import { drawBands, drawEvents, nameBands } from "./bands.mjs";
import { drawCurve } from "./curve.mjs";
import { element, fitCanvas, layerLike, lineKey } from "./elements.mjs";
import { among, DASHES } from "./theme.mjs";
import { format, ticks } from "./words.mjs";

const LEFT = 76;
const RIGHT = 10;
const BOTTOM = 20;
const STRIP = 15;
const MOST_STRIPS = 4;

export class Plot {
  constructor(gathered, runs, modes, player) {
    Object.assign(this, { gathered, runs, modes, player });
    this.title = gathered.title;
    this.visible = false;
    this.still = null;
    this.theme = null;
    this.resize(0, 0);
    this.strips = runs.filter((run) => run.bands.length > 0).slice(0, MOST_STRIPS);
    this.top = this.strips.length > 0 ? 4 + STRIP * this.strips.length : 10;
    this.range = rangeOf(gathered);
    this.values = [];
    this.legend = element("span", { class: "legend" });
    this.canvas = element("canvas", { class: "curves", role: "img", "aria-label": this.description() });
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.element = element("figure", { class: "plot" },
      element("figcaption", {}, element("strong", {}, gathered.title), this.legend),
      this.canvas,
      ...gathered.notes.map((note) => element("p", { class: "note" }, note)));
    this.listenToPointer();
  }

  description() {
    const names = this.gathered.series.map((one) => one.label).join(", ");
    return `${this.title}: ${this.gathered.axis} over time, ${names}. Click or drag to choose the time.`;
  }

  listenToPointer() {
    const choose = (event) => this.player.seek(this.timeAt(event.clientX - this.canvas.getBoundingClientRect().left));
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button === 0) {
        this.canvas.setPointerCapture(event.pointerId);
        choose(event);
      }
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (this.canvas.hasPointerCapture(event.pointerId)) {
        choose(event);
      }
    });
  }

  /** Say how large the canvas is on the page, in CSS pixels. */
  resize(width, height) {
    Object.assign(this, { width, height });
  }

  get span() {
    const { start, end } = this.player;
    return end > start ? [start, end] : [start - 0.5, start + 0.5];
  }

  across(time) {
    const [start, end] = this.span;
    return LEFT + ((time - start) / (end - start)) * (this.width - LEFT - RIGHT);
  }

  timeAt(x) {
    const [start, end] = this.span;
    return start + ((x - LEFT) / (this.width - LEFT - RIGHT)) * (end - start);
  }

  down(value) {
    const [low, high] = this.range;
    return this.height - BOTTOM - ((value - low) / (high - low)) * (this.height - BOTTOM - this.top);
  }

  /** Draw the plot with its cursor at a time. */
  draw(time, theme) {
    if (this.width <= LEFT + RIGHT || this.height === 0) {
      return;
    }
    const { ratio, changed } = fitCanvas(this.canvas, this.width, this.height);
    if (changed || theme !== this.theme || !this.still) {
      Object.assign(this, { theme, ratio });
      this.drawStill();
      this.writeLegend();
    }
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.drawImage(this.still, 0, 0);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawCursor(time);
  }

  drawStill() {
    const { layer, context } = layerLike(this.canvas, this.ratio);
    const across = (time) => this.across(time);
    const bottom = this.height - BOTTOM;
    context.fillStyle = this.theme.paper;
    context.fillRect(0, 0, this.width, this.height);
    if (this.runs.length === 1) {
      drawBands(context, this.runs[0], this.modes, this.theme, across, this.top, bottom - this.top,
        this.theme.bandStrength * 0.6);
    }
    this.drawStrips(context, across);
    this.drawGrid(context);
    this.runs.forEach((run, index) => {
      const colour = this.runs.length > 1 ? among(this.theme.colours, index) : this.theme.soft;
      context.globalAlpha = 0.7;
      drawEvents(context, run, colour, across, this.top, bottom);
      context.globalAlpha = 1;
    });
    this.drawLines(context);
    this.drawCurves(context, across);
    this.nameLines(context);
    this.still = layer;
  }

  drawStrips(context, across) {
    this.strips.forEach((run, k) => {
      drawBands(context, run, this.modes, this.theme, across, 2 + k * STRIP, STRIP - 1, this.theme.bandStrength * 2);
      nameBands(context, run, this.theme, across, 2 + (k + 0.5) * STRIP);
    });
  }

  drawGrid(context) {
    const [low, high] = this.range;
    const bottom = this.height - BOTTOM;
    Object.assign(context, { font: `11px ${this.theme.font}`, fillStyle: this.theme.soft, lineWidth: 1 });
    Object.assign(context, { strokeStyle: this.theme.faint, textAlign: "right", textBaseline: "middle" });
    for (const { value, text } of ticks(low, high, (bottom - this.top) / 34)) {
      const y = Math.round(this.down(value)) + 0.5;
      line(context, LEFT, y, this.width - RIGHT, y);
      context.fillText(text, LEFT - 6, y);
    }
    Object.assign(context, { strokeStyle: this.theme.soft, textAlign: "center", textBaseline: "alphabetic" });
    for (const { value, text } of ticks(...this.span, (this.width - LEFT) / 90)) {
      const x = Math.round(this.across(value)) + 0.5;
      line(context, x, bottom, x, bottom + 4);
      if (x < this.width - 44) {
        context.fillText(text, x, this.height - 5);
      }
    }
    line(context, LEFT, bottom + 0.5, this.width - RIGHT, bottom + 0.5);
    this.nameAxes(context, bottom);
  }

  nameAxes(context, bottom) {
    context.textAlign = "right";
    context.fillText("t (s)", this.width - 4, this.height - 5);
    context.save();
    context.translate(12, (this.top + bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(this.gathered.axis, 0, 0, this.height);
    context.restore();
  }

  drawLines(context) {
    for (const { y } of this.levels()) {
      Object.assign(context, { strokeStyle: this.theme.ink, lineWidth: 1 });
      context.setLineDash([8, 4]);
      line(context, LEFT, this.down(y), this.width - RIGHT, this.down(y));
      context.setLineDash([]);
    }
  }

  /** The names of the lines, over the curves, with a rim so that they can be read. */
  nameLines(context) {
    Object.assign(context, { strokeStyle: this.theme.paper, fillStyle: this.theme.ink, lineWidth: 4 });
    Object.assign(context, { textAlign: "right", textBaseline: "bottom", lineJoin: "round" });
    context.font = `11px ${this.theme.font}`;
    for (const { y, label } of this.levels()) {
      const place = [this.width - RIGHT - 4, Math.max(this.top + 12, this.down(y) - 2)];
      context.strokeText(String(label ?? ""), ...place);
      context.fillText(String(label ?? ""), ...place);
    }
  }

  levels() {
    return this.gathered.lines.filter((one) => Number.isFinite(one.y));
  }

  drawCurves(context, across) {
    context.save();
    context.beginPath();
    context.rect(LEFT, this.top - 1, this.width - LEFT - RIGHT + 1, this.height - BOTTOM - this.top + 2);
    context.clip();
    for (const { curves } of this.gathered.series) {
      for (const curve of curves) {
        context.strokeStyle = this.colourOf(curve);
        context.fillStyle = this.colourOf(curve);
        context.lineWidth = 1.6;
        context.lineJoin = "round";
        context.setLineDash(among(DASHES, curve.dash));
        drawCurve(context, this.runs[curve.run].t, curve.values, across, (value) => this.down(value));
      }
    }
    context.restore();
    if (this.gathered.series.every(({ curves }) => curves.every(({ values }) => !spread([values])))) {
      Object.assign(context, { fillStyle: this.theme.soft, textAlign: "center", textBaseline: "middle" });
      context.fillText("no values", (LEFT + this.width - RIGHT) / 2, this.height - BOTTOM - 14);
    }
  }

  colourOf(curve) {
    return among(this.theme.colours, curve.colour);
  }

  /** The names of the series with places for their values, and the names of runs where there are several. */
  writeLegend() {
    this.values = [];
    const entries = this.gathered.series.map(({ label, curves }) => element("span", { class: "entry" },
      ...(curves.length > 1 ? [label] : []),
      ...curves.flatMap((curve) => this.legendOf(curve, curves.length > 1 ? "" : label))));
    this.legend.replaceChildren(...entries);
  }

  legendOf(curve, label) {
    const text = document.createTextNode("");
    this.values.push({ curve, text });
    const value = element("span", { class: "value" }, text);
    const name = this.runs.length > 1 ? this.runs[curve.run].name : "";
    return [lineKey(this.colourOf(curve), among(DASHES, curve.dash)), label || name, value];
  }

  drawCursor(time) {
    const x = this.across(Math.min(this.player.end, Math.max(this.player.start, time)));
    const { context } = this;
    context.strokeStyle = this.theme.cursor;
    context.lineWidth = 1.5;
    line(context, x, 2, x, this.height - BOTTOM);
    for (const { curve, text } of this.values) {
      const run = this.runs[curve.run];
      const value = time < run.start || time > run.end ? NaN : run.valueAt(curve.values, time);
      const words = format(value);
      if (text.data !== words) {
        text.data = words;
      }
      if (Number.isFinite(value)) {
        context.fillStyle = this.colourOf(curve);
        context.beginPath();
        context.arc(x, this.down(value), 3.5, 0, 2 * Math.PI);
        context.fill();
      }
    }
  }
}

function line(context, x, y, x2, y2) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x2, y2);
  context.stroke();
}

/** Lowest and highest value to show, with some room. */
export function rangeOf({ series, lines }) {
  const values = series.flatMap(({ curves }) => curves.map((curve) => curve.values));
  const [low, high] = spread([...values, lines.map((one) => one.y)]) ?? [0, 1];
  const room = 0.07 * (high - low);
  // equal but for rounding: show it as a flat line
  const least = 1e-9 * Math.max(Math.abs(low), Math.abs(high));
  const around = 0.5 * (Math.abs(low) || 1);
  return high - low > least ? [low - room, high + room] : [low - around, high + around];
}
