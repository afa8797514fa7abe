// The sections of a document, each kind in its own way.

import { element } from "./elements.mjs";
import { Motion } from "./motion.mjs";
import { Run } from "./run.mjs";

const ROWS_SHOWN = 200;

const KINDS = { text, facts, command, table, warnings, checks, figures, runs, links };

/** One section; what cannot be shown says so. Players are added to `players`. */
export function sectionOf(section, players) {
  const kind = Object.hasOwn(KINDS, section?.type ?? "") ? KINDS[section.type] : unknown;
  const made = element("section", { class: `section ${kind.name}` });
  if (section?.title) {
    made.append(element("h2", {}, section.title));
  }
  try {
    made.append(...kind(section, players));
  } catch (error) {
    made.append(trouble(`This section could not be shown: ${error.message}.`));
  }
  return made;
}

/** A line that says what is wrong. */
export function trouble(words) {
  return element("p", { class: "trouble", role: "alert" }, words);
}

function unknown(section) {
  return [trouble(`This page cannot show a section of type “${section?.type ?? "none"}”.`)];
}

function text({ text: words = "" }) {
  return String(words).split(/\n\s*\n/).map((part) => element("p", {}, part));
}

function facts({ rows = [] }) {
  const pairs = rows.map(([name, value, unit]) => element("div", {},
    element("dt", {}, name),
    element("dd", {}, value, unit && unit !== "1" ? element("span", { class: "unit" }, ` ${unit}`) : null)));
  return [rows.length ? element("dl", {}, ...pairs) : element("p", {}, "none")];
}

// Only pages beside this one: where a link leads can be seen before it is followed.
function links({ items = [] }) {
  const safe = (href) => /^[\w.-]+\.html$/.test(href ?? "");
  return [element("ul", { class: "cards" }, ...items.map(({ href, text: name, about, image }) => element("li", {},
    safe(href) ? element("a", { href }, name) : element("span", {}, name),
    about ? element("p", {}, about) : null,
    isInside(image) ? element("img", { src: image, alt: name }) : null)))];
}

function command({ text: words = "" }) {
  const code = element("code", {}, words);
  const copy = element("button", { type: "button", click: () => copyFrom(code, copy) }, "Copy");
  return [element("div", { class: "code" }, element("pre", { tabindex: 0 }, code), copy)];
}

async function copyFrom(code, copy) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    copy.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(code);
    copy.textContent = document.execCommand("copy") ? "Copied" : "Selected";
  }
  setTimeout(() => { copy.textContent = "Copy"; }, 1500);
}

function table({ columns = [], rows = [], note, title }) {
  const body = element("tbody", {}, ...rows.slice(0, ROWS_SHOWN).map(rowOf));
  const parts = [wide(title, element("table", {}, head(columns), body))];
  if (rows.length > ROWS_SHOWN) {
    const more = element("button", { type: "button", click: () => {
      body.append(...rows.slice(ROWS_SHOWN).map(rowOf));
      more.remove();
    } }, `Show all ${rows.length.toLocaleString("en")} rows`);
    parts.push(more);
  }
  if (rows.length === 0) {
    parts.push(element("p", {}, "none"));
  }
  return note ? [...parts, element("p", { class: "note" }, note)] : parts;
}

function head(columns) {
  return element("thead", {}, element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name))));
}

function rowOf(cells) {
  return element("tr", {}, ...cells.map((cell) => element("td", {}, cell)));
}

// A table scrolls in its own box, with the keyboard too.
function wide(title, made) {
  return element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": title ?? "table" }, made);
}

function warnings({ items = [] }) {
  return [items.length ? element("ul", {}, ...items.map((item) => element("li", {}, item))) : element("p", {}, "none")];
}

function checks({ rows = [], title }) {
  const lines = rows.map(([ok, ...cells]) => element("tr", { class: ok ? "passed" : "failed" },
    element("td", {}, ok ? "✓ passed" : "✗ failed"), ...cells.map((cell) => element("td", {}, cell))));
  return [wide(title, element("table", {}, head(["", "check", "value", "limit"]), element("tbody", {}, ...lines)))];
}

function figures({ figures: pictures = [] }) {
  return [element("div", { class: "pictures" }, ...pictures.map(pictureOf))];
}

// Only pictures that are in the page itself: it needs nothing from elsewhere.
function isInside(image) {
  return /^data:image\/(png|svg\+xml|jpeg|gif|webp);/.test(image ?? "");
}

function pictureOf({ image, caption = "" }) {
  return element("figure", {},
    isInside(image) ? element("img", { src: image, alt: caption }) : trouble("This picture is not in the page."),
    element("figcaption", {}, caption));
}

function runs({ runs: records = [], note }, players) {
  const parts = [];
  const good = records.flatMap((record) => {
    try {
      return [new Run(record)];
    } catch (error) {
      parts.push(trouble(`The run ${record?.name ?? ""} cannot be shown: ${error.message}.`));
      return [];
    }
  });
  if (good.length > 0) {
    const motion = new Motion(good);
    players.push(motion);
    parts.push(motion.element);
  } else if (records.length === 0) {
    parts.push(element("p", {}, "There is no run to show."));
  }
  return note ? [...parts, element("p", { class: "note" }, note)] : parts;
}
