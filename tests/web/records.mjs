// Small records of runs for tests: one point on a parabola, and two points that swing.

/** Base64 of an array of numbers. */
export function packed(values) {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString("base64");
}

const TURN = { t: 0.5, guard: "wall", from: "out", to: "back", impulse: { "P.n": 1.5 }, lost: 0.25, frame: 3 };

/** A point thrown with some velocity, with an event at 0.5 s that turns it back; cubic Hermite is exact for it. */
export function thrown({ frames = [0, 0.2, 0.5, 0.5, 0.9, 1], extra = {} } = {}) {
  const after = frames.map((t, k) => (t === 0.5 && frames[k - 1] === 0.5 ? 1 : Number(t > 0.5)));
  return {
    name: "thrown",
    robot: "ball",
    status: "reached_end",
    meaning: "all of it",
    start: frames[0],
    end: frames.at(-1),
    dimension: 2,
    t: frames,
    points: {
      names: ["P"],
      positions: frames.flatMap((t, k) => placeOf(t, after[k])),
      velocities: frames.flatMap((t, k) => [after[k] ? -2 : 2, 3 - 9.81 * t]),
    },
    skeleton: [[0, 0]],
    contacts: [{
      name: "P",
      kind: "ground",
      point: 0,
      forces: frames.flatMap((t) => [t, 2 * t]),
      closed: after.map((one) => 1 - one),
    }],
    bands: frames.length > 1 ? [{ mode: "out", begin: 0, end: 0.5 }, { mode: "back", begin: 0.5, end: 1 }] : [],
    events: frames.length > 1 ? [TURN] : [],
    plots: [{
      title: "speed",
      axis: "speed (m/s)",
      series: [{ name: "v", label: "v", values: frames.map((t, k) => (after[k] ? -2 : 2)) }],
      lines: [{ y: 0, label: "rest" }],
    }],
    traces: ["P"],
    ...extra,
  };
}

/** Where the thrown point is. */
export function placeOf(t, after) {
  return [after ? 1 - 2 * (t - 0.5) : 2 * t, 3 * t - 4.905 * t * t];
}
