// Contact forces as arrows: how long an arrow is, where it begins, and how it is drawn.

import { stretch } from "./run.mjs";
import { format, roundBelow } from "./words.mjs";

// An arrow of a force that most forces stay below is this part of the picture long.
const LONGEST_PART = 0.22;
const MOST_FORCES = 0.95;
const FRAMES_LOOKED_AT = 2000;

/** A round force and the round length of its arrow, m, in a picture of so many metres; null if no contact bears. */
export function arrowScale(runs, extent) {
  const typical = typicalForce(runs);
  return typical > 0 ? { force: roundBelow(typical), length: roundBelow(LONGEST_PART * extent) } : null;
}

/** A force that most forces stay below, N. */
function typicalForce(runs) {
  const sizes = Float64Array.from(runs.flatMap(forceSizes)).sort();
  return sizes[Math.ceil(MOST_FORCES * (sizes.length - 1))];
}

/** Make a box hold the arrows of most forces. */
export function stretchToArrows(box, runs, scale) {
  const limit = typicalForce(runs);
  for (const run of runs) {
    const stride = Math.max(1, Math.floor(run.count / FRAMES_LOOKED_AT));
    for (let frame = 0; frame < run.count; frame += stride) {
      const points = run.positions.subarray(frame * run.names.length * run.dimension);
      for (const contact of run.contacts) {
        const [across, up] = [contact.forces[frame * run.dimension], contact.forces[(frame + 1) * run.dimension - 1]];
        if (contact.closed[frame] && Math.hypot(across, up) <= limit) {
          const [x, y] = placeOfForce(contact, points, run.dimension);
          stretch(box, x + (across * scale.length) / scale.force, y + (up * scale.length) / scale.force);
        }
      }
    }
  }
}

function forceSizes(run) {
  const stride = Math.max(1, Math.floor(run.count / FRAMES_LOOKED_AT));
  const sizes = [];
  for (const contact of run.contacts) {
    for (let frame = 0; frame < run.count; frame += stride) {
      const begin = frame * run.dimension;
      const size = Math.hypot(...contact.forces.subarray(begin, begin + run.dimension));
      if (contact.closed[frame] && size > 0 && Number.isFinite(size)) {
        sizes.push(size);
      }
    }
  }
  return sizes;
}

/** The scale in words. */
export function scaleWords({ force, length }) {
  return `arrows: ${format(force)} N = ${format(length)} m`;
}

/** Where a contact's force acts, m: at its point, or where its wheel touches the ground. */
export function placeOfForce(contact, points, dimension) {
  const begin = contact.point * dimension;
  const [x, y] = [points[begin], points[begin + dimension - 1]];
  const [radius, angle] = [contact.radius ?? 0, contact.angle ?? 0];
  return [x + radius * Math.sin(angle), y - radius * Math.cos(angle)];
}

/** Draw the forces of all closed contacts of a run. */
export function drawForces(context, view, run, points, time, scale, theme) {
  const length = (view.scale * scale.length) / scale.force;
  for (const contact of run.contacts) {
    const force = run.forceAt(contact, time);
    if (force) {
      const [x, y] = placeOfForce(contact, points, run.dimension);
      const tip = [length * force[0], -length * force[run.dimension - 1]];
      drawArrow(context, view.across(x), view.down(y), ...tip, theme);
    }
  }
}

function drawArrow(context, x, y, across, down, theme) {
  const size = Math.hypot(across, down);
  if (!(size > 1) || !Number.isFinite(x + y)) {
    return;
  }
  const head = Math.min(11, 0.6 * size);
  const [alongX, alongY] = [across / size, down / size];
  const [neckX, neckY] = [x + across - alongX * head, y + down - alongY * head];
  context.strokeStyle = theme.force;
  context.fillStyle = theme.force;
  context.lineWidth = 2.5;
  context.lineCap = "butt";
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(neckX, neckY);
  context.stroke();
  context.beginPath();
  context.moveTo(x + across, y + down);
  context.lineTo(neckX - alongY * head * 0.45, neckY + alongX * head * 0.45);
  context.lineTo(neckX + alongY * head * 0.45, neckY - alongX * head * 0.45);
  context.closePath();
  context.fill();
}
