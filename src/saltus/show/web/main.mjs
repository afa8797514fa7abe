// Reads the data in the page and shows them; what is empty or broken is said in words.

import { element } from "./elements.mjs";
import { shareKeys } from "./motion.mjs";
import { sectionOf, trouble } from "./report.mjs";

const FORMAT = 1;

/** The document in the page, or the reason why there is none. */
export function readDocument(words) {
  let found;
  try {
    found = JSON.parse(words);
  } catch (error) {
    return { reason: `The data in this page cannot be read: ${error.message}.` };
  }
  if (found === null || typeof found !== "object" || Array.isArray(found)) {
    return { reason: "The data in this page are not a document." };
  }
  if (found.format !== FORMAT) {
    return { reason: `The data in this page have format ${found.format ?? "none"}; the page reads format ${FORMAT}.` };
  }
  if (!Array.isArray(found.sections) || found.sections.length === 0) {
    return { found, reason: "This document is empty: it has no sections." };
  }
  return { found };
}

/** Show a document in an element; tells its players. */
export function mount(root, words) {
  const { found, reason } = readDocument(words);
  const players = [];
  root.replaceChildren(element("header", {}, element("h1", {}, found?.title || "saltus"),
    found?.subtitle ? element("p", { class: "subtitle" }, found.subtitle) : null));
  if (reason) {
    root.append(trouble(reason));
  } else {
    root.append(...found.sections.map((section) => sectionOf(section, players)));
  }
  shareKeys(players);
  return { document: found ?? null, players };
}

if (globalThis.document) {
  globalThis.saltus = mount(document.getElementById("saltus-page"), document.getElementById("saltus-data").textContent);
}
