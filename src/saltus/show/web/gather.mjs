// The plots of several runs as one set: same title and axis, one plot; same series, one colour.

/** Plots in the order of the runs, with the curves of each run that has them. */
export function gatherPlots(runs) {
  const plots = new Map();
  runs.forEach((run, index) => {
    for (const plot of run.plots) {
      const key = JSON.stringify([plot.title, plot.axis]);
      if (!plots.has(key)) {
        plots.set(key, { title: plot.title, axis: plot.axis, lines: [], notes: [], series: new Map() });
      }
      addPlot(plots.get(key), plot, index);
    }
  });
  return [...plots.values()].map((plot) => finished(plot, runs.length));
}

function addPlot(gathered, plot, index) {
  for (const { name, label, values } of plot.series) {
    if (!gathered.series.has(name)) {
      gathered.series.set(name, { name, label, curves: [] });
    }
    gathered.series.get(name).curves.push({ run: index, values });
  }
  for (const line of plot.lines) {
    if (!gathered.lines.some((other) => other.y === line.y && other.label === line.label)) {
      gathered.lines.push(line);
    }
  }
  if (plot.note && !gathered.notes.includes(plot.note)) {
    gathered.notes.push(plot.note);
  }
}

// With one run, each series has its own dashes. With several, a run has its dashes, and its colour if that is free.
function finished(plot, count) {
  const series = [...plot.series.values()];
  series.forEach((one, place) => one.curves.forEach((curve) => {
    curve.colour = count > 1 && series.length === 1 ? curve.run : place;
    curve.dash = count > 1 ? curve.run : place;
  }));
  return { ...plot, series };
}
