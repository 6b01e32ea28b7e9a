// Lines of several runs over one axis, by uPlot.

import { span } from "./words.js";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const schemes = matchMedia("(prefers-color-scheme: dark)");

const axisTime = (s) => (Math.abs(s) < 600 ? `${Math.round(s * 100) / 100} s` : Math.abs(s) < 36000 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`);

// Chart draws curves into an element, as large as that is.
export class Chart {
  // value makes words of a line's value; told is called with what is under the pointer.
  constructor(root, { value, told, labels }) {
    Object.assign(this, { root, value, told, labels });
    this.key = "";
    new ResizeObserver(() => this.plot?.setSize(this.size())).observe(root);
    schemes.addEventListener("change", () => { this.key = ""; this.draw(); });
  }

  size() { return { width: this.root.clientWidth, height: this.root.clientHeight }; }

  // show draws the curves of the runs, which have the numbers of their colours.
  show(curves, profiles) {
    this.curves = curves;
    this.profiles = profiles;
    this.draw();
  }

  draw() {
    const { curves, profiles } = this;
    if (!curves) return;
    const lines = curves.y.map((y) => y ?? []), n = Math.max(0, ...lines.map((y) => y.length));
    const x = Array.from({ length: n }, (_, i) => curves.from + i * curves.step);
    const data = [x, ...lines.map((y) => x.map((_, i) => y[i] ?? null))];
    const key = [curves.kind, ...profiles].join("\0");
    if (key === this.key && this.plot) {
      this.plot.setData(data);
      return;
    }
    this.key = key;
    this.plot?.destroy();
    const ink = css("--muted"), line = css("--line");
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "12px system-ui, sans-serif" };
    this.plot = new uPlot({
      ...this.size(),
      scales: { x: { time: false }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.05 : 1] } },
      legend: { show: false },
      cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
      axes: [{ ...axis, values: (_, at) => at.map(axisTime), space: 70 }, { ...axis, size: 52, space: 34, values: (_, at) => at.map((v) => this.value(v)) }],
      series: [{}, ...profiles.map((_, i) => ({
        stroke: css(`--run-${i}`), width: i === profiles.length - 1 ? 3 : 2.25, dash: i === profiles.length - 1 ? undefined : [6, 4],
        points: { show: false }, spanGaps: false,
        paths: uPlot.paths.stepped({ align: -1 }),
      }))],
      hooks: { draw: [(u) => this.label(u)], setCursor: [(u) => this.told?.(u.cursor.idx == null ? null : { x: u.data[0][u.cursor.idx], y: u.data.slice(1).map((y) => y[u.cursor.idx]) })] },
    }, data, this.root);
  }

  // label writes each line's name beside it, where it is farthest from the others.
  label(u) {
    if (!this.labels) return;
    const ratio = devicePixelRatio, context = u.ctx, lines = u.data.slice(1);
    context.save();
    context.font = `600 ${13 * ratio}px system-ui, sans-serif`;
    context.lineWidth = 4 * ratio;
    context.lineJoin = "round";
    context.strokeStyle = css("--card");
    lines.forEach((line, i) => {
      let at = -1, most = -1, above = true;
      line.forEach((y, k) => {
        if (y == null || k > u.data[0].length * 0.8) return;
        const others = lines.filter((_, j) => j !== i).map((o) => o[k]).filter((o) => o != null);
        const away = others.length > 0 ? Math.min(...others.map((o) => Math.abs(o - y))) : -0.5;
        if (away > most) { most = away; at = k; above = others.filter((o) => o > y).length * 2 <= others.length; }
      });
      if (at < 0) return;
      const x = u.valToPos(u.data[0][at], "x", true), y = u.valToPos(line[at], "y", true);
      above &&= y - 21 * ratio >= u.bbox.top; // or it would be on its own line
      above ||= y + 20 * ratio > u.bbox.top + u.bbox.height; // below is the axis
      const name = shortened(context, this.profiles[i], u.bbox.width / 2), width = context.measureText(name).width;
      context.fillStyle = css(`--run-${i}`);
      context.textAlign = above ? "right" : "left";
      const [tx, ty] = above ? [Math.max(x - 6 * ratio, u.bbox.left + width + 2), y - 9 * ratio] : [Math.min(x + 8 * ratio, u.bbox.left + u.bbox.width - width), y + 17 * ratio];
      context.strokeText(name, tx, Math.max(u.bbox.top + 12 * ratio, ty));
      context.fillText(name, tx, Math.max(u.bbox.top + 12 * ratio, ty));
    });
    context.restore();
  }
}

// shortened is as much of a name as a width holds, with an ellipsis for the rest.
const shortened = (context, name, width) => {
  let shown = name, letters = [...name];
  while (context.measureText(shown).width > width && letters.length > 1) shown = (letters = letters.slice(0, -1)).join("") + "…";
  return shown;
};

// hints say what the curves of a kind show.
export const hints = {
  done: "How many pods were done, so long after the batch began. The higher line is ahead.",
  within: "Per cent of the pods done that were so within a time of their creation. Further left is sooner.",
  rate: "Pods done a second, since the batch began.",
  ago: "Pods done a second, before now.",
};

// readout says what is under the pointer.
export function readout(curves, profiles, at) {
  if (!at) return "";
  const unit = curves.kind === "within" ? " %" : "";
  const when = curves.kind === "within" ? "Within " : "After ";
  return when + span(at.x) + ": " + profiles.map((p, i) => [p, at.y[i]]).filter(([, y]) => y != null).map(([p, y]) => `${p} ${y}${unit}`).join(", ");
}
