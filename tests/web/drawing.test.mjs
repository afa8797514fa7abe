// What is drawn where: views, curves, bands, traces, arrows and numbers.

import assert from "node:assert/strict";
import { test } from "node:test";

import { eventPlaces } from "../../src/saltus/show/web/bands.mjs";
import { stretches, thinned } from "../../src/saltus/show/web/curve.mjs";
import { eventRows } from "../../src/saltus/show/web/events.mjs";
import { arrowScale, placeOfForce, scaleWords } from "../../src/saltus/show/web/forces.mjs";
import { gatherPlots } from "../../src/saltus/show/web/gather.mjs";
import { readDocument } from "../../src/saltus/show/web/main.mjs";
import { rangeOf } from "../../src/saltus/show/web/plot.mjs";
import { Run } from "../../src/saltus/show/web/run.mjs";
import { strokePath, vertices } from "../../src/saltus/show/web/trace.mjs";
import { reach, shouldFollow, viewOf } from "../../src/saltus/show/web/view.mjs";
import { fixed, format, roundBelow, ticks } from "../../src/saltus/show/web/words.mjs";
import { thrown } from "./records.mjs";

test("a view shows its whole box, as large as it can, with one scale", () => {
  const view = viewOf({ left: -1, right: 3, bottom: 0, top: 1 }, 460, 300);
  assert.ok(view.across(-1) >= 0 && view.across(3) <= 460);
  assert.ok(view.down(1) >= 0 && view.down(0) <= 300);
  assert.equal(view.across(1) - view.across(0), view.down(0) - view.down(1));
  assert.ok(Math.abs(view.box().left - (0 - view.x) / view.scale) < 1e-12);
});

test("a robot that goes far is followed", () => {
  const still = new Run(thrown({ frames: [0] }));
  assert.equal(shouldFollow(reach([still])), false);
  const points = { names: ["A", "B"], positions: [0, 0, 1, 0, 50, 0, 51, 0], velocities: new Array(8).fill(0) };
  assert.equal(shouldFollow(reach([new Run({ t: [0, 1], points })])), true);
});

test("bars and ground that are near are in the view", () => {
  const points = { names: ["A", "B"], positions: [0, 0, 1, 1], velocities: [0, 0, 0, 0] };
  const boxWith = (world) => reach([new Run({ t: [0], points, ...world })]).box;
  const near = boxWith({ ground: [{ x: 0, y: -0.5, angle: 0 }], bars: [{ x: 1.8, y: 1 }] });
  assert.ok(near.bottom < -0.5);
  assert.ok(near.right > 1.8);
  const far = boxWith({ ground: [{ x: 0, y: -9, angle: 0 }], bars: [{ x: 99, y: 1 }] });
  assert.ok(far.bottom > -0.5);
  assert.ok(far.right < 1.8);
});

test("a curve ends at gaps and at jumps, and goes on where an event changes nothing", () => {
  const t = [0, 1, 1, 2, 2, 3, 4, 5];
  assert.deepEqual(stretches(t, [0, 1, 1, 2, 5, NaN, 7, 8]), { joined: [[0, 3], [4, 4], [6, 7]], jumps: [4] });
  assert.deepEqual(stretches(t, t.map(() => NaN)), { joined: [], jumps: [] });
  assert.deepEqual(stretches([0], [1]), { joined: [[0, 0]], jumps: [] });
});

test("a thinned curve keeps each column's lowest and highest value", () => {
  const t = Float64Array.from({ length: 1000 }, (_, k) => k / 1000);
  const values = t.map((_, k) => (k === 333 ? 100 : k === 777 ? -50 : Math.sin(k)));
  const frames = thinned(t, values, [0, 999], (time) => 50 * time);
  assert.ok(frames.length <= 200);
  assert.ok(frames.includes(333) && frames.includes(777) && frames.includes(0) && frames.includes(999));
  assert.deepEqual(frames, [...frames].sort((a, b) => a - b));
});

test("few events have a line each, very many are thinned", () => {
  assert.deepEqual(eventPlaces([0, 1, 1.01, 2], (t) => 100 * t), [0, 100, 200]);
  const many = eventPlaces(Array.from({ length: 5000 }, (_, k) => k), (k) => k / 5);
  assert.ok(many.length >= 20 && many.length <= 61);
});

test("a path does not leap with a name that passes to another place", () => {
  const record = thrown();
  const drawn = (run) => {
    const calls = [];
    const note = (name) => (...numbers) => calls.push([name, numbers.slice(-2)]);
    const context = { beginPath() {}, stroke() {}, moveTo: note("move"), lineTo: note("line"), bezierCurveTo: note("line") };
    const view = { scale: 100, across: (x) => 100 * x, down: (y) => -100 * y };
    const frames = vertices(run, 0, view.scale);
    strokePath(context, view, run, 0, frames, 0, frames.length - 1);
    return calls.filter(([name]) => name === "move").length;
  };
  assert.equal(drawn(new Run(record)), 1);
  record.points.positions = record.points.positions.map((value, k) => (k >= 6 ? value + 5 : value));
  assert.equal(drawn(new Run(record)), 2);
});

test("a trace has few vertices, and the first and the last frame", () => {
  const count = 20000;
  const turn = (k) => [Math.cos(k / 7), Math.sin(k / 7)];
  const run = new Run({
    t: Array.from({ length: count }, (_, k) => k),
    points: {
      names: ["A"],
      positions: Array.from({ length: count }, (_, k) => turn(k)).flat(),
      velocities: new Array(2 * count).fill(0),
    },
  });
  const frames = vertices(run, 0, 200);
  assert.ok(frames.length <= 2500 && frames.length > 5);
  assert.equal(frames[0], 0);
  assert.equal(frames.at(-1), count - 1);
  const still = new Run(thrown({ frames: [0] }));
  assert.deepEqual([...vertices(still, 0, 200)], [0]);
});

test("the scale of arrows is round and told in words", () => {
  const scale = arrowScale([new Run(thrown())], 2);
  assert.equal(scale.force, 1);
  assert.equal(scaleWords(scale), "arrows: 1 N = 0.2 m");
  assert.equal(arrowScale([new Run(thrown({ extra: { contacts: [] } }))], 2), null);
});

test("a wheel's force acts at its lowest point, on a slope too", () => {
  assert.deepEqual(placeOfForce({ point: 0, radius: 0.5, angle: 0 }, [1, 2], 2), [1, 1.5]);
  const [x, y] = placeOfForce({ point: 0, radius: 1, angle: Math.PI / 6 }, [0, 0], 2);
  assert.ok(Math.abs(x - 0.5) < 1e-12 && Math.abs(y + Math.sqrt(3) / 2) < 1e-12);
  assert.deepEqual(placeOfForce({ point: 1 }, [1, 2, 3, 4], 2), [3, 4]);
});

test("plots of several runs are one, told apart by dashes", () => {
  const plots = gatherPlots([new Run(thrown()), new Run(thrown({ extra: { name: "again" } }))]);
  assert.equal(plots.length, 1);
  assert.equal(plots[0].lines.length, 1);
  const { curves } = plots[0].series[0];
  assert.deepEqual(curves.map(({ run, colour, dash }) => [run, colour, dash]), [[0, 0, 0], [1, 1, 1]]);
});

test("series of one run are told apart by colour and dashes", () => {
  const record = thrown();
  record.plots[0].series.push({ name: "w", values: [0, 0, 0, 0, 0, 0] });
  const [{ series }] = gatherPlots([new Run(record)]);
  assert.deepEqual(series.map(({ curves }) => [curves[0].colour, curves[0].dash]), [[0, 0], [1, 1]]);
});

test("the range of a plot holds its lines and copes with nothing", () => {
  const series = (values) => [{ curves: [{ values }] }];
  const [low, high] = rangeOf({ series: series([1, 2, NaN]), lines: [{ y: 5 }] });
  assert.ok(low < 1 && high > 5);
  assert.deepEqual(rangeOf({ series: series([NaN]), lines: [] }).map(Number.isFinite), [true, true]);
  const flat = rangeOf({ series: series([3, 3]), lines: [] });
  assert.ok(flat[0] < 3 && flat[1] > 3);
});

test("events of several runs are in order of time", () => {
  const later = thrown({ frames: [0, 0.2, 0.7, 0.7, 0.9, 1] });
  later.events = [{ ...later.events[0], t: 0.7 }];
  const rows = eventRows([new Run(later), new Run(thrown()), new Run(later)]);
  assert.deepEqual(rows.map(({ t, run }) => [t, run]), [[0.5, 1], [0.7, 0], [0.7, 2]]);
});

test("an event is told in words, with what is not known as a dash", () => {
  const second = thrown({ extra: { name: "again" } });
  second.events[0] = { ...second.events[0], impulse: null, lost: null };
  const rows = eventRows([new Run(thrown()), new Run(second)]);
  assert.deepEqual(rows[0].cells, ["0.5000", "thrown", "wall", "out → back", "P.n 1.5", "0.25"]);
  assert.deepEqual(rows[1].cells.slice(4), ["–", "–"]);
  assert.equal(eventRows([new Run(thrown())])[0].cells.length, 5);
});

test("numbers are short", () => {
  assert.equal(format(0.123456), "0.1235");
  assert.equal(format(-2), "−2");
  assert.equal(format(NaN), "–");
  assert.equal(format(0), "0");
  assert.equal(format(1.5e-7), "1.500e−7");
  assert.equal(fixed(-0.5, 2), "−0.50");
  assert.deepEqual([1, 3, 0.07, 99, 5].map(roundBelow), [1, 2, 0.05, 50, 5]);
});

test("ticks are round, inside, and as many as asked, about", () => {
  assert.deepEqual(ticks(0, 1, 5).map(({ text }) => text), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
  for (const [low, high] of [[-3e-7, 4e-7], [0, 1e9], [99.99, 100.01], [-7, 13]]) {
    const found = ticks(low, high, 5);
    assert.ok(found.length >= 3 && found.length <= 9, `${found.length} ticks`);
    assert.ok(found.every(({ value }) => value >= low - 1e-9 * high && value <= high * (1 + 1e-9)));
    assert.equal(new Set(found.map(({ text }) => text)).size, found.length);
  }
  assert.deepEqual(ticks(1, 1, 5), []);
});

test("a document that cannot be shown has a reason", () => {
  assert.match(readDocument("{").reason, /cannot be read/);
  assert.match(readDocument("[]").reason, /not a document/);
  assert.match(readDocument('{"format": 7, "sections": [{}]}').reason, /format 7/);
  assert.match(readDocument('{"format": 1, "sections": []}').reason, /empty/);
  assert.equal(readDocument('{"format": 1, "sections": [{}]}').reason, undefined);
});
