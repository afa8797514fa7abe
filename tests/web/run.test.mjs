// A run tells where everything is at any time.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Run } from "../../src/saltus/show/web/run.mjs";
import { placeOf, thrown } from "./records.mjs";

function near(found, wanted, off = 1e-12) {
  assert.equal(found.length, wanted.length);
  wanted.forEach((value, k) => assert.ok(Math.abs(found[k] - value) < off, `${found} is not ${wanted}`));
}

test("between frames a point follows its parabola", () => {
  const run = new Run(thrown());
  for (const t of [0, 0.05, 0.2, 0.37, 0.4999]) {
    near(run.pointsAt(t), placeOf(t, 0));
  }
  for (const t of [0.5, 0.6, 0.95, 1]) {
    near(run.pointsAt(t), placeOf(t, 1));
  }
});

test("at an event the frame after it is shown", () => {
  const record = thrown();
  record.points.positions[2 * 2] = 99;
  const run = new Run(record);
  assert.equal(run.frameAt(0.5), 3);
  assert.equal(run.pointsAt(0.5)[0], 1);
  assert.equal(run.modeAt(0.5), "back");
  assert.equal(run.modeAt(0.4999), "out");
  assert.equal(run.valueAt(run.plots[0].series[0].values, 0.5), -2);
});

test("before the first and after the last frame nothing moves", () => {
  const run = new Run(thrown());
  near(run.pointsAt(-1), placeOf(0, 0));
  near(run.pointsAt(9), placeOf(1, 1));
});

test("series are straight between frames, and a gap is a gap", () => {
  const run = new Run(thrown());
  assert.ok(Math.abs(run.valueAt([0, 2, 5, 5, 5, 5], 0.05) - 0.5) < 1e-12);
  assert.ok(Number.isNaN(run.valueAt([0, NaN, 5, 5, 5, 5], 0.05)));
  assert.equal(run.valueAt([7, NaN, 5, 5, 5, 5], 0), 7);
});

test("forces are those of closed contacts", () => {
  const run = new Run(thrown());
  near(run.forceAt(run.contacts[0], 0.3), [0.3, 0.6]);
  assert.equal(run.forceAt(run.contacts[0], 0.5), null);
  assert.equal(run.forceAt(run.contacts[0], 0.7), null);
});

test("the bounds hold all frames, and wheels", () => {
  const plain = new Run(thrown()).bounds();
  assert.equal(plain.left, 0);
  assert.equal(plain.right, 1);
  const wheeled = new Run(thrown({ extra: { wheels: [{ point: 0, radius: 0.5 }] } })).bounds();
  assert.equal(wheeled.left, -0.5);
  assert.equal(wheeled.right, 1.5);
  assert.deepEqual(new Run(thrown()).bounds(0), { left: 0, right: 0, bottom: 0, top: 0 });
});

test("a gap in a point spoils no bounds", () => {
  const record = thrown();
  record.points.positions[0] = null;
  assert.ok(Number.isFinite(new Run(record).bounds().left));
});

test("one frame is a run", () => {
  const run = new Run(thrown({ frames: [0] }));
  assert.equal(run.start, run.end);
  near(run.pointsAt(0), [0, 0]);
  assert.equal(run.modeAt(0), "");
});

test("in space the last axis is up", () => {
  const record = { dimension: 3, t: [0], points: { names: ["A"], positions: [1, 2, 3], velocities: [0, 0, 0] } };
  assert.deepEqual(new Run(record).bounds(), { left: 1, right: 1, bottom: 3, top: 3 });
});

test("a record that does not fit together says what is wrong", () => {
  assert.throws(() => new Run({ t: [] }), /no samples/);
  const short = thrown();
  short.points.positions.pop();
  assert.throws(() => new Run(short), /11 positions, not 12/);
  assert.throws(() => new Run(thrown({ extra: { skeleton: [[0, 4]] } })), /point 4, of 1/);
});

test("a run that is over has neither a mode nor forces", () => {
  const run = new Run(thrown());
  const contact = { ...run.contacts[0], closed: run.contacts[0].closed.map(() => 1) };
  assert.equal(run.modeAt(run.end), "back");
  assert.equal(run.modeAt(run.end + 0.1), "over");
  assert.notEqual(run.forceAt(contact, run.end), null);
  assert.equal(run.forceAt(contact, run.end + 0.1), null);
});
