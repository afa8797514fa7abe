// Series as curves: where they break, where they jump, and the few points that look like all of them.

/**
 * Stretches of frames that one line joins, and the frames at which a value jumps.
 * A line ends at a gap, and at an event (two frames at one time) unless the value stays as it was.
 */
export function stretches(t, values) {
  const joined = [];
  const jumps = [];
  let first = -1;
  for (let k = 0; k < t.length; k += 1) {
    const here = Number.isFinite(values[k]);
    const jump = here && first >= 0 && t[k] === t[k - 1] && values[k] !== values[k - 1];
    if (first >= 0 && (!here || jump)) {
      joined.push([first, k - 1]);
      first = -1;
    }
    if (jump) {
      jumps.push(k);
    }
    if (here && first < 0) {
      first = k;
    }
  }
  if (first >= 0) {
    joined.push([first, t.length - 1]);
  }
  return { joined, jumps };
}

/** Frames of a stretch that show all of it: in each column of pixels the first, the last, the lowest, the highest. */
export function thinned(t, values, [first, last], across) {
  const frames = [];
  let k = first;
  while (k <= last) {
    const column = Math.floor(across(t[k]));
    const begin = k;
    let [low, high] = [k, k];
    while (k <= last && Math.floor(across(t[k])) === column) {
      low = values[k] < values[low] ? k : low;
      high = values[k] > values[high] ? k : high;
      k += 1;
    }
    const kept = [begin, Math.min(low, high), Math.max(low, high), k - 1];
    frames.push(...kept.filter((frame, place) => place === 0 || frame !== kept[place - 1]));
  }
  return frames;
}

/** Draw a series: lines, dots for frames that stand alone, and a thin line for each jump. */
export function drawCurve(context, t, values, across, down) {
  const { joined, jumps } = stretches(t, values);
  context.beginPath();
  for (const [first, last] of joined.filter(([begin, end]) => end > begin)) {
    thinned(t, values, [first, last], across).forEach((frame, k) => {
      context[k === 0 ? "moveTo" : "lineTo"](across(t[frame]), down(values[frame]));
    });
  }
  context.stroke();
  context.setLineDash([]);
  for (const [frame] of joined.filter(([begin, end]) => end === begin)) {
    context.beginPath();
    context.arc(across(t[frame]), down(values[frame]), 1.4, 0, 2 * Math.PI);
    context.fill();
  }
  context.lineWidth = 0.6;
  context.beginPath();
  for (const k of jumps) {
    context.moveTo(across(t[k - 1]), down(values[k - 1]));
    context.lineTo(across(t[k]), down(values[k]));
  }
  context.stroke();
}
