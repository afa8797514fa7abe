// Elements of the page in one line each; what is said is always text, never markup.

/** An element with its attributes (a function listens to an event) and its children. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      made.addEventListener(name, value);
    } else if (value !== null && value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : String(value));
    }
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

/** A box to tick, with its words. */
export function checkbox(text, checked, changed) {
  const box = element("input", { type: "checkbox", change: () => changed(box.checked) });
  box.checked = checked;
  return element("label", { class: "choice" }, box, text);
}

/** A piece of line in a colour and a dash pattern, as a key. */
export function lineKey(colour, dash, width = 2.5) {
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  const line = document.createElementNS(space, "line");
  const put = (made, values) => Object.entries(values).forEach(([name, value]) => made.setAttribute(name, value));
  put(picture, { width: 26, height: 10, class: "key", "aria-hidden": "true" });
  put(line, { x1: 0, y1: 5, x2: 26, y2: 5, stroke: colour, "stroke-width": width, "stroke-dasharray": dash.join(" ") });
  picture.append(line);
  return picture;
}

// More would cost time and show nothing.
const FINEST = 2;

/** Give a canvas as many pixels as it covers on the screen; tells the size in CSS pixels and whether it changed. */
export function fitCanvas(canvas, width, height) {
  const ratio = Math.min(FINEST, globalThis.devicePixelRatio || 1);
  const [across, down] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  const changed = canvas.width !== across || canvas.height !== down;
  if (changed) {
    canvas.width = across;
    canvas.height = down;
  }
  return { ratio, changed };
}

/** A canvas that is not on the page, for what changes seldom. */
export function layerLike(canvas, ratio) {
  const layer = document.createElement("canvas");
  layer.width = canvas.width;
  layer.height = canvas.height;
  const context = layer.getContext("2d");
  context.scale(ratio, ratio);
  return { layer, context };
}
