// The path of a point: the frames that are enough to draw it, and the drawing of a part of it.

// Closer places than this are one place, in pixels; a path has no more vertices than that.
const CLOSE = 0.7;
const MOST = 2500;

/** Frames whose places tell a point's path at so many pixels per metre; the last frame is always one. */
export function vertices(run, point, scale) {
  let close = CLOSE / scale;
  let found = spaced(run, point, close);
  while (found.length > MOST) {
    close *= 1.6;
    found = spaced(run, point, close);
  }
  return found;
}

function spaced(run, point, close) {
  const found = [];
  let [x, y] = [NaN, NaN];
  for (let frame = 0; frame < run.count; frame += 1) {
    const [here, there] = placeOf(run, point, frame);
    // also true where there is a gap
    if (!(Math.hypot(here - x, there - y) < close) || frame === run.count - 1) {
      found.push(frame);
      [x, y] = [here, there];
    }
  }
  return Int32Array.from(found);
}

/** Where a point is in a frame, m. */
export function placeOf(run, point, frame) {
  const at = (frame * run.names.length + point) * run.dimension;
  return [run.positions[at], run.positions[at + run.dimension - 1]];
}

/** Draw a path from one of its vertices to another. */
export function strokePath(context, view, run, point, frames, first, last) {
  context.beginPath();
  let open = false;
  for (let k = first; k <= last; k += 1) {
    const [x, y] = placeOf(run, point, frames[k]);
    if (!Number.isFinite(x) || !Number.isFinite(y)) {
      open = false;
    } else if (!open || leaps(run, point, frames[k], view.scale)) {
      context.moveTo(view.across(x), view.down(y));
      open = true;
    } else if (frames[k] === frames[k - 1] + 1) {
      curveTo(context, view, run, point, frames[k]);
    } else {
      context.lineTo(view.across(x), view.down(y));
    }
  }
  context.stroke();
}

// Whether a point is elsewhere at the same time: its name has passed to another place.
function leaps(run, point, frame, scale) {
  if (frame === 0 || run.t[frame] > run.t[frame - 1]) {
    return false;
  }
  const [[x, y], [x2, y2]] = [placeOf(run, point, frame - 1), placeOf(run, point, frame)];
  return Math.hypot(x2 - x, y2 - y) * scale > 1;
}

// The Hermite polynomial between two frames is the Bézier curve with these inner points.
function curveTo(context, view, run, point, frame) {
  const third = (run.t[frame] - run.t[frame - 1]) / 3;
  const inner = (at, sign) => {
    const k = (at * run.names.length + point) * run.dimension;
    const up = k + run.dimension - 1;
    return [
      view.across(run.positions[k] + sign * third * run.velocities[k]),
      view.down(run.positions[up] + sign * third * run.velocities[up]),
    ];
  };
  const [x, y] = placeOf(run, point, frame);
  context.bezierCurveTo(...inner(frame - 1, 1), ...inner(frame, -1), view.across(x), view.down(y));
}
