// The clock of a page: which instant is shown, whether it moves and how fast; it knows nothing of the page.

import { bisect } from "./arrays.mjs";

export const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];

// A run that is over sooner is shown slower, s.
const SHORTEST_SHOW = 4;

/** The greatest speed up to life size at which a run takes long enough to be seen. */
export function startingSpeed(duration) {
  const slow = SPEEDS.filter((speed) => speed <= 1).reverse();
  return slow.find((speed) => duration / speed >= SHORTEST_SHOW) ?? (duration > 0 ? slow.at(-1) : 1);
}

export class Player {
  /** Times in s: those of the frames and of the events in order, each once. */
  constructor({ start, end, frames = [], events = [] }) {
    this.start = start;
    this.end = Math.max(start, end);
    this.frames = frames;
    this.events = events;
    this.time = start;
    this.speed = startingSpeed(this.end - this.start);
    this.loop = false;
    this.playing = false;
    this.listeners = [];
  }

  /** Call a function after each change. */
  listen(listener) {
    this.listeners.push(listener);
  }

  changed() {
    this.listeners.forEach((listener) => listener(this));
  }

  /** Show the instant nearest to a time. */
  seek(time) {
    if (Number.isFinite(time)) {
      this.time = Math.min(this.end, Math.max(this.start, time));
      this.changed();
    }
  }

  /** Play, from the beginning if the end is shown. */
  play() {
    if (this.end > this.start) {
      this.time = this.time >= this.end ? this.start : this.time;
      this.playing = true;
    }
    this.changed();
  }

  pause() {
    this.playing = false;
    this.changed();
  }

  toggle() {
    if (this.playing) {
      this.pause();
    } else {
      this.play();
    }
  }

  /** Let so many seconds of the viewer's time pass. */
  advance(seconds) {
    if (!this.playing) {
      return;
    }
    const time = this.time + seconds * this.speed;
    if (time < this.end) {
      this.time = time;
    } else if (this.loop) {
      this.time = this.start + ((time - this.start) % (this.end - this.start));
    } else {
      this.time = this.end;
      this.playing = false;
    }
    this.changed();
  }

  /** Stop at the next or the one before of some times, or at the run's own end or beginning. */
  stepAmong(times, direction) {
    const place = bisect(times, this.time);
    const before = place > 0 && times[place - 1] === this.time ? place - 2 : place - 1;
    const target = direction > 0 ? times[place] ?? this.end : times[before] ?? this.start;
    this.playing = false;
    this.seek(target);
  }

  stepFrame(direction) {
    this.stepAmong(this.frames, direction);
  }

  stepEvent(direction) {
    this.stepAmong(this.events, direction);
  }

  toEdge(direction) {
    this.playing = false;
    this.seek(direction > 0 ? this.end : this.start);
  }

  setSpeed(speed) {
    this.speed = Math.min(SPEEDS.at(-1), Math.max(SPEEDS[0], speed));
    this.changed();
  }

  /** The next higher or lower speed. */
  stepSpeed(direction) {
    const found = direction > 0
      ? SPEEDS.find((speed) => speed > this.speed)
      : SPEEDS.findLast((speed) => speed < this.speed);
    this.setSpeed(found ?? this.speed);
  }

  setLoop(loop) {
    this.loop = loop;
    this.changed();
  }
}
