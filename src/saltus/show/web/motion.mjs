// A player on the page: the moving picture, its controls, the plots and the list of events, all at one time.

import { distinct } from "./arrays.mjs";
import { Controls, keyHelp, sceneChoices } from "./controls.mjs";
import { element, lineKey } from "./elements.mjs";
import { EventList } from "./events.mjs";
import { gatherPlots } from "./gather.mjs";
import { actionOf, needsKey } from "./keys.mjs";
import { Player } from "./player.mjs";
import { Plot } from "./plot.mjs";
import { Scene } from "./scene.mjs";
import { among, DASHES, ModeColours, readTheme, whenThemeChanges } from "./theme.mjs";
import { Timeline } from "./timeline.mjs";
import { format } from "./words.mjs";

// A page that slept does not leap, s.
const LONGEST_FRAME = 0.25;
// When nothing has happened for so long, what is out of sight is drawn too, ms.
const REST = 200;

export class Motion {
  constructor(runs) {
    this.runs = runs;
    this.player = new Player({
      start: Math.min(...runs.map((run) => run.start)),
      end: Math.max(...runs.map((run) => run.end)),
      frames: distinct(runs.map((run) => run.t)),
      events: distinct(runs.map((run) => run.events.map((event) => event.t))),
    });
    this.theme = readTheme();
    this.pending = 0;
    this.last = null;
    this.build();
    this.watch();
    this.player.listen(() => this.request());
    this.request();
  }

  build() {
    const { runs, player } = this;
    const modes = new ModeColours(runs);
    const canvas = element("canvas", { class: "scene", role: "img", "aria-label": this.description() });
    this.scene = new Scene(canvas, runs);
    this.timeline = new Timeline(runs, modes, player);
    this.controls = new Controls(player, runs, this.timeline);
    this.plots = gatherPlots(runs).map((plot) => new Plot(plot, runs, modes, player));
    this.events = new EventList(runs, player);
    const shape = this.plots.length > 0 ? "motion" : "motion alone";
    this.element = element("div", { class: shape, role: "group", "aria-label": "player" },
      element("div", { class: "left" }, this.runList(), this.stage(canvas), this.controls.element,
        sceneChoices(this.scene, () => this.request()), keyHelp(), this.events.element),
      element("div", { class: "plots" }, ...this.plots.map((plot) => plot.element)));
  }

  description() {
    return `moving picture of ${this.runs.map((run) => `${run.robot} ${run.name}`.trim()).join(", ")}`;
  }

  /** The canvas in a frame that takes the focus; a click on it plays or pauses. */
  stage(canvas) {
    const words = `${this.description()}; space plays and pauses`;
    canvas.addEventListener("click", () => this.player.toggle());
    return element("div", { class: "stage", tabindex: 0, role: "group", "aria-label": words }, canvas);
  }

  runList() {
    this.runKeys = this.runs.map(() => element("span", { class: "line" }));
    return element("ul", { class: "run-list" }, ...this.runs.map((run, k) => element("li", { title: run.meaning },
      this.runKeys[k],
      element("strong", {}, run.name),
      ` ${[run.robot, span(run), run.status].filter(Boolean).join(" · ")}`,
      run.meaning ? element("span", { class: "meaning" }, ` – ${run.meaning}`) : null)));
  }

  /** Draw again when the light, the size or what is in sight changes, and hear the keys. */
  watch() {
    whenThemeChanges(() => {
      this.theme = readTheme();
      this.keyRuns();
      this.request();
    });
    this.keyRuns();
    const parts = new Map([this.scene, this.timeline, ...this.plots].map((part) => [part.canvas, part]));
    if (this.events.box) {
      parts.set(this.events.box, this.events);
    }
    const sizes = new ResizeObserver((entries) => {
      entries.forEach(({ target, contentRect }) => parts.get(target).resize(contentRect.width, contentRect.height));
      this.request();
    });
    const sights = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        this.plots.find((plot) => plot.canvas === target).visible = isIntersecting;
      }
      this.request();
    });
    parts.forEach((_, target) => sizes.observe(target));
    this.plots.forEach((plot) => sights.observe(plot.canvas));
    this.element.addEventListener("keydown", (event) => this.key(event, true));
  }

  keyRuns() {
    this.runKeys.forEach((where, k) => {
      where.replaceChildren(lineKey(among(this.theme.colours, k), among(DASHES, k), 4));
    });
  }

  /** Do what a key says, unless what has the focus needs it; tells whether it did. */
  key(event, inside) {
    const { tagName, type } = event.target;
    const action = needsKey(tagName, type, event.key) ? null : actionOf(event, inside);
    if (action) {
      event.preventDefault();
      event.stopPropagation();
      action(this.player);
    }
    return action !== null;
  }

  /** Whether the picture is in sight. */
  get inSight() {
    const { top, bottom } = this.scene.canvas.getBoundingClientRect();
    return bottom > 0 && top < globalThis.innerHeight;
  }

  /** Draw once, before the screen is shown next, however often it is asked. */
  request() {
    if (!this.pending) {
      this.pending = requestAnimationFrame((now) => this.frame(now));
    }
  }

  frame(now) {
    this.pending = 0;
    const { player } = this;
    if (player.playing && this.last !== null) {
      player.advance(Math.min(LONGEST_FRAME, Math.max(0, (now - this.last) / 1000)));
    }
    this.last = player.playing ? now : null;
    this.draw();
    clearTimeout(this.rest);
    if (player.playing) {
      this.request();
    } else {
      this.drawAtRest(this.plots.filter((plot) => !plot.visible));
    }
  }

  /** Draw plots that are out of sight, one at a time. */
  drawAtRest(plots, wait = REST) {
    if (plots.length > 0) {
      this.rest = setTimeout(() => {
        plots[0].draw(this.player.time, this.theme);
        this.drawAtRest(plots.slice(1), 0);
      }, wait);
    }
  }

  /** Draw all that is in sight as it is now. */
  draw() {
    const { time } = this.player;
    // first, since it may have to ask where things are, which is cheap only before words change
    this.events.update(time);
    this.controls.update();
    this.timeline.draw(this.theme);
    this.scene.draw(time, this.theme);
    this.plots.filter((plot) => plot.visible).forEach((plot) => plot.draw(time, this.theme));
  }

  get time() {
    return this.player.time;
  }

  /** Show an instant, s; drawn with the next frame of the screen. */
  seek(time) {
    this.player.seek(time);
    this.scene.time = this.player.time;
  }

  play() {
    this.player.play();
  }

  pause() {
    this.player.pause();
  }
}

function span(run) {
  return run.end > run.start ? `${format(run.start)} to ${format(run.end)} s` : `at ${format(run.start)} s`;
}

/** Let keys that nobody hears go to the player that was used last or is in sight. */
export function shareKeys(motions) {
  let used = null;
  motions.forEach((motion) => motion.element.addEventListener("pointerdown", () => { used = motion; }));
  document.addEventListener("keydown", (event) => {
    const heard = event.target === document.body || event.target === document.documentElement;
    const motion = [used, ...motions].find((one) => one?.inSight);
    if (heard && motion) {
      motion.key(event, false);
    }
  });
}
