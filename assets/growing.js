// Caches as they grow: a row for each way of caching, a block for each token, all on one scale that
// stays. The newest block grows while a token is on its way. Above them stand the words, where a model
// writes them, or else what the blocks are.
const WIDE = 31; // letters, from which the names stand beside their rows
const ROW = 34; // pixels of a row, outside a lecture

class Picture {
  constructor(svg) {
    this.svg = svg;
  }

  draw(data, { width, font, room }) {
    const [rows, wide] = [data.rows, width > WIDE * font];
    const left = wide ? 12 * font : 0;
    const above = wide ? 0 : 1.5 * font;
    Object.assign(this, { data, left, font });
    this.svg.replaceChildren();
    this.words = [];
    const foot = 2 * font;
    const head = data.text.written.length ? this.text(width) : this.legend(width);
    const each = (room - head - foot) / rows.length;
    const row = room < Infinity ? Math.max(above + 1.3 * font, Math.min(each, above + 4 * font)) : above + ROW;
    const scale = (width - left - 6 * font) / (data.most * Math.max(...rows.map(({ bytes }) => bytes)));
    this.scale = scale;
    this.axis(head + rows.length * row, head, data.tick.at * scale, wide, width);
    this.rows = rows.map((one, n) => this.row(one, { top: head + n * row, row, above, wide }));
    return head + rows.length * row + foot;
  }

  legend(width) { // above the rows, and how high it is
    const { font } = this;
    let [x, y] = [0, 0];
    ["prompt", "old", "new"].forEach((kind, n) => {
      const text = element(this.svg, "text");
      text.textContent = this.data.titles[n];
      const wide = 1.4 * font + text.getComputedTextLength();
      if (x + wide > width) [x, y] = [0, y + 1.5 * font];
      set(text, { x: x + 1.4 * font, y: y + 1.1 * font });
      element(this.svg, "rect", kind, { x, y: y + 0.2 * font, width: font, height: font });
      x += wide + 1.4 * font;
    });
    return y + 2 * font;
  }

  text(width) { // the words in lines, and how far down they reach
    const { font } = this;
    const { prompt, written } = this.data.text;
    let [x, y] = [0, 0.2 * font];
    const word = (text, kind) => {
      const node = element(this.svg, "g", "word");
      const box = element(node, "rect", kind);
      const label = element(node, "text");
      label.textContent = text;
      const wide = label.getComputedTextLength() + 0.7 * font;
      if (x + wide > width) [x, y] = [0, y + 1.9 * font];
      set(box, { x, y, width: wide, height: 1.6 * font });
      set(label, { x: x + 0.35 * font, y: y + 1.15 * font });
      x += wide + 0.3 * font;
      return { node, box };
    };
    prompt.forEach((text) => word(text, "prompt"));
    this.words = written.map((text) => word(text, "old"));
    return y + 2.4 * font;
  }

  axis(bottom, top, tick, wide, width) {
    const { left, font } = this;
    element(this.svg, "path", "faint", { d: `M${left} ${top}V${bottom}M${left + tick} ${top}V${bottom}` });
    const at = [[left, "0", ""], [left + tick, this.data.tick.text, " middle"]];
    at.forEach(([x, text, where]) => {
      element(this.svg, "text", `tick${where}`, { x, y: bottom + 1.3 * font }).textContent = text;
    });
    if (!wide) return;
    const title = { x: width, y: bottom + 1.3 * font };
    element(this.svg, "text", "end", title).textContent = this.data.axis;
  }

  row({ name: label, bytes, held, colour }, { top, row, above, wide }) {
    const { data, left, scale, font } = this;
    const high = (row - above) * 0.68;
    const y = top + above + (row - above - high) / 2;
    const middle = y + high / 2 + 0.35 * font;
    const place = wide ? { x: left - 0.6 * font, y: middle } : { x: 0, y: top + 1.1 * font };
    element(this.svg, "text", wide ? "end" : "", place).textContent = label;
    const group = element(this.svg, "g", "way");
    group.style.setProperty("--way", colour);
    const size = bytes * scale;
    element(group, "rect", "prompt", { x: left, y, width: size * data.prompt, height: high });
    const blocks = Array.from({ length: data.steps }, (_, n) => {
      const x = left + size * (data.prompt + n);
      return { x, node: element(group, "rect", "", { x, y, height: high, width: 0 }) };
    });
    const end = element(group, "text", "bold", { y: middle });
    return { size, held, blocks, end };
  }

  place([at]) {
    const [made, done] = [at + 1, Math.floor(at + 1e-6)];
    const newest = Math.ceil(made - 1e-6) - 1;
    this.words.forEach(({ node, box }, n) => {
      set(node, { opacity: Math.min(1, Math.max(0, made - n)) });
      set(box, { class: n === newest ? "new" : "old" });
    });
    this.rows.forEach(({ size, held, blocks, end }) => {
      blocks.forEach((block, n) => {
        const grown = Math.min(1, Math.max(0, made - n));
        const kind = grown && (n === newest ? "new" : n % 2 ? "old odd" : "old");
        if (block.grown === grown && block.kind === kind) return;
        Object.assign(block, { grown, kind });
        set(block.node, { width: size * grown, class: kind || "" });
      });
      set(end, { x: blocks[0].x + size * made + 0.4 * this.font });
      if (end.textContent !== held[done]) end.textContent = held[done];
    });
  }

  says([at]) {
    return this.data.says[at];
  }

  alt([at]) {
    return this.data.told[at];
  }
}
