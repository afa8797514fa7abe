// The part of a picture that stands still: a grid in metres, ground with hatching, rails and bars.

import { ticks } from "./words.mjs";

const HATCH = 11;

/** Draw the world of some runs. */
export function drawWorld(context, view, runs, theme) {
  const marks = marksOf(view);
  drawGrid(context, view, marks, theme);
  once(runs.flatMap((run) => run.ground)).forEach((line) => drawGround(context, view, line, theme));
  once(runs.flatMap((run) => run.rails)).forEach((rail) => drawRail(context, view, rail, theme));
  once(runs.flatMap((run) => run.bars)).forEach((bar) => drawBar(context, view, bar, theme));
  nameGrid(context, view, marks, theme, runs[0].dimension === 3 ? "z" : "y");
}

function once(things) {
  return [...new Map(things.map((thing) => [JSON.stringify(thing), thing])).values()];
}

// Round metres and where they are on the canvas, but for those in the corners.
function marksOf(view) {
  const box = view.box();
  const columns = ticks(box.left, box.right, view.width / 110);
  const rows = ticks(box.bottom, box.top, view.height / 80);
  return {
    columns: columns.map(({ value, text }) => ({ text, at: Math.round(view.across(value)) + 0.5 }))
      .filter(({ at }) => at > 44 && at < view.width - 58),
    rows: rows.map(({ value, text }) => ({ text, at: Math.round(view.down(value)) + 0.5 }))
      .filter(({ at }) => at > 24 && at < view.height - 26),
  };
}

function drawGrid(context, view, { columns, rows }, theme) {
  context.strokeStyle = theme.faint;
  context.lineWidth = 1;
  columns.forEach(({ at }) => stroke(context, at, 0, at, view.height - 20));
  rows.forEach(({ at }) => stroke(context, 40, at, view.width, at));
}

/** Words over all that stands still, with a rim so that they can be read anywhere. */
function nameGrid(context, view, { columns, rows }, theme, up) {
  Object.assign(context, { font: `11px ${theme.font}`, fillStyle: theme.soft, strokeStyle: theme.paper, lineWidth: 4 });
  const write = (text, x, y, align, baseline) => {
    Object.assign(context, { textAlign: align, textBaseline: baseline, lineJoin: "round" });
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  };
  columns.forEach(({ text, at }) => write(text, at, view.height - 6, "center", "alphabetic"));
  rows.forEach(({ text, at }) => write(text, 36, at, "right", "middle"));
  write("x (m)", view.width - 6, view.height - 6, "right", "alphabetic");
  write(`${up} (m)`, 6, 14, "left", "alphabetic");
}

function stroke(context, x, y, x2, y2) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x2, y2);
  context.stroke();
}

/** A straight line as wide as the picture, hatched below; the hatching stands in the world. */
function drawGround(context, view, line, theme) {
  const angle = line.angle ?? 0;
  const long = view.width + view.height;
  const [x, y] = [view.across(line.x), view.down(line.y)];
  context.save();
  context.translate(x, y);
  context.rotate(-angle);
  // the middle of the picture, along the ground
  const along = Math.cos(angle) * (view.width / 2 - x) - Math.sin(angle) * (view.height / 2 - y);
  const first = Math.floor((along - long / 2) / HATCH);
  const last = Math.ceil((along + long / 2) / HATCH);
  context.strokeStyle = theme.ground;
  context.lineWidth = 1;
  context.beginPath();
  for (let k = first; k <= last; k += 1) {
    context.moveTo(k * HATCH, 0);
    context.lineTo((k - 0.75) * HATCH, HATCH * 0.85);
  }
  context.stroke();
  context.lineWidth = 2;
  stroke(context, first * HATCH, 0, last * HATCH, 0);
  context.restore();
}

/** A line to hold between two points or, if it is endless, through them and across the whole picture. */
function drawRail(context, view, { start, end, endless }, theme) {
  const [x, y, x2, y2] = [view.across(start[0]), view.down(start[1]), view.across(end[0]), view.down(end[1])];
  const size = Math.hypot(x2 - x, y2 - y);
  const away = Math.hypot(x - view.width / 2, y - view.height / 2) + view.width + view.height;
  const more = endless && size > 0 ? away / size : 0;
  context.strokeStyle = theme.ground;
  context.lineWidth = 3;
  stroke(context, x - more * (x2 - x), y - more * (y2 - y), x2 + more * (x2 - x), y2 + more * (y2 - y));
}

function drawBar(context, view, bar, theme) {
  const [x, y] = [view.across(bar.x), view.down(bar.y)];
  context.strokeStyle = theme.ground;
  context.fillStyle = theme.paper;
  context.lineWidth = 1.5;
  context.beginPath();
  context.arc(x, y, 8, 0, 2 * Math.PI);
  context.fill();
  context.stroke();
  stroke(context, x - 5.5, y - 5.5, x + 5.5, y + 5.5);
  stroke(context, x - 5.5, y + 5.5, x + 5.5, y - 5.5);
}
