// A view in space: gives meshcat's viewer its scene, places the eye, and plays by the viewer's own animation.

const data = JSON.parse(document.getElementById("saltus-data").textContent);
const element = (id) => document.getElementById(id);
const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const ANGLE = 45;

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

function numbers(text) {
  return new Float32Array(bytes(text).buffer);
}

const times = numbers(data.clock.f32);
const centres = numbers(data.centre.f32);
const duration = times[times.length - 1];

/** What a command holds, with rows of numbers in place of their text. */
function unpacked(value) {
  if (Array.isArray(value)) {
    return value.map(unpacked);
  }
  if (value === null || typeof value !== "object") {
    return value;
  }
  if (value.clock === true) {
    return times;
  }
  if (typeof value.f32 === "string") {
    return numbers(value.f32);
  }
  if (typeof value.u8 === "string") {
    return Array.from(bytes(value.u8), Boolean);
  }
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, unpacked(part)]));
}

const viewer = new MeshCat.Viewer(element("meshcat-pane"));
data.commands.forEach((command) => viewer.handle_command(unpacked(command)));
const { animator } = viewer;
// the viewer's own: an action that never played shows nothing when it is scrubbed
animator.actions.forEach((action) => action.play());

// -- the eye: three.js has y up, the world has z up -------------------------------------------------

function up([x, y, z]) {
  return [x, z, -y];
}

/** Where the robot is at a time, m, in the world. */
function centreAt(time) {
  if (times.length === 1) {
    return Array.from(centres);
  }
  const frame = Math.max(0, Math.min(times.length - 2, Math.floor(time / duration * (times.length - 1))));
  const share = (time - times[frame]) / (times[frame + 1] - times[frame]);
  return [0, 1, 2].map((k) => centres[3 * frame + k] + share * (centres[3 * frame + 3 + k] - centres[3 * frame + k]));
}

function look(middle, radius) {
  const { camera, controls } = viewer;
  const half = (ANGLE / 2) * Math.PI / 180;
  const wide = Math.atan(Math.tan(half) * innerWidth / innerHeight);
  const away = 1.05 * radius / Math.sin(Math.min(half, wide));
  const direction = up([-0.28, -1, 0.36]);
  const size = Math.hypot(...direction);
  camera.fov = ANGLE;
  camera.near = away / 500;
  camera.far = 100 * away;
  controls.target.set(...up(middle));
  camera.position.set(...up(middle).map((place, k) => place + away * direction[k] / size));
  controls.update();
  camera.updateProjectionMatrix();
  viewer.set_dirty();
}

function lookAtWhole() {
  const [low, high] = data.box;
  look(low.map((value, k) => (value + high[k]) / 2), Math.hypot(...low.map((value, k) => high[k] - value)) / 2);
}

let seen = null;

/** Move the eye with the robot, as far as it went since. */
function follow(time) {
  const now = up(centreAt(time));
  if (seen !== null) {
    const way = now.map((value, k) => value - seen[k]);
    viewer.camera.position.set(...viewer.camera.position.toArray().map((value, k) => value + way[k]));
    viewer.controls.target.set(...viewer.controls.target.toArray().map((value, k) => value + way[k]));
    viewer.controls.update();
    viewer.set_dirty();
  }
  seen = now;
}

// -- time -------------------------------------------------------------------------------------------

let shown = null;

function modeAt(time) {
  let low = 0;
  let high = data.modes.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (data.modes[middle][0] <= time) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return data.modes[low][1];
}

function tell(time) {
  element("time").value = time;
  element("clock").textContent = `${(data.start + time).toFixed(3)} s`;
  element("mode").textContent = modeAt(data.start + time);
}

function seek(time) {
  const wanted = Math.max(0, Math.min(duration, time));
  animator.seek(wanted);
  animator.display_progress(wanted);
  refresh();
}

function refresh() {
  element("play").textContent = animator.playing ? "pause" : "play";
  if (animator.time === shown) {
    return;
  }
  shown = animator.time;
  tell(shown);
  if (element("follow").checked) {
    follow(shown);
  }
}

function toggle() {
  if (animator.playing) {
    animator.pause();
  } else {
    animator.mixer.timeScale = Number(element("speed").value);
    animator.play();
  }
  refresh();
}

function setFollow(wanted) {
  element("follow").checked = wanted;
  seen = null;
  if (wanted) {
    look(centreAt(animator.time), 1.1 * data.size);
    follow(animator.time);
  } else {
    lookAtWhole();
  }
}

function tick() {
  refresh();
  requestAnimationFrame(tick);
}

// -- the bar ----------------------------------------------------------------------------------------

element("told").querySelector("h1").textContent = data.title;
element("hint").textContent = "drag: turn · wheel: zoom · right button: shift";
const speeds = [...new Set([...SPEEDS, data.speed])].sort((one, other) => one - other);
speeds.forEach((speed) => element("speed").add(new Option(`${speed}`, speed)));
element("speed").value = data.speed;
element("speed").addEventListener("change", () => {
  animator.mixer.timeScale = Number(element("speed").value);
});
element("time").max = duration;
element("time").addEventListener("input", () => {
  animator.pause();
  seek(Number(element("time").value));
});
element("play").addEventListener("click", toggle);
element("follow").addEventListener("change", () => setFollow(element("follow").checked));
element("whole").addEventListener("click", () => setFollow(false));
element("forces-label").hidden = !(data.force > 0);
element("forces").addEventListener("change", () => {
  viewer.set_property(["forces"], "visible", element("forces").checked);
  viewer.set_dirty();
});
document.addEventListener("keydown", (event) => {
  if (event.key === " " && !["BUTTON", "SELECT", "INPUT"].includes(event.target.tagName)) {
    event.preventDefault();
    toggle();
  }
});
if (duration === 0) {
  ["play", "time", "speed", "follow"].forEach((id) => { element(id).disabled = true; });
}
viewer.set_3d_pane_size();
seek(0);
tell(0);
setFollow(data.follow);
tick();

window.saltus = { viewer, data, seek, toggle };
