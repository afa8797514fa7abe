// The modes of a run as bands of colour with their names, and its events as dashed lines.

const ROOM = 6;
const EVENT_GAP = 4;
const MOST_EVENTS = 60;

/** Fill the time of each mode with its colour, weakly. */
export function drawBands(context, run, modes, theme, across, top, height, strength) {
  context.globalAlpha = strength;
  for (const band of run.bands) {
    const [left, right] = [across(band.begin), across(band.end)];
    context.fillStyle = modes.of(String(band.mode), theme);
    context.fillRect(left, top, Math.max(0.5, right - left), height);
  }
  context.globalAlpha = 1;
}

/** Write the name of each mode into its band, where it has room. */
export function nameBands(context, run, theme, across, middle) {
  context.fillStyle = theme.ink;
  context.font = `10.5px ${theme.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const widths = new Map();
  for (const band of run.bands) {
    const [left, right] = [across(band.begin), across(band.end)];
    const mode = String(band.mode);
    if (right - left > 2 * ROOM) {
      widths.set(mode, widths.get(mode) ?? context.measureText(mode).width);
      if (right - left > widths.get(mode) + ROOM) {
        context.fillText(mode, (left + right) / 2, middle);
      }
    }
  }
}

/** Places of events on an axis, without those that are too close to the one before; very many are thinned more. */
export function eventPlaces(times, across) {
  const places = spaced(times.map(across), EVENT_GAP);
  return places.length > MOST_EVENTS ? spaced(places, (places.at(-1) - places[0]) / MOST_EVENTS) : places;
}

function spaced(all, gap) {
  const places = [];
  for (const place of all) {
    if (places.length === 0 || place - places.at(-1) >= gap) {
      places.push(place);
    }
  }
  return places;
}

/** A dashed line at each event. */
export function drawEvents(context, run, colour, across, top, bottom) {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.setLineDash([3, 3]);
  context.beginPath();
  for (const x of eventPlaces(run.events.map((event) => event.t), across)) {
    context.moveTo(Math.round(x) + 0.5, top);
    context.lineTo(Math.round(x) + 0.5, bottom);
  }
  context.stroke();
  context.setLineDash([]);
}
