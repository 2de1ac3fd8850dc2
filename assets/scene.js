// One layer as blocks to scale. Python sends where everything stands at the end; what moves, moves
// here: one progress from the picture that is there to the one that is wanted, and one clock that
// runs through the tokens. All numbers are the engine's.
const MOVE = 700; // milliseconds from one variant to another
const TOKEN = 800; // milliseconds a token
const LEAST = 24; // of a block's reach for the mouse, in units of the picture
const FINEST = 3; // between two lines; closer ones are drawn every so many

const still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
const between = (from, to, at) => to.map((end, n) => from[n] + (end - from[n]) * at);

function element(parent, name, className = "", attributes = {}) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  made.setAttribute("class", className);
  set(made, attributes);
  return parent.appendChild(made);
}

function set(node, attributes) {
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
}

// A tensor's name: its parts in capitals raised, the others lowered, as everywhere in the app.
function name(parent, { head, raised, lowered }) {
  const parts = [[head, 0, 1], [raised, -8, 0.7], [lowered, raised ? 14 : 6, 0.7]];
  parts.filter(([text]) => text).forEach(([text, dy, size]) => {
    element(parent, "tspan", "", { dy, "font-size": `${size}em` }).textContent = text;
  });
}

// Lines between the sheets of a block, and between its tokens.
function lines(x, y, width, height, sheets, tokens) {
  const every = Math.max(1, Math.ceil((FINEST * sheets) / height));
  let path = "";
  for (let n = every; n < sheets; n += every) path += `M${x} ${y + (height * n) / sheets}h${width}`;
  if (width / tokens < FINEST) return path;
  for (let n = 1; n < tokens; n += 1) path += `M${x + (width * n) / tokens} ${y}v${height}`;
  return path;
}

class Scene {
  constructor(root) {
    this.root = root;
    this.svg = root.querySelector("svg");
    this.card = root.querySelector(".card");
    [this.button, this.range, this.said] = root.querySelector(".steps").children;
    this.places = new Map(); // of blocks and curves: where each stands now
    this.range.oninput = () => { this.pause(); this.at(Number(this.range.value)); };
    this.button.onclick = () => (this.playing ? this.pause() : this.play());
  }

  show({ told, ...data }) {
    const drawn = JSON.stringify(data);
    if (this.shown !== drawn) this.change(data);
    if (this.shown !== drawn || this.about !== told.join()) this.light(told);
    Object.assign(this, { shown: drawn, about: told.join() });
  }

  change(data) {
    const before = this.data;
    this.data = data;
    const [all, within] = [data.words.length, before && this.token < before.words.length];
    this.token = within ? Math.min(this.token, all) : all;
    set(this.svg, { viewBox: `0 0 ${data.width} ${data.height}`, "aria-label": data.alt });
    set(this.range, { max: all, "aria-label": data.texts.token });
    this.pause();
    this.draw();
    this.move(before && !still() ? MOVE : 0);
    this.tell(data.blocks.find((block) => block.code === data.first));
  }

  draw() { // everything anew, to be placed by `place`
    const { blocks, curves } = this.data;
    const [lower, upper] = [".curves", ".blocks"].map((part) => this.svg.querySelector(part));
    lower.replaceChildren();
    upper.replaceChildren();
    this.curves = curves.map((curve) => ({
      ...curve, node: element(lower, "path", `curve ${curve.role}`, { "data-code": curve.from }),
    }));
    this.blocks = blocks.map((block) => this.block(upper, block));
  }

  light(told) { // what a step of the story is about; where that is the shelf, it grows
    const lit = new Set(told);
    this.svg.classList.toggle("story", told.length > 0);
    this.blocks.forEach(({ code, parts }) => parts.node.classList.toggle("told", lit.has(code)));
    this.curves.forEach(({ from, to, node }) => {
      node.classList.toggle("told", lit.has(from) && lit.has(to));
    });
    this.svg.querySelector(".shelves").classList.toggle("told", lit.has("shelf"));
    const first = this.data.blocks.find(({ code }) => code === told[0]);
    if (first) this.tell(first);
    if (!lit.has("shelf") || still()) return;
    this.at(0);
    this.play();
  }

  block(parent, block) {
    const kept = block.cached ? " cached" : "";
    const node = element(parent, "g", `block ${block.role}${kept}`, {
      tabindex: 0, role: "button", "aria-label": block.said, "data-code": block.code,
    });
    const parts = { node };
    ["outline", "filled", "lit"].forEach((part) => { parts[part] = element(node, "rect", part); });
    parts.lines = element(node, "path", "lines");
    parts.label = element(node, "text");
    name(parts.label, block.label);
    parts.reach = element(node, "rect", "reach");
    node.onpointerenter = () => this.point(block);
    node.onpointerleave = () => this.point(null);
    node.onfocus = () => this.point(block);
    node.onblur = () => this.point(null);
    node.onclick = () => this.open(block.code);
    node.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      this.open(block.code);
    };
    return { ...block, parts };
  }

  move(duration) { // from where everything stands to where it is wanted
    const wanted = new Map();
    this.blocks.forEach(({ place, box }) => wanted.set(place, box));
    const blocks = new Set(wanted.keys());
    this.curves.forEach(({ place, ends }) => wanted.set(place, ends));
    const begin = (key, to) => this.places.get(key) ?? (blocks.has(key) ? middle(to) : to);
    const from = new Map([...wanted].map(([key, to]) => [key, begin(key, to)]));
    const step = (at) => {
      wanted.forEach((to, key) => this.places.set(key, between(from.get(key), to, at)));
      this.place();
    };
    this.moving?.cancel();
    [...this.places.keys()].filter((key) => !wanted.has(key)).forEach((key) => this.places.delete(key));
    if (!duration) return step(1);
    const progress = { at: 0 };
    this.svg.dataset.moving = "";
    this.moving = anime.animate(progress, {
      at: 1, duration, ease: "inOutQuad", onUpdate: () => step(progress.at),
      onComplete: () => { delete this.svg.dataset.moving; },
    });
    return step(0);
  }

  place() {
    const { words, bend } = this.data;
    const share = this.token / words.length;
    this.blocks.forEach(({ place, parts, sheets }) => {
      const [x, y, width, height] = this.places.get(place);
      const column = width / words.length;
      const done = Math.max(1, Math.ceil(this.token));
      set(parts.outline, { x, y, width, height });
      set(parts.filled, { x, y, width: width * share, height });
      set(parts.lit, { x: x + (done - 1) * column, y, width: column, height });
      parts.lines.setAttribute("d", lines(x, y, width, height, sheets, words.length));
      set(parts.label, { x: x + width / 2, y: y - 9 });
      const [wide, high] = [Math.max(width, LEAST) + 8, Math.max(height, LEAST) + 8];
      set(parts.reach, {
        x: x + (width - wide) / 2, y: y + (height - high) / 2, width: wide, height: high,
      });
    });
    this.curves.forEach(({ place, node }) => {
      const [x0, y0, x1, y1] = this.places.get(place);
      const [turn, half] = [Math.max(x0, x1 - bend), Math.min(bend, x1 - x0) / 2];
      node.setAttribute("d", `M${x0} ${y0}H${turn}C${turn + half} ${y0} ${x1 - half} ${y1} ${x1} ${y1}`);
    });
    this.shelf();
  }

  shelf() { // what is kept of every token so far: it grows as the clock runs
    const { shelf, words, unit, texts } = this.data;
    const parent = this.svg.querySelector(".shelves");
    parent.replaceChildren();
    const { x, y, pitch, width, pieces } = shelf;
    element(parent, "text", "start", { x, y: shelf.title }).textContent = texts.shelf;
    element(parent, "path", "shelf", { d: `M${x} ${y}h${pitch * words.length}` });
    words.forEach((word, n) => {
      const grown = Math.min(1, Math.max(0, this.token - n));
      let top = y - 1.5;
      pieces.forEach(({ code, role, height }) => {
        top -= height * grown;
        const box = { x: x + pitch * n + (pitch - width) / 2, y: top, width, height: height * grown };
        if (grown) element(parent, "rect", `kept ${role}`, { ...box, "data-code": code });
      });
      const at = { x: x + pitch * (n + 0.5), y: y + 22, opacity: grown ? 1 : 0.35 };
      element(parent, "text", "small", at).textContent = word;
    });
    const side = { x: unit.x, y: unit.y, width: unit.side, height: unit.side };
    element(parent, "rect", "unit", side);
    const beside = { x: unit.x + unit.side + 8, y: unit.y + unit.side };
    element(parent, "text", "small start", beside).textContent = texts.unit;
    this.said.textContent = texts.kept[Math.floor(this.token)];
    this.range.value = this.token;
  }

  at(token) {
    this.token = token;
    this.place();
  }

  play() {
    const last = this.data.words.length;
    if (this.token >= last) this.at(0);
    this.button.textContent = this.data.texts.pause;
    const clock = { token: this.token };
    const left = last - this.token;
    this.playing = anime.animate(clock, {
      token: last, duration: left * TOKEN, ease: still() ? anime.steps(Math.ceil(left)) : "linear",
      onUpdate: () => this.at(clock.token), onComplete: () => this.pause(),
    });
  }

  pause() {
    this.playing?.cancel();
    this.playing = null;
    this.button.textContent = this.data.texts.play;
  }

  point(block) { // light a block and what it reads, dim the others
    this.svg.classList.toggle("near", Boolean(block));
    const near = block ? new Set([block.code, ...block.reads]) : new Set();
    this.blocks.forEach(({ code, parts }) => parts.node.classList.toggle("lighted", near.has(code)));
    this.curves.forEach(({ from, to, node }) => {
      node.classList.toggle("lighted", Boolean(block) && to === block.code && near.has(from));
    });
    if (block) this.tell(block);
  }

  tell(block) { // the card
    const { texts } = this.data;
    this.blocks.forEach(({ code, parts }) => parts.node.classList.toggle("chosen", code === block.code));
    this.card.className = `card ${block.role}`;
    this.card.dataset.code = block.code;
    const parts = [written("h3", block.html), ...block.tells.map((text) => written("p", text))];
    if (block.cells) parts.push(cells(block), paragraph(block.cut, "quiet"));
    this.card.replaceChildren(...parts, paragraph(texts.open, "quiet"));
  }
}

// What comes grows out of its own middle.
function middle([x, y, width, height]) {
  return [x + width / 2, y + height / 2, 0, 0];
}

function written(name, html) { // of the glossary's own names and our own words
  const made = document.createElement(name);
  made.innerHTML = html;
  return made;
}

function paragraph(text, className = "") {
  const made = document.createElement("p");
  made.textContent = text;
  made.className = className;
  return made;
}

// A small heatmap: a row a number of the tensor, a column a token.
function cells({ cells: rows, most, signed }) {
  const grid = document.createElement("div");
  grid.className = "cells";
  grid.style.gridTemplateColumns = `repeat(${rows[0].length}, 1fr)`;
  rows.flat().forEach((value) => {
    const cell = document.createElement("i");
    cell.dataset.value = value;
    cell.title = value;
    const share = Math.round((100 * Math.abs(value)) / most);
    cell.style.background = `color-mix(in oklab, ${signed[value < 0 ? 0 : 1]} ${share}%, #f2f2f2)`;
    grid.append(cell);
  });
  return grid;
}

export default function ({ parentElement, data, setTriggerValue }) {
  const root = parentElement.querySelector(".scene");
  root.scene ??= new Scene(root);
  root.scene.open = (code) => setTriggerValue("open", code);
  root.scene.show(data);
}
