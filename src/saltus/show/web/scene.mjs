// The moving picture of one or several runs on a canvas.

import { bisect } from "./arrays.mjs";
import { fitCanvas, layerLike } from "./elements.mjs";
import { arrowScale, drawForces, scaleWords, stretchToArrows } from "./forces.mjs";
import { among, DASHES } from "./theme.mjs";
import { strokePath, vertices } from "./trace.mjs";
import { boxAround, reach, shouldFollow, viewOf } from "./view.mjs";
import { drawWorld } from "./world.mjs";

const DOT = 4.5;
const LONE_DOT = 6;

export class Scene {
  /** `wishes` says what is shown: forces, names, follow, and the set of traced points. */
  constructor(canvas, runs) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.runs = runs;
    this.reach = reach(runs);
    this.hasForces = runs.some((run) => run.contacts.length > 0);
    this.pointNames = [...new Set(runs.flatMap((run) => run.names))];
    this.wishes = {
      forces: this.hasForces,
      names: false,
      follow: shouldFollow(this.reach),
      traces: new Set(runs.flatMap((run) => run.traces)),
    };
    this.arrows = { whole: arrowScale(runs, extentOf(this.reach.box)), near: arrowScale(runs, 1.8 * this.reach.size) };
    if (this.arrows.whole) {
      stretchToArrows(this.reach.box, runs, this.arrows.whole);
    }
    this.time = Math.min(...runs.map((run) => run.start));
    this.theme = null;
    this.size = { width: 0, height: 0 };
    this.forget();
  }

  /** Forget what was drawn before: the size, the colours or a wish changed. */
  forget() {
    this.worldView = null;
    this.traceLayer = null;
    this.tracesDrawn = null;
    this.traceFrames = new Map();
  }

  wish(name, value) {
    this.wishes[name] = value;
    this.forget();
  }

  wishTrace(name, wanted) {
    this.wishes.traces[wanted ? "add" : "delete"](name);
    this.forget();
  }

  /** The colour of a run's robot. */
  colourOf(index) {
    return among(this.theme.colours, index);
  }

  /** How long arrows are now, or null if none are wished for or there is none. */
  get arrowScale() {
    return this.wishes.forces ? this.arrows[this.wishes.follow ? "near" : "whole"] : null;
  }

  /** Say how large the canvas is on the page, in CSS pixels: to ask it at each frame would cost time. */
  resize(width, height) {
    this.size = { width, height };
  }

  /** What is seen at a time. */
  viewAt(time) {
    const { width, height } = this.size;
    if (!this.wishes.follow) {
      return viewOf(this.reach.box, width, height);
    }
    const run = this.runs[0];
    return viewOf(boxAround(run.pointsAt(time), run.dimension, this.reach.size), width, height);
  }

  /** Where a run's named point is on the canvas at the time that is shown, in CSS pixels. */
  pixelOf(runIndex, name) {
    const run = this.runs[runIndex];
    if (!run?.names.includes(name)) {
      throw new Error(`run ${runIndex} has no point ${name}`);
    }
    const begin = run.names.indexOf(name) * run.dimension;
    const points = run.pointsAt(this.time);
    const view = this.viewAt(this.time);
    return { x: view.across(points[begin]), y: view.down(points[begin + run.dimension - 1]) };
  }

  /** Draw all runs as they are at a time. */
  draw(time, theme) {
    this.time = time;
    const { width, height } = this.size;
    if (width === 0 || height === 0) {
      return;
    }
    const { ratio, changed } = fitCanvas(this.canvas, width, height);
    if (changed || theme !== this.theme) {
      this.theme = theme;
      this.forget();
    }
    this.ratio = ratio;
    const view = this.viewAt(time);
    this.drawStill(view);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const all = this.runs.map((run) => run.pointsAt(time));
    this.drawTraces(view, all);
    // the first run is on top
    for (let k = this.runs.length - 1; k >= 0; k -= 1) {
      this.drawRun(view, k, all[k]);
    }
    this.drawWords();
  }

  drawStill(view) {
    if (!view.same(this.worldView)) {
      if (!this.world || this.worldView === null) {
        this.world = layerLike(this.canvas, this.ratio);
      }
      this.world.context.fillStyle = this.theme.paper;
      this.world.context.fillRect(0, 0, view.width, view.height);
      drawWorld(this.world.context, view, this.runs, this.theme);
      this.worldView = view;
      this.tracesDrawn = null;
    }
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.drawImage(this.world.layer, 0, 0);
  }

  tracedPoints() {
    return this.runs.flatMap((run, index) => [...this.wishes.traces]
      .map((name) => ({ run, index, point: run.names.indexOf(name) }))
      .filter(({ point }) => point >= 0));
  }

  framesOf({ run, index, point }, view) {
    const key = `${index} ${point}`;
    if (!this.traceFrames.has(key)) {
      this.traceFrames.set(key, vertices(run, point, view.scale));
    }
    return this.traceFrames.get(key);
  }

  drawTraces(view, all) {
    const traced = this.tracedPoints();
    if (traced.length === 0) {
      return;
    }
    const layer = this.layerOfTraces(view, traced);
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.drawImage(layer.layer, 0, 0);
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    traced.forEach((trace, k) => this.drawTraceEnd(view, trace, this.tracesDrawn[k], all[trace.index]));
  }

  /** The layer with all paths up to now; going forward only what is new is drawn. */
  layerOfTraces(view, traced) {
    const until = traced.map((trace) => bisect(this.framesOf(trace, view), trace.run.frameAt(this.time)) - 1);
    this.traceLayer ??= layerLike(this.canvas, this.ratio);
    if (!this.tracesDrawn || until.some((last, k) => last < this.tracesDrawn[k])) {
      this.tracesDrawn = traced.map(() => 0);
      this.traceLayer.context.clearRect(0, 0, view.width, view.height);
    }
    traced.forEach((trace, k) => {
      if (until[k] > this.tracesDrawn[k]) {
        this.styleTrace(this.traceLayer.context, trace);
        const frames = this.framesOf(trace, view);
        strokePath(this.traceLayer.context, view, trace.run, trace.point, frames, this.tracesDrawn[k], until[k]);
      }
    });
    this.tracesDrawn = until;
    return this.traceLayer;
  }

  styleTrace(context, { index, point }) {
    context.strokeStyle = this.runs.length > 1 ? this.colourOf(index) : among(this.theme.colours.slice(2), point);
    context.lineWidth = 1.5;
    context.setLineDash([]);
    context.lineJoin = "round";
  }

  /** From the last vertex of a path to where the point is now. */
  drawTraceEnd(view, trace, last, points) {
    const begin = trace.point * trace.run.dimension;
    const frame = this.framesOf(trace, view)[last];
    const at = (frame * trace.run.names.length + trace.point) * trace.run.dimension;
    const up = trace.run.dimension - 1;
    this.styleTrace(this.context, trace);
    this.line(view.across(trace.run.positions[at]), view.down(trace.run.positions[at + up]),
      view.across(points[begin]), view.down(points[begin + up]));
  }

  line(x, y, x2, y2) {
    if (Number.isFinite(x + y + x2 + y2)) {
      this.context.beginPath();
      this.context.moveTo(x, y);
      this.context.lineTo(x2, y2);
      this.context.stroke();
    }
  }

  drawRun(view, index, points) {
    const run = this.runs[index];
    const places = run.names.map((_, k) => [
      view.across(points[k * run.dimension]), view.down(points[(k + 1) * run.dimension - 1]),
    ]);
    const { context } = this;
    context.strokeStyle = this.colourOf(index);
    context.fillStyle = this.colourOf(index);
    context.lineCap = "round";
    this.drawWheels(view, run, places);
    context.lineWidth = 4;
    context.setLineDash(among(DASHES, index).map((length) => 2 * length));
    run.skeleton.filter(([a, b]) => a !== b).forEach(([a, b]) => this.line(...places[a], ...places[b]));
    context.setLineDash([]);
    this.drawForcesOf(view, run, points);
    this.drawDots(run, places, index);
    this.drawNames(run, places);
  }

  drawWheels(view, run, places) {
    this.context.lineWidth = 2.5;
    this.context.setLineDash([]);
    for (const { point, radius } of run.wheels) {
      const [x, y] = places[point];
      if (Number.isFinite(x + y)) {
        this.context.beginPath();
        this.context.arc(x, y, radius * view.scale, 0, 2 * Math.PI);
        this.context.stroke();
      }
    }
  }

  drawForcesOf(view, run, points) {
    const scale = this.arrowScale;
    if (scale) {
      drawForces(this.context, view, run, points, this.time, scale, this.theme);
    }
  }

  drawDots(run, places, index) {
    this.context.fillStyle = this.colourOf(index);
    for (const [point, radius] of dotsOf(run)) {
      const [x, y] = places[point];
      if (Number.isFinite(x + y)) {
        this.context.beginPath();
        this.context.arc(x, y, radius, 0, 2 * Math.PI);
        this.context.fill();
      }
    }
  }

  drawNames(run, places) {
    if (!this.wishes.names) {
      return;
    }
    Object.assign(this.context, { font: `12px ${this.theme.font}`, fillStyle: this.theme.ink, textAlign: "left" });
    run.names.forEach((name, k) => this.context.fillText(name, places[k][0] + 8, places[k][1] - 8));
  }

  drawWords() {
    const scale = this.arrowScale;
    if (scale) {
      Object.assign(this.context, { font: `12px ${this.theme.font}`, fillStyle: this.theme.force, textAlign: "right" });
      this.context.textBaseline = "alphabetic";
      this.context.fillText(scaleWords(scale), this.size.width - 8, 16);
    }
  }
}

function extentOf(box) {
  return Math.max(box.top - box.bottom, 0.6 * (box.right - box.left));
}

// Points of the skeleton, each once, with the radius of its dot.
function dotsOf(run) {
  const lone = run.skeleton.filter(([a, b]) => a === b).map(([a]) => [a, LONE_DOT]);
  return new Map([...run.skeleton.flat().map((point) => [point, DOT]), ...lone]);
}
