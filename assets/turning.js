// One pair of a query and of a key in its plane: both arrows turn as their positions grow. At a
// whole position they are where the engine says; between two they turn from one to the next.
const SIDE = 500; // pixels, outside a lecture
const LEAST = 220;

function turned(points, at) {
  const n = Math.floor(at);
  const [[x, y], [u, v]] = [points[n], points[Math.min(n + 1, points.length - 1)]];
  const angle = Math.atan2(x * v - y * u, x * u + y * v) * (at - n);
  return [x * Math.cos(angle) - y * Math.sin(angle), x * Math.sin(angle) + y * Math.cos(angle)];
}

class Picture {
  constructor(svg) {
    this.svg = svg;
  }

  draw(data, { width, font, room }) {
    const side = Math.max(LEAST, Math.min(width, room < Infinity ? room : SIDE));
    const arms = [data.query, data.key];
    const longest = Math.max(...arms.flat().map(([x, y]) => Math.hypot(x, y))) || 1;
    const scale = (side / 2 - 2.6 * font) / longest;
    const on = ([x, y]) => [width / 2 + x * scale, side / 2 - y * scale];
    Object.assign(this, { data, on, font, width });
    this.svg.replaceChildren();
    this.axes(width, side, font);
    this.arms = ["query", "key"].map((role, n) => this.arm(role, arms[n], scale));
    this.names = ["query", "key"].map((role) => element(this.svg, "text", `middle bold label ${role}`));
    return side;
  }

  axes(width, side, font) {
    const [x, y, half] = [width / 2, side / 2, side / 2 - 1.4 * font];
    element(this.svg, "path", "faint", { d: `M${x - half} ${y}h${2 * half}M${x} ${y - half}v${2 * half}` });
    this.data.axes.forEach((label, n) => {
      const place = n ? { x: x + 0.4 * font, y: y - half } : { x: x + half, y: y + 1.2 * font };
      name(element(this.svg, "text", n ? "" : "end", place), label);
    });
  }

  arm(role, points, scale) {
    const group = element(this.svg, "g", `arm ${role}`);
    const [x, y] = this.on([0, 0]);
    element(group, "circle", "faint", { cx: x, cy: y, r: Math.hypot(...points[0]) * scale });
    points.forEach((point, n) => {
      const dot = mark(group, role, this.on(point), 0.25 * this.font, "dot");
      element(dot, "title").textContent = `${this.data.words[role]} ${n}: ${point.map((v) => v.toFixed(3)).join(", ")}`;
    });
    const line = element(group, "line", "line", { x1: x, y1: y, "stroke-dasharray": role === "key" ? "0.7em 0.4em" : "none" });
    const tip = mark(group, role, [0, 0], 0, "tip");
    return { role, points, line, tip };
  }

  place(at) {
    const ends = this.arms.map(({ points }, n) => this.on(turned(points, at[n])));
    const labels = this.labels(ends);
    this.arms.forEach(({ role, line, tip }, n) => {
      const [x, y] = ends[n];
      set(line, { x2: x, y2: y });
      put(tip, role, ends[n], 0.5 * this.font);
      set(this.names[n], { x: labels[n][0], y: labels[n][1] });
      this.names[n].textContent = `${this.data.words[role]} ${Math.floor(at[n] + 1e-6)}`;
    });
  }

  labels(ends) { // outside of the tips, and not over each other
    const [x, y] = this.on([0, 0]);
    const places = ends.map(([u, v]) => {
      const length = Math.hypot(u - x, v - y) || 1;
      const far = 1 + (1.5 * this.font) / length;
      const [least, most] = [2.5 * this.font, this.width - 2.5 * this.font];
      return [Math.min(most, Math.max(least, x + (u - x) * far)), y + (v - y) * far + 0.35 * this.font];
    });
    const [[a, b], [c, d]] = places;
    const room = 1.25 * this.font;
    if (Math.abs(a - c) < 5 * this.font && Math.abs(b - d) < room) {
      const way = b - d < 0 ? -1 : 1;
      const middle = (b + d) / 2;
      [places[0][1], places[1][1]] = [middle + (way * room) / 2, middle - (way * room) / 2];
    }
    return places;
  }

  says([t, i]) {
    const told = { t, i, distance: t - i, score: this.data.scores[t][i] };
    this.frame(t, i);
    return filled(this.data.says, told);
  }

  alt([t, i]) {
    return filled(this.data.told, { t, i });
  }

  frame(t, i) { // around the cell of the map beside it
    const plots = [...document.querySelectorAll(".js-plotly-plot")];
    const plot = plots.find(({ layout }) => layout?.meta?.chart === this.data.map);
    const full = plot?._fullLayout;
    if (!full?.xaxis?.l2p) return;
    plot.querySelectorAll(".shapelayer path").forEach((path) => {
      const shape = full.shapes[path.dataset.index];
      if (!shape) return;
      const by = ["x", "y"].map((letter, n) => {
        const axis = full[shape[`${letter}ref`].replace(letter, `${letter}axis`)];
        const [from, to] = [shape[`${letter}0`], shape[`${letter}1`]];
        const middle = shape[`${letter}sizemode`] === "pixel" ? shape[`${letter}anchor`] : (from + to) / 2;
        return axis.l2p(n ? t : i) - axis.l2p(middle);
      });
      set(path, { transform: `translate(${by.join(" ")})` });
    });
  }
}

// A query is round, a key square.
function mark(parent, role, place, size, kind) {
  return put(element(parent, role === "query" ? "circle" : "rect", kind), role, place, size);
}

function put(node, role, [x, y], size) {
  const square = { x: x - size, y: y - size, width: 2 * size, height: 2 * size };
  set(node, role === "query" ? { cx: x, cy: y, r: size } : square);
  return node;
}

function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (_, key) => values[key]);
}
