// Caches as they grow: a row for each way of caching, a block for each token, all on one scale that
// stays. The newest block grows while a token is on its way; where a token does not just add its own,
// there is one block. Above them stand the words, where a model writes them, or else what the blocks
// are; below them, of the chosen way, which tokens are kept and as what.
const WIDE = 31; // letters, from which the names stand beside their rows
const ROW = 34; // pixels of a row, outside a lecture
const NARROW = 4; // pixels, below which neighbouring entries run together

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
    this.tall = wide ? (room < Infinity ? 1.5 : 1.9) : 3.2;
    const below = data.strip ? this.font * (3.6 + this.tall * data.strip.lines.length) : 0;
    const each = (room - head - foot - below) / rows.length;
    const row = room < Infinity ? Math.max(above + 1.3 * font, Math.min(each, above + 4 * font)) : above + ROW;
    const across = width - left - (rows.some((one) => one.heads) ? 9.5 : 6) * font;
    const scale = across / data.widest;
    this.scale = scale;
    this.axis(head + rows.length * row, head, data.tick.at * scale, wide, width);
    this.rows = rows.map((one, n) => this.row(one, { top: head + n * row, row, above, wide }));
    const end = head + rows.length * row + foot;
    this.lines = data.strip ? this.strip(data.strip, end, across, wide) : [];
    return end + below;
  }

  strip({ title, colour, most, unit, lines }, top, across, wide) {
    const { left, font } = this;
    const each = across / most;
    const drawn = lines.length * this.tall * font + 2.2 * font;
    element(this.svg, "text", "bold", { x: 0, y: top + 1.4 * font }).textContent = title;
    [[0, "0", ""], [most, unit, " end"]].forEach(([at, text, where]) => {
      const x = left + at * each;
      element(this.svg, "path", "faint", { d: `M${x} ${top + 2.2 * font}V${top + drawn}` });
      element(this.svg, "text", `tick${where}`, { x, y: top + drawn + 1.1 * font }).textContent = text;
    });
    return lines.map((line, n) => {
      const y = top + font * (2.5 + n * this.tall + (wide ? 0 : 1.3));
      const place = wide ? { x: left - 0.6 * font, y: y + 1.05 * font } : { x: 0, y: y - 0.3 * font };
      element(this.svg, "text", wide ? "end" : "", place).textContent = line.name;
      const group = element(this.svg, "g", `way kept ${line.kind}`);
      group.style.setProperty("--way", colour);
      const apart = line.block * each >= NARROW;
      const block = line.block && apart ? line.block : most;
      const rects = Array.from({ length: Math.ceil(most / block) }, () => element(group, "rect", "", { y, height: 1.3 * font }));
      const held = element(this.svg, "text", "bold", { x: left + across + 0.4 * font, y: y + 1.05 * font });
      return { ...line, block, rects, each, shown: held };
    });
  }

  stand(at) { // the strip between two steps
    const [done, next] = [Math.floor(at + 1e-6), Math.ceil(at - 1e-6)];
    this.lines.forEach(({ spans, held, block, rects, each, shown }) => {
      const [first, end] = [0, 1].map((n) => mix(spans[done][n], spans[next][n], at - done));
      rects.forEach((rect, n) => {
        const [from, to] = [Math.max(first, n * block), Math.min(end, (n + 1) * block)];
        const gap = rects.length > 1 ? 1 : 0;
        set(rect, { x: this.left + from * each, width: Math.max(0, (to - from) * each - gap) });
      });
      if (shown.textContent !== held[done]) shown.textContent = held[done];
    });
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

  row({ name: label, bytes, sizes, held: sized, heads, colour }, { top, row, above, wide }) {
    const held = sized.map((text) => `${text}${heads}`);
    const { data, left, scale, font } = this;
    const high = (row - above) * 0.68;
    const y = top + above + (row - above - high) / 2;
    const middle = y + high / 2 + 0.35 * font;
    const place = wide ? { x: left - 0.6 * font, y: middle } : { x: 0, y: top + 1.1 * font };
    element(this.svg, "text", wide ? "end" : "", place).textContent = label;
    const group = element(this.svg, "g", "way");
    group.style.setProperty("--way", colour);
    if (sizes) {
      const whole = element(group, "rect", "old", { x: left, y, height: high });
      return { sizes, held, whole, end: element(group, "text", "bold", { y: middle }) };
    }
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
    this.stand(at);
    this.rows.forEach(({ size, sizes, held, blocks, whole, end }) => {
      if (end.textContent !== held[done]) end.textContent = held[done];
      if (sizes) {
        const wide = mix(sizes[done], sizes[Math.ceil(at - 1e-6)], at - done) * this.scale;
        set(whole, { width: wide });
        set(end, { x: this.left + wide + 0.4 * this.font });
        return;
      }
      blocks.forEach((block, n) => {
        const grown = Math.min(1, Math.max(0, made - n));
        const kind = grown && (n === newest ? "new" : n % 2 ? "old odd" : "old");
        if (block.grown === grown && block.kind === kind) return;
        Object.assign(block, { grown, kind });
        set(block.node, { width: size * grown, class: kind || "" });
      });
      set(end, { x: blocks[0].x + size * made + 0.4 * this.font });
    });
  }

  says([at]) {
    return this.data.says[at];
  }

  alt([at]) {
    return this.data.told[at];
  }
}
