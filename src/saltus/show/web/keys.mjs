// What a key does to the player.

const ACTIONS = {
  " ": (player) => player.toggle(),
  ArrowLeft: (player) => player.stepFrame(-1),
  ArrowRight: (player) => player.stepFrame(1),
  "shift ArrowLeft": (player) => player.stepEvent(-1),
  "shift ArrowRight": (player) => player.stepEvent(1),
  ",": (player) => player.stepEvent(-1),
  ".": (player) => player.stepEvent(1),
  ArrowUp: (player) => player.stepSpeed(1),
  ArrowDown: (player) => player.stepSpeed(-1),
  Home: (player) => player.toEdge(-1),
  End: (player) => player.toEdge(1),
};

/** The keys and what they do, for people. */
export const HELP = [
  ["space", "play or pause"],
  ["← →", "frame by frame"],
  ["shift + ← →, or , .", "event to event"],
  ["↑ ↓", "faster, slower"],
  ["home, end", "first and last instant"],
];

// These scroll the page, and go on doing so while nothing of the player has the focus.
const SCROLLING = ["ArrowUp", "ArrowDown", "Home", "End"];

/** What a key does, or nothing; `inside` says whether the focus is in the player. */
export function actionOf(event, inside = true) {
  if (event.ctrlKey || event.altKey || event.metaKey || (!inside && SCROLLING.includes(event.key))) {
    return null;
  }
  const shifted = event.shiftKey && event.key.startsWith("Arrow");
  return ACTIONS[shifted ? `shift ${event.key}` : event.key] ?? null;
}

/** Whether an element needs a key for itself. */
export function needsKey(tag, type, key) {
  if (tag === "SELECT" || tag === "TEXTAREA" || (tag === "INPUT" && type === "text")) {
    return true;
  }
  const pressed = tag === "BUTTON" || tag === "SUMMARY" || tag === "A" || (tag === "INPUT" && type === "checkbox");
  return pressed && (key === " " || key === "Enter");
}
