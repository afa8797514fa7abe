// The part of a picture that stands still: a grid in metres, ground with hatching, and bars.

import { ticks } from "./words.mjs";

const HATCH = 11;

/** Draw the world of some runs. */
export function drawWorld(context, view, runs, theme) {
  drawGrid(context, view, theme, runs[0].dimension === 3 ? "z" : "y");
  once(runs.flatMap((run) => run.ground)).forEach((line) => drawGround(context, view, line, theme));
  once(runs.flatMap((run) => run.bars)).forEach((bar) => drawBar(context, view, bar, theme));
}

function once(things) {
  return [...new Map(things.map((thing) => [JSON.stringify(thing), thing])).values()];
}

function drawGrid(context, view, theme, up) {
  const box = view.box();
  const [columns, rows] = [view.width / 110, view.height / 80];
  context.font = `11px ${theme.font}`;
  context.fillStyle = theme.soft;
  context.strokeStyle = theme.faint;
  context.lineWidth = 1;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  for (const { value, text } of ticks(box.left, box.right, columns)) {
    const x = Math.round(view.across(value)) + 0.5;
    if (x > 44 && x < view.width - 44) {
      stroke(context, x, 0, x, view.height - 20);
      context.fillText(text, x, view.height - 6);
    }
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const { value, text } of ticks(box.bottom, box.top, rows)) {
    const y = Math.round(view.down(value)) + 0.5;
    if (y > 24 && y < view.height - 26) {
      stroke(context, 40, y, view.width, y);
      context.fillText(text, 36, y);
    }
  }
  context.textBaseline = "alphabetic";
  context.textAlign = "right";
  context.fillText("x (m)", view.width - 6, view.height - 6);
  context.textAlign = "left";
  context.fillText(`${up} (m)`, 6, 14);
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
  context.save();
  context.translate(view.across(line.x), view.down(line.y));
  context.rotate(-angle);
  // the middle of the picture, along the ground
  const along = Math.cos(angle) * (view.width / 2 - view.across(line.x)) - Math.sin(angle) * (view.height / 2 - view.down(line.y));
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
