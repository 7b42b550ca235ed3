// Plots what a student's submissions reach; the text and the table beside the plot say the same.
import uPlot from "uplot";

const HEIGHT = 190;
const DASHES = [[6, 4], [2, 3], [10, 3, 2, 3]];

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function axis(label) {
  const line = color("--line");
  return { stroke: color("--soft"), label, labelSize: 22, size: 44, labelGap: 2, grid: { stroke: line, width: 1 }, ticks: { stroke: line } };
}

// Large numbers are written short, as 1.2M, so that they fit beside the axis.
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });

function options(width, plot) {
  const known = [...plot.values.filter((one) => one !== null), ...plot.levels.map((level) => level[1])];
  const most = plot.most ?? 1.08 * Math.max(...known);
  return {
    width, height: HEIGHT, legend: { show: false }, cursor: { y: false, drag: { x: false, y: false } },
    scales: { x: { time: false, range: [plot.numbers[0] - 0.5, plot.numbers.at(-1) + 0.5] }, y: { range: [0, most || 1] } },
    axes: [
      { ...axis("submission"), incrs: [1, 2, 5, 10, 20, 50, 100, 500] },
      { ...axis(plot.label), values: (_, ticks) => ticks.map((tick) => short.format(tick)) },
    ],
    series: [
      {},
      { stroke: color("--accent"), width: 2, spanGaps: true, points: { show: true, size: 7, fill: color("--accent") } },
      ...plot.levels.map((_, k) => ({ stroke: color("--soft"), width: 1.5, dash: DASHES[k % DASHES.length], points: { show: false } })),
    ],
  };
}

function draw(place) {
  const plot = JSON.parse(place.dataset.plot);
  const box = place.querySelector("div");
  const data = [plot.numbers, plot.values, ...plot.levels.map(([, value]) => plot.numbers.map(() => value))];
  let drawn;
  const again = () => {
    drawn?.destroy();
    drawn = new uPlot(options(box.clientWidth, plot), data, box);
  };
  place.hidden = false;
  again();
  addEventListener("resize", () => drawn.setSize({ width: box.clientWidth, height: HEIGHT }));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
}

for (const place of document.querySelectorAll("[data-plot]")) draw(place);
