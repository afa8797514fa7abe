// The clock plays, stops, loops and steps.

import assert from "node:assert/strict";
import { test } from "node:test";

import { actionOf, needsKey } from "../../src/saltus/show/web/keys.mjs";
import { Player, SPEEDS, startingSpeed } from "../../src/saltus/show/web/player.mjs";

const made = () => new Player({ start: 0, end: 10, frames: [0, 1, 2, 5, 10], events: [1, 2, 5] });

test("a time outside the run is its edge, and no number changes nothing", () => {
  const player = made();
  player.seek(99);
  assert.equal(player.time, 10);
  player.seek(-1);
  assert.equal(player.time, 0);
  player.seek(3);
  player.seek(NaN);
  assert.equal(player.time, 3);
});

test("playing takes time by its speed and stops at the end", () => {
  const player = made();
  player.advance(1);
  assert.equal(player.time, 0);
  player.setSpeed(2);
  player.play();
  player.advance(1.5);
  assert.equal(player.time, 3);
  player.advance(100);
  assert.equal(player.time, 10);
  assert.equal(player.playing, false);
});

test("play at the end begins again", () => {
  const player = made();
  player.seek(10);
  player.play();
  assert.equal(player.time, 0);
  assert.equal(player.playing, true);
});

test("a loop goes on from the beginning", () => {
  const player = made();
  player.setLoop(true);
  player.play();
  player.advance(12.5);
  assert.equal(player.time, 2.5);
  assert.equal(player.playing, true);
});

test("events and frames are stepped through, to the edges and no further", () => {
  const player = made();
  const seen = (step) => Array.from({ length: 5 }, () => {
    step();
    return player.time;
  });
  assert.deepEqual(seen(() => player.stepEvent(1)), [1, 2, 5, 10, 10]);
  assert.deepEqual(seen(() => player.stepEvent(-1)), [5, 2, 1, 0, 0]);
  player.seek(1.5);
  player.stepFrame(-1);
  assert.equal(player.time, 1);
  player.seek(1.5);
  player.stepFrame(1);
  assert.equal(player.time, 2);
});

test("a step stops the play", () => {
  const player = made();
  player.play();
  player.stepEvent(1);
  assert.equal(player.playing, false);
});

test("a run of one instant does not play", () => {
  const player = new Player({ start: 1, end: 1, frames: [1] });
  player.play();
  assert.equal(player.playing, false);
  player.stepFrame(1);
  assert.equal(player.time, 1);
});

test("short runs begin slow", () => {
  assert.equal(startingSpeed(10), 1);
  assert.equal(startingSpeed(1.9), 0.25);
  assert.equal(startingSpeed(0.05), 0.1);
  assert.equal(startingSpeed(0), 1);
  assert.deepEqual([SPEEDS[0], SPEEDS.at(-1)], [0.1, 4]);
});

test("speed goes up and down in steps and stays in its limits", () => {
  const player = made();
  player.stepSpeed(1);
  assert.equal(player.speed, 2);
  player.stepSpeed(1);
  player.stepSpeed(1);
  assert.equal(player.speed, 4);
  for (let k = 0; k < 9; k += 1) {
    player.stepSpeed(-1);
  }
  assert.equal(player.speed, 0.1);
});

test("each change is told once", () => {
  const player = made();
  let told = 0;
  player.listen(() => { told += 1; });
  player.seek(1);
  player.play();
  player.advance(0.1);
  player.pause();
  assert.equal(told, 4);
});

test("keys do what the help says", () => {
  const player = made();
  const press = (key, more = {}) => actionOf({ key, ...more })?.(player);
  press("ArrowRight", { shiftKey: true });
  assert.equal(player.time, 1);
  press(".");
  assert.equal(player.time, 2);
  press(",");
  press("ArrowRight");
  press("ArrowRight");
  assert.equal(player.time, 5);
  press("ArrowLeft");
  press("ArrowLeft", { shiftKey: true });
  assert.equal(player.time, 1);
  press("End");
  assert.equal(player.time, 10);
  press("Home");
  assert.equal(player.time, 0);
  press("ArrowUp");
  assert.equal(player.speed, 2);
  press("ArrowDown");
  assert.equal(player.speed, 1);
  press(" ");
  assert.equal(player.playing, true);
});

test("keys that are others' are left to them", () => {
  assert.equal(actionOf({ key: "ArrowRight", ctrlKey: true }), null);
  assert.equal(actionOf({ key: "x" }), null);
  assert.equal(actionOf({ key: "End" }, false), null);
  assert.notEqual(actionOf({ key: " " }, false), null);
  assert.equal(needsKey("BUTTON", "button", " "), true);
  assert.equal(needsKey("BUTTON", "button", "ArrowLeft"), false);
  assert.equal(needsKey("INPUT", "range", "ArrowLeft"), false);
  assert.equal(needsKey("SELECT", "", "ArrowUp"), true);
});
