// Arrays of a record are decoded and searched.

import assert from "node:assert/strict";
import { test } from "node:test";

import { bisect, decode, distinct, spread } from "../../src/saltus/show/web/arrays.mjs";
import { packed } from "./records.mjs";

test("each kind of number comes back as it was", () => {
  assert.deepEqual([...decode({ f64: packed(Float64Array.of(0.1, -1e300, NaN)) })], [0.1, -1e300, NaN]);
  assert.deepEqual([...decode({ f32: packed(Float32Array.of(0.5, 2)) })], [0.5, 2]);
  assert.deepEqual([...decode({ u8: packed(Uint8Array.of(0, 1, 255)) })], [0, 1, 255]);
});

test("little-endian bytes are what is meant", () => {
  assert.deepEqual([...decode({ f64: "AAAAAAAA8D8=" })], [1]);
});

test("a null in a list is a gap", () => {
  assert.deepEqual([...decode([1, null, 2])], [1, NaN, 2]);
});

test("what is no array says so", () => {
  assert.throws(() => decode({ f16: "AAA=" }), /f32, f64, u8/);
  assert.throws(() => decode(undefined), /list/);
  assert.throws(() => decode({ f64: "AAAA" }), /3 bytes/);
});

test("bisect counts the values that are not above", () => {
  const values = [0, 1, 1, 2];
  assert.deepEqual([-1, 0, 0.5, 1, 1.5, 2, 3].map((value) => bisect(values, value)), [0, 1, 1, 3, 3, 4, 4]);
  assert.equal(bisect([], 1), 0);
});

test("distinct values are in order, each once, without gaps", () => {
  assert.deepEqual([...distinct([[0, 2, 2], [1, 2, NaN]])], [0, 1, 2]);
});

test("the spread leaves gaps and infinities out", () => {
  assert.deepEqual(spread([[NaN, 3], [Infinity, -1]]), [-1, 3]);
  assert.equal(spread([[NaN]]), null);
});
