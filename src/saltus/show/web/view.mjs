// Which part of the world is seen, and where a place in the world is on the canvas.

import { stretch } from "./run.mjs";

const MARGIN = { left: 46, right: 14, top: 24, bottom: 30 };

// The view follows the robot where it would otherwise be smaller than this part of the picture.
const SMALLEST_PART = 0.16;
const FRAMES_LOOKED_AT = 200;

export class View {
  /** Pixels per metre, and where the world's origin is on the canvas, in CSS pixels. */
  constructor(scale, x, y, width, height) {
    Object.assign(this, { scale, x, y, width, height });
  }

  across(x) {
    return this.x + this.scale * x;
  }

  down(y) {
    return this.y - this.scale * y;
  }

  /** The box of the world that is seen, m. */
  box() {
    return {
      left: -this.x / this.scale,
      right: (this.width - this.x) / this.scale,
      bottom: (this.y - this.height) / this.scale,
      top: this.y / this.scale,
    };
  }

  same(other) {
    return other !== null && ["scale", "x", "y", "width", "height"].every((name) => this[name] === other[name]);
  }
}

/** A view that shows a whole box. */
export function viewOf(box, width, height) {
  const inner = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
  const [across, up] = [box.right - box.left, box.top - box.bottom];
  const scale = Math.max(1e-9, Math.min(inner.width / across, inner.height / up));
  const x = MARGIN.left + inner.width / 2 - (scale * (box.left + box.right)) / 2;
  const y = MARGIN.top + inner.height / 2 + (scale * (box.bottom + box.top)) / 2;
  return new View(scale, x, y, width, height);
}

/** The box of all that some runs reach, with bars and ground that are near, and the greatest size of a robot, m. */
export function reach(runs) {
  const box = union(runs.map((run) => run.bounds()));
  const size = Math.max(...runs.map(sizeOf));
  if (!(box.left <= box.right)) {
    return { box: { left: -1, right: 1, bottom: -1, top: 1 }, size: 1 };
  }
  const length = Math.max(size, 0.05 * (box.right - box.left), 0.05 * (box.top - box.bottom)) || 1;
  runs.forEach((run) => stretchToWorld(box, run, length));
  return { box: padded(box, 0.12 * length), size: length };
}

function union(boxes) {
  const box = { left: Infinity, right: -Infinity, bottom: Infinity, top: -Infinity };
  for (const one of boxes) {
    stretch(box, one.left, one.bottom);
    stretch(box, one.right, one.top);
  }
  return box;
}

function sizeOf(run) {
  const stride = Math.max(1, Math.floor(run.count / FRAMES_LOOKED_AT));
  let size = 0;
  for (let frame = 0; frame < run.count; frame += stride) {
    const box = run.bounds(frame);
    size = Math.max(size, box.right - box.left, box.top - box.bottom);
  }
  return Number.isFinite(size) ? size : 0;
}

function stretchToWorld(box, run, length) {
  const near = padded(box, length);
  const inside = (x, y) => x >= near.left && x <= near.right && y >= near.bottom && y <= near.top;
  run.bars.filter((bar) => inside(bar.x, bar.y)).forEach((bar) => stretch(box, bar.x, bar.y));
  for (const line of run.ground) {
    const middle = (box.left + box.right) / 2;
    const height = line.y + Math.tan(line.angle ?? 0) * (middle - line.x);
    if (inside(middle, height)) {
      stretch(box, middle, height - 0.12 * length);
    }
  }
}

function padded(box, length) {
  return { left: box.left - length, right: box.right + length, bottom: box.bottom - length, top: box.top + length };
}

/** Whether a robot would be lost in a view of all that it reaches. */
export function shouldFollow({ box, size }) {
  return size < SMALLEST_PART * Math.max(box.right - box.left, box.top - box.bottom);
}

/** The box around some points that shows a robot of a size whole. */
export function boxAround(points, dimension, size) {
  const box = { left: Infinity, right: -Infinity, bottom: Infinity, top: -Infinity };
  for (let k = 0; k < points.length; k += dimension) {
    stretch(box, points[k], points[k + dimension - 1]);
  }
  const x = Number.isFinite(box.left) ? (box.left + box.right) / 2 : 0;
  const y = Number.isFinite(box.bottom) ? (box.bottom + box.top) / 2 : 0;
  return padded({ left: x, right: x, bottom: y, top: y }, 0.9 * size);
}
