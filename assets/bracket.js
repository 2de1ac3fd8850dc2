// A product of three matrices and the order in which it is taken, as boxes whose sides grow with
// the logarithm of rows and columns. At 0 the bracket is on the left, at 1 on the right; between
// them it slides, and what one order makes turns into what the other makes.
const [SMALL, LARGE] = [0.3, 0.66]; // sides of a box, of its place's width and height
const LINE = 150; // pixels, outside a lecture
const SIZES = 1.8; // letters below a box
const COSTS = 1.9; // letters above a line

class Picture {
  constructor(svg) {
    this.svg = svg;
  }

  draw(data, { width, font, room }) {
    const line = room < Infinity ? Math.max(6.2 * font, Math.min(room / 3, 11 * font)) : LINE;
    const [left, right] = data.forms;
    const every = data.forms.flatMap(({ factors, inner, result }) => [...factors, inner, result]);
    const longest = Math.log2(Math.max(...every.flatMap(({ rows, columns }) => [rows, columns])) + 1);
    Object.assign(this, { data, width, font, line, longest });
    this.svg.replaceChildren();
    left.factors.forEach((factor, n) => this.box(factor).at(n, 0));
    this.box(left.result).at(1, 2);
    this.brackets = [0, 1].map(() => element(this.svg, "path", "bracket"));
    this.inner = [left, right].map(({ inner }) => this.box(inner));
    this.rest = [this.box(left.factors[2]), this.box(left.factors[0])];
    this.costs = [1, 2].map((at) => data.forms.map(({ steps }) => this.cost(steps[at - 1], at)));
    return 3 * line;
  }

  cost(text, line) {
    const place = { x: this.width / 2, y: line * this.line + 1.1 * this.font };
    const node = element(this.svg, "text", "middle bold", place);
    node.textContent = text;
    return node;
  }

  box({ code, label, rows, columns, role, size }) {
    const { font, line, width, longest } = this;
    const node = element(this.svg, "g", `box ${role}`, { "data-tensor": code });
    const rect = element(node, "rect");
    const text = element(node, "text", "middle bold");
    name(text, label);
    const below = element(node, "text", "middle size");
    below.textContent = size;
    const fits = width / 3.1 / below.getComputedTextLength();
    if (fits < 1) set(below, { style: `font-size: ${fits * font}px` });
    const share = (n) => SMALL + (LARGE - SMALL) * (Math.log2(n + 1) / longest);
    const most = (line - (SIZES + COSTS) * font) / LARGE;
    const wide = Math.max((share(columns) * width) / 3.1, text.getComputedTextLength() + font);
    const sides = [wide, share(rows) * most];
    const at = (x, y, [w, h] = sides) => {
      const middle = [((x + 0.55) / 3.1) * width, y * line + COSTS * font + (LARGE * most) / 2];
      set(rect, { x: middle[0] - w / 2, y: middle[1] - h / 2, width: w, height: h });
      set(text, { x: middle[0], y: middle[1] + 0.35 * font });
      set(below, { x: middle[0], y: (y + 1) * line - 0.6 * font });
    };
    return { node, sides, at };
  }

  place([at]) {
    const [one, other] = this.inner;
    const sides = one.sides.map((side, n) => mix(side, other.sides[n], at));
    this.inner.forEach((box) => box.at(mix(0.5, 1.5, at), 1, sides));
    this.rest[0].at(2, mix(1, 0, at)); // goes back to where it came from
    this.rest[1].at(0, mix(0, 1, at));
    [this.inner.map(({ node }) => node), this.rest.map(({ node }) => node), ...this.costs].forEach((pair) => {
      [1 - at, at].forEach((seen, n) => {
        set(pair[n], { opacity: seen, display: seen > 0.01 ? "inline" : "none" });
      });
    });
    this.bracket(at);
  }

  bracket(at) { // a pair of them around two neighbours
    const { font, line, width } = this;
    const [top, bottom, inwards] = [0.5 * font, line - 1.9 * font, 0.7 * font];
    [[at - 0.47, inwards], [at + 1.47, -inwards]].forEach(([place, by], n) => {
      const edge = ((place + 0.55) / 3.1) * width;
      set(this.brackets[n], { d: `M${edge + by} ${top}H${edge}V${bottom}h${by}` });
    });
  }

  says() {
    return "";
  }

  alt([at]) {
    return this.data.told[at];
  }
}
