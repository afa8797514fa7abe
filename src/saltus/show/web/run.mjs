// One run from its record: what was where at a time, in which mode, under which forces.

import { bisect, decode } from "./arrays.mjs";

export class Run {
  constructor(record) {
    this.name = String(record.name ?? "run");
    this.robot = String(record.robot ?? "");
    this.status = String(record.status ?? "");
    this.meaning = String(record.meaning ?? "");
    this.dimension = record.dimension ?? 2;
    this.t = decode(record.t ?? []);
    this.count = this.t.length;
    if (this.count === 0) {
      throw new Error("it has no samples");
    }
    this.start = record.start ?? this.t[0];
    this.end = record.end ?? this.t[this.count - 1];
    this.readPoints(record.points ?? { names: [], positions: [], velocities: [] });
    this.readDrawing(record);
    this.contacts = (record.contacts ?? []).map((contact) => this.readContact(contact));
    this.bands = record.bands ?? [];
    this.bandBegins = Float64Array.from(this.bands, (band) => band.begin);
    this.events = (record.events ?? []).map((event) => ({ ...event }));
    this.plots = (record.plots ?? []).map((plot) => this.readPlot(plot));
  }

  readPoints(points) {
    this.names = points.names;
    const size = this.count * this.names.length * this.dimension;
    this.positions = this.sized("positions", points.positions, size);
    this.velocities = this.sized("velocities", points.velocities, size);
  }

  readDrawing(record) {
    this.skeleton = this.checkedPairs(record.skeleton ?? []);
    this.wheels = record.wheels ?? [];
    this.ground = record.ground ?? [];
    this.bars = record.bars ?? [];
    this.rails = record.rails ?? [];
    this.traces = (record.traces ?? []).filter((name) => this.names.includes(name));
  }

  checkedPairs(pairs) {
    for (const index of pairs.flat()) {
      if (!(index in this.names)) {
        throw new Error(`its skeleton names point ${index}, of ${this.names.length}`);
      }
    }
    return pairs;
  }

  readContact(contact) {
    return {
      ...contact,
      forces: this.sized(`forces of ${contact.name}`, contact.forces, this.count * this.dimension),
      closed: this.sized(`states of ${contact.name}`, contact.closed, this.count),
    };
  }

  readPlot(plot) {
    const series = plot.series.map((one) => ({
      name: String(one.name),
      label: String(one.label ?? one.name),
      values: this.sized(`values of ${one.name}`, one.values, this.count),
    }));
    const { title, axis = "", lines = [], note } = plot;
    return { title: String(title), axis: String(axis), series, lines, note };
  }

  sized(what, array, size) {
    const values = decode(array);
    if (values.length !== size) {
      throw new Error(`it has ${values.length} ${what}, not ${size}`);
    }
    return values;
  }

  /** The last frame that is not after a time; at an event that is the frame after it. */
  frameAt(time) {
    return Math.max(0, bisect(this.t, time) - 1);
  }

  /** The frame before a time, how long until the next one (0 if there is none), and which part of it has passed. */
  placeAt(time) {
    const frame = this.frameAt(time);
    if (frame + 1 >= this.count || time <= this.t[frame]) {
      return { frame, step: 0, part: 0 };
    }
    const step = this.t[frame + 1] - this.t[frame];
    return { frame, step, part: (time - this.t[frame]) / step };
  }

  /** Where all points are at a time, by cubic Hermite polynomials, m: point by point, axis by axis. */
  pointsAt(time) {
    const { frame, step, part } = this.placeAt(time);
    const size = this.names.length * this.dimension;
    const begin = frame * size;
    if (step === 0) {
      return Float64Array.from(this.positions.subarray(begin, begin + size));
    }
    const [a, b, c, d] = hermite(part, step);
    const found = new Float64Array(size);
    for (let k = begin; k < begin + size; k += 1) {
      found[k - begin] = a * this.positions[k] + b * this.velocities[k]
        + c * this.positions[k + size] + d * this.velocities[k + size];
    }
    return found;
  }

  /** The value of a series at a time, straight between frames. */
  valueAt(values, time) {
    const { frame, part } = this.placeAt(time);
    return part === 0 ? values[frame] : values[frame] + part * (values[frame + 1] - values[frame]);
  }

  /** The mode at a time; at the end of one, the next; after the end of the run, none. */
  modeAt(time) {
    if (time > this.end) {
      return "over";
    }
    const band = this.bands[Math.max(0, bisect(this.bandBegins, time) - 1)];
    return band ? String(band.mode) : "";
  }

  /** Force of a contact on the robot at a time, N, or null while it is open and after the end of the run. */
  forceAt(contact, time) {
    const { frame, part } = this.placeAt(time);
    if (!contact.closed[frame] || time > this.end) {
      return null;
    }
    const rest = part > 0 && contact.closed[frame + 1] ? part : 0;
    const size = this.dimension;
    return Array.from({ length: size }, (_, axis) => {
      const before = contact.forces[frame * size + axis];
      return rest === 0 ? before : before + rest * (contact.forces[(frame + 1) * size + axis] - before);
    });
  }

  /** The box that holds a frame's points with their wheels, or the box of all frames. */
  bounds(frame = null) {
    const box = { left: Infinity, right: -Infinity, bottom: Infinity, top: -Infinity };
    const [first, last] = frame === null ? [0, this.count - 1] : [frame, frame];
    const radius = new Float64Array(this.names.length);
    this.wheels.forEach((wheel) => { radius[wheel.point] = wheel.radius; });
    for (let row = first; row <= last; row += 1) {
      for (let point = 0; point < this.names.length; point += 1) {
        const at = (row * this.names.length + point) * this.dimension;
        stretch(box, this.positions[at], this.positions[at + this.dimension - 1], radius[point]);
      }
    }
    return box;
  }
}

// Weights of the value and the slope at the beginning, and of those at the end.
function hermite(part, step) {
  const square = part * part;
  const cube = square * part;
  return [
    2 * cube - 3 * square + 1,
    (cube - 2 * square + part) * step,
    3 * square - 2 * cube,
    (cube - square) * step,
  ];
}

/** Make a box hold a point with a circle around it; gaps are left out. */
export function stretch(box, x, y, radius = 0) {
  if (Number.isFinite(x) && Number.isFinite(y)) {
    box.left = Math.min(box.left, x - radius);
    box.right = Math.max(box.right, x + radius);
    box.bottom = Math.min(box.bottom, y - radius);
    box.top = Math.max(box.top, y + radius);
  }
}
