// Colours and dash patterns, from the style sheet, so that they change with the page's light.

/** Dash patterns, in pixels: what differs in colour differs in dashes too. */
export const DASHES = [[], [7, 3], [2, 2.5], [9, 3, 2, 3], [12, 4], [4, 2, 1, 2]];

const NAMES = ["ink", "soft", "faint", "paper", "ground", "force", "cursor"];
const COLOURS = 8;

/** The colours of the page as it is now. */
export function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const theme = Object.fromEntries(NAMES.map((name) => [name, read(name)]));
  theme.colours = Array.from({ length: COLOURS }, (_, k) => read(`colour-${k}`));
  theme.bandStrength = Number(read("band-strength")) || 0.15;
  theme.font = getComputedStyle(document.body).fontFamily;
  return theme;
}

/** Call a function when the page turns dark or light. */
export function whenThemeChanges(changed) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}

/** One of some things, from the first again after the last. */
export function among(things, index) {
  return things[index % things.length];
}

/** The colour of each mode, in the order in which the runs enter them. */
export class ModeColours {
  constructor(runs) {
    this.modes = [...new Set(runs.flatMap((run) => run.bands.map((band) => String(band.mode))))];
  }

  /** From the far end of the palette, since curves begin at the near one. */
  of(mode, theme) {
    const order = [5, 4, 2, 3, 1, 0, 7];
    return theme.colours[among(order, Math.max(0, this.modes.indexOf(mode)))];
  }
}
