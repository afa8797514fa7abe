// The buttons, the slider and the boxes to tick of a player.

import { checkbox, element } from "./elements.mjs";
import { HELP } from "./keys.mjs";
import { SPEEDS } from "./player.mjs";
import { fixed } from "./words.mjs";

export class Controls {
  constructor(player, runs, timeline) {
    Object.assign(this, { player, runs });
    const span = player.end - player.start;
    this.decimals = span > 0 ? Math.min(6, Math.max(2, 3 - Math.floor(Math.log10(span)))) : 3;
    this.playButton = button("Play", "play", () => player.toggle());
    this.back = button("‹ event", "previous event", () => player.stepEvent(-1));
    this.forth = button("event ›", "next event", () => player.stepEvent(1));
    this.slider = this.makeSlider();
    this.speed = this.makeSpeed();
    this.clock = element("output", { class: "clock", "aria-live": "off" });
    this.mode = element("span", { class: "mode" });
    this.element = element("div", { class: "controls" },
      element("div", { class: "scrub" }, this.slider, timeline.canvas),
      element("div", { class: "buttons" }, this.back, this.playButton, this.forth, this.clock,
        element("label", { class: "choice" }, "speed", this.speed),
        checkbox("loop", player.loop, (loop) => player.setLoop(loop))),
      element("p", { class: "modes" }, this.mode));
  }

  makeSlider() {
    const { player } = this;
    const slider = element("input", {
      type: "range", class: "slider", min: player.start, max: player.end, step: "any", "aria-label": "time",
      input: () => player.seek(Number(slider.value)),
    });
    slider.disabled = !(player.end > player.start);
    return slider;
  }

  makeSpeed() {
    const chosen = (event) => this.player.setSpeed(Number(event.target.value));
    return element("select", { "aria-label": "speed", change: chosen },
      ...SPEEDS.map((speed) => element("option", { value: speed }, `${speed}×`)));
  }

  /** Show the player as it is. */
  update() {
    const { player } = this;
    const words = `${fixed(player.time, this.decimals)} s`;
    put(this.playButton, player.playing ? "Pause" : "Play");
    this.playButton.setAttribute("aria-label", player.playing ? "pause" : "play");
    put(this.clock, words);
    this.slider.value = player.time;
    this.speed.value = String(player.speed);
    const modes = this.runs.map((run) => run.modeAt(player.time));
    const told = this.runs.length > 1
      ? this.runs.map((run, k) => `${run.name}: ${modes[k] || "–"}`).join(" · ")
      : modes[0] && `mode: ${modes[0]}`;
    put(this.mode, told || "");
    this.slider.setAttribute("aria-valuetext", `${words}, ${told || "no mode"}`);
  }
}

function button(text, label, pressed) {
  return element("button", { type: "button", "aria-label": label, title: label, click: pressed }, text);
}

function put(where, words) {
  if (where.textContent !== words) {
    where.textContent = words;
  }
}

/** Boxes to tick for what the picture shows. */
export function sceneChoices(scene, changed) {
  const wish = (text, name) => checkbox(text, scene.wishes[name], (wanted) => {
    scene.wish(name, wanted);
    changed();
  });
  const traces = scene.pointNames.map((name) => checkbox(name, scene.wishes.traces.has(name), (wanted) => {
    scene.wishTrace(name, wanted);
    changed();
  }));
  return element("div", { class: "choices" },
    scene.hasForces ? wish("force arrows", "forces") : null,
    wish("follow the robot", "follow"),
    wish("point names", "names"),
    traces.length > 0
      ? element("span", { class: "traces", role: "group", "aria-label": "paths of points" }, "paths:", ...traces)
      : null);
}

/** The keys in a few words, folded away. */
export function keyHelp() {
  const rows = HELP.flatMap(([keys, meaning]) => [
    element("dt", {}, element("kbd", {}, keys)), element("dd", {}, meaning),
  ]);
  return element("details", { class: "keys" }, element("summary", {}, "Keys"), element("dl", {}, ...rows));
}
