// The list of events: only the rows that are seen are on the page; one click and the instant is shown.

import { bisect } from "./arrays.mjs";
import { element } from "./elements.mjs";
import { fixed, format } from "./words.mjs";

const ROW = 28;
const SPARE = 6;

/** The events of all runs in order of time, as rows of words. */
export function eventRows(runs) {
  const several = runs.length > 1;
  const rows = runs.flatMap((run, index) => run.events.map((event) => ({
    t: event.t,
    run: index,
    cells: [
      fixed(event.t, 4), ...(several ? [run.name] : []),
      String(event.guard), `${event.from} → ${event.to}`, impulseWords(event.impulse), format(event.lost ?? NaN),
    ],
  })));
  return rows.sort((a, b) => a.t - b.t);
}

function impulseWords(impulse) {
  return Object.entries(impulse ?? {}).map(([name, value]) => `${name} ${format(value, 3)}`).join(", ") || "–";
}

const NUMBERS = new Set(["t (s)", "lost (J)"]);

export class EventList {
  constructor(runs, player) {
    this.player = player;
    this.rows = eventRows(runs);
    this.times = Float64Array.from(this.rows, (row) => row.t);
    this.columns = ["t (s)", ...(runs.length > 1 ? ["run"] : []), "guard", "mode", "impulse (N s)", "lost (J)"];
    this.current = -1;
    this.focused = 0;
    this.shown = [0, 0];
    // what the box says of itself, kept, since to ask it would cost time
    this.scrolled = 0;
    this.height = 0;
    this.build();
  }

  build() {
    const count = this.rows.length.toLocaleString("en");
    if (this.rows.length === 0) {
      this.element = element("div", { class: "events" }, element("h3", {}, "Events"), element("p", {}, "none"));
      return;
    }
    this.lines = [];
    [this.above, this.below] = [element("td"), element("td")];
    const room = (cell) => element("tr", { "aria-hidden": "true", class: "room" }, cell);
    this.body = element("tbody", {}, room(this.above), room(this.below));
    const table = element("table", { "aria-rowcount": this.rows.length + 1, "aria-label": `${count} events` },
      this.columnWidths(),
      element("thead", {}, element("tr", { "aria-rowindex": 1 }, ...this.columns.map((name) => element("th",
        { scope: "col", class: NUMBERS.has(name) ? "number" : "" }, name)))),
      this.body);
    this.box = element("div", { class: "rows", scroll: () => this.scroll() }, table);
    this.box.addEventListener("keydown", (event) => this.key(event));
    // as high as its rows, up to what the style allows, with room for a scroll bar
    this.box.style.height = `${(this.rows.length + 1) * ROW + 18}px`;
    this.box.addEventListener("click", (event) => this.clicked(event));
    this.element = element("div", { class: "events" },
      element("h3", {}, `Events (${count})`), this.box);
  }

  columnWidths() {
    const rows = sampled(this.rows);
    const widest = this.columns.map((name, k) => Math.max(name.length, ...rows.map((row) => row.cells[k].length)));
    return element("colgroup", {}, ...widest.map((count) => element("col", { style: `width: ${count + 2.5}ch` })));
  }

  scroll() {
    this.scrolled = this.box.scrollTop;
    this.fill();
  }

  /** Say how high the box is on the page, in CSS pixels. */
  resize(width, height) {
    this.height = height;
    this.fill();
  }

  /** Put the rows that are seen on the page, and as much room as the others would take. */
  fill() {
    const seen = [Math.floor(this.scrolled / ROW), Math.ceil((this.scrolled + this.height) / ROW)];
    const [first, last] = [Math.max(0, seen[0] - SPARE), Math.min(this.rows.length, seen[1] + SPARE)];
    const there = this.shown[0] <= seen[0] && this.shown[1] >= Math.min(this.rows.length, seen[1]);
    if (there && this.shown[1] > 0) {
      return;
    }
    this.shown = [first, last];
    const held = this.body.contains(document.activeElement);
    this.setCount(last - first);
    this.lines.forEach((line, k) => this.write(line, first + k));
    this.above.style.height = `${first * ROW}px`;
    this.below.style.height = `${(this.rows.length - last) * ROW}px`;
    if (held) {
      this.lineOf(this.focused)?.focus({ preventScroll: true });
    }
  }

  /** Have so many lines on the page; those that are there are used again. */
  setCount(count) {
    while (this.lines.length > count) {
      this.lines.pop().remove();
    }
    while (this.lines.length < count) {
      const cells = this.columns.map((name) => element("td", { class: NUMBERS.has(name) ? "number" : null }));
      this.lines.push(element("tr", { title: "show this instant" }, ...cells));
      this.below.parentElement.before(this.lines.at(-1));
    }
  }

  /** Make a line tell an event. */
  write(line, index) {
    line.dataset.index = index;
    line.setAttribute("aria-rowindex", index + 2);
    line.tabIndex = index === this.focused ? 0 : -1;
    this.markLine(line, this.isCurrent(index));
    this.rows[index].cells.forEach((cell, k) => { line.cells[k].textContent = cell; });
  }

  lineOf(index) {
    return this.body.querySelector(`[data-index="${index}"]`);
  }

  /** All events of the instant that was passed last are marked. */
  isCurrent(index) {
    return this.current >= 0 && this.times[index] === this.times[this.current];
  }

  /** Mark the events that were passed last, and keep them in sight. */
  update(time) {
    if (!this.box || this.height === 0) {
      return;
    }
    const current = bisect(this.times, time) - 1;
    if (current !== this.current) {
      this.current = current;
      this.keepInSight(Math.max(0, current));
      this.fill();
      this.mark();
    }
  }

  mark() {
    this.lines.forEach((line) => this.markLine(line, this.isCurrent(Number(line.dataset.index))));
  }

  markLine(line, marked) {
    if (line.getAttribute("aria-current") !== String(marked)) {
      line.classList.toggle("current", marked);
      line.setAttribute("aria-current", marked);
    }
  }

  keepInSight(index) {
    const [top, high] = [index * ROW, this.height - ROW];
    if (top < this.scrolled || top + ROW > this.scrolled + high) {
      this.scrolled = Math.round(Math.max(0, Math.min((this.rows.length + 1) * ROW - this.height, top - high / 2)));
      this.box.scrollTop = this.scrolled;
    }
  }

  jump(index) {
    this.player.pause();
    this.player.seek(this.times[index]);
  }

  clicked(event) {
    const line = event.target.closest("[data-index]");
    if (line) {
      this.focus(Number(line.dataset.index));
      this.jump(this.focused);
    }
  }

  focus(index) {
    this.lineOf(this.focused)?.setAttribute("tabindex", -1);
    this.focused = Math.min(this.rows.length - 1, Math.max(0, index));
    this.keepInSight(this.focused);
    this.fill();
    const line = this.lineOf(this.focused);
    line?.setAttribute("tabindex", 0);
    line?.focus({ preventScroll: true });
  }

  key(event) {
    const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -8, PageDown: 8, Home: -Infinity, End: Infinity };
    if (event.key === "Enter") {
      this.jump(this.focused);
    } else if (event.key in steps && !event.shiftKey) {
      this.focus(this.focused + steps[event.key]);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

// Enough rows to know how wide a column is.
function sampled(rows) {
  const stride = Math.max(1, Math.floor(rows.length / 400));
  return rows.filter((_, k) => k % stride === 0);
}
