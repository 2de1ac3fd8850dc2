// One layer as blocks to scale. Python sends where everything stands at the end; what moves, moves
// here: one progress from the picture that is there to the one that is wanted, and one clock that
// runs through the tokens. All numbers are the engine's.
const MOVE = 700; // milliseconds from one variant to another
const REST = 120; // before it: the page is still being drawn around the scene
const TOKEN = 1100; // milliseconds a token
const LEAST = 26; // of a block's reach for the mouse, in units of the picture
const PHONE = 520; // pixels: below, the picture is tall
const TYPE = { least: { wide: 15, tall: 13 }, wide: 22, tall: 17, most: 30 }; // pixels; units
const ROOM = 144; // for a label, in units of the picture
const HALL = 0.0135; // of the screen's width: the least letters in a lecture hall
const [DIGIT, MARK] = [31, 32]; // of the large number; of the marks beside it
const OVER = 8; // above the picture, for tall letters
const STAGES = 8;

class Scene {
  constructor(frame) {
    this.frame = frame;
    this.root = frame.querySelector(".scene");
    this.svg = frame.querySelector("svg");
    this.card = frame.querySelector(".card");
    this.note = frame.querySelector(".note");
    [this.button, this.range, this.said] = frame.querySelector(".steps").children;
    [this.lower, this.upper, this.shelves] = this.svg.children;
    this.places = new Map(); // of blocks and curves: where each stands now
    this.range.oninput = () => { this.pause(); this.at(Number(this.range.value)); };
    this.button.onclick = () => (this.playing ? this.pause() : this.play());
    new ResizeObserver(() => this.resize()).observe(frame);
  }

  show({ told, ...data }) {
    const drawn = JSON.stringify(data);
    if (this.shown !== drawn) this.change(data);
    if (this.shown !== drawn || this.about !== told.join()) this.light(told);
    Object.assign(this, { shown: drawn, about: told.join(), told });
  }

  change(data) {
    const before = this.data;
    this.data = data;
    const [all, within] = [data.words.length, before && this.token < before.words.length];
    this.token = within ? Math.min(this.token, all) : all;
    set(this.svg, { "aria-label": data.alt });
    set(this.range, { max: all, "aria-label": data.texts.token });
    this.pause();
    this.root.classList.toggle("hall", data.hall);
    this.draw();
    this.move(before && !still() ? MOVE : 0);
    this.tell(this.blocks.find((block) => block.code === data.first));
    if (before || !data.opening || !unseen()) return;
    this.opening = new Opening(this);
    document.fonts.ready.then(() => this.opening.begin());
  }

  get kind() {
    return this.frame.clientWidth < PHONE ? "tall" : "wide";
  }

  resize() { // the other picture where there is room for it, and letters that can be read
    if (!this.data) return;
    if (this.picture !== this.data.pictures[this.kind]) {
      const held = this.frame.getRootNode().activeElement?.dataset.code;
      this.draw();
      this.places.clear();
      this.move(0);
      this.light(this.told ?? []);
      this.blocks.find(({ code }) => code === held)?.parts.node.focus();
    }
    const { width, height, tall } = this.picture;
    const { width: wide, height: high } = this.svg.getBoundingClientRect();
    const scale = Math.min(wide / width, high / height) || 1;
    const least = Math.max(TYPE.least[this.kind], this.data.hall ? HALL * window.innerWidth : 0) / scale;
    const type = Math.min(TYPE.most, Math.max(tall ? TYPE.tall : TYPE.wide, least));
    this.svg.style.setProperty("--type", `${type}px`);
    this.blocks.forEach(({ parts }) => this.fit(parts.label, tall));
  }

  fit(label, tall) { // the count beside a name, where there is room for it
    const tail = label.lastChild;
    tail.style.display = tall ? "none" : "";
    if (!tall && label.getComputedTextLength() > ROOM) tail.style.display = "none";
  }

  draw() { // everything anew, to be placed by `place`
    this.opening?.end();
    const { blocks, pictures } = this.data;
    this.picture = pictures[this.kind];
    const { width, height, boxes, curves, cut } = this.picture;
    this.svg.setAttribute("class", this.kind);
    set(this.svg, { viewBox: `0 ${-OVER} ${width} ${height + OVER}` });
    this.lower.replaceChildren();
    this.upper.replaceChildren();
    this.stages = Object.fromEntries(blocks.map(({ code, stage }) => [code, stage]));
    this.curves = curves.map((each) => ({
      ...each,
      node: element(this.lower, "path", `curve ${each.role}`, { "data-code": each.from }),
      pulse: element(this.lower, "path", `pulse ${each.role}`, { pathLength: 100, opacity: 0 }),
    }));
    this.blocks = blocks.map((block) => this.block({ ...block, box: boxes[block.code] }));
    this.note.textContent = Object.keys(cut).length ? this.data.texts.torn : "";
    this.drawShelf();
    this.resize();
  }

  block(block) {
    const kept = block.cached ? " cached" : "";
    const node = element(this.upper, "g", `block ${block.role}${kept}`, {
      tabindex: 0, role: "button", "aria-label": block.said, "data-code": block.code,
    });
    const parts = { node };
    ["outline", "filled", "lit"].forEach((part) => { parts[part] = element(node, "rect", part); });
    parts.lines = element(node, "path", "lines");
    if (this.picture.cut[block.code]) parts.torn = element(node, "path", "torn");
    parts.reach = element(node, "rect", "reach"); // below the label, which it would strike through
    parts.label = element(node, "text");
    const dy = name(parts.label, block.label, this.picture.tall);
    element(parts.label, "tspan", "count", { dy, dx: 6 }).textContent = block.count;
    const made = { ...block, parts };
    this.listen(node, made);
    return made;
  }

  listen(node, block) {
    let before = null; // what the card told when a finger came down
    node.onpointerenter = () => this.point(block);
    node.onpointerleave = ({ pointerType }) => pointerType === "touch" || this.point(null);
    node.onpointerdown = () => { before = this.pointed?.code; };
    node.onfocus = () => this.point(block);
    node.onblur = ({ relatedTarget }) => this.card.contains(relatedTarget) || this.point(null);
    node.onclick = ({ pointerType }) => { // a finger's first tap shows the card
      if (pointerType !== "touch" || before === block.code) this.open(block.code);
    };
    node.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      this.open(block.code);
    };
  }

  light(told) { // what a step of the story is about; where that is the shelf, it grows
    const lit = new Set(told);
    this.root.classList.toggle("story", told.length > 0);
    this.blocks.forEach(({ code, parts }) => parts.node.classList.toggle("told", lit.has(code)));
    this.curves.forEach(({ from, to, node }) => {
      node.classList.toggle("told", lit.has(from) && lit.has(to));
    });
    this.shelves.classList.toggle("told", lit.has("shelf"));
    const first = this.blocks.find(({ code }) => code === told[0]);
    if (first) this.tell(first);
    if (!lit.has("shelf") || still()) return;
    this.at(0);
    this.play();
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
    delete this.svg.dataset.moving;
    if (!duration) return step(1);
    const progress = { at: 0 };
    this.svg.dataset.moving = "";
    this.moving = anime.animate(progress, {
      at: 1, duration, delay: REST, ease: "inOutQuad", onUpdate: () => step(progress.at),
      onComplete: () => { delete this.svg.dataset.moving; },
    });
    return step(0);
  }

  place() {
    const { bend, tall } = this.picture;
    this.blocks.forEach((block) => {
      const { place, parts, sheets } = block;
      const box = this.places.get(place);
      const [x, y, width, height] = box;
      set(parts.outline, { x, y, width, height });
      set(parts.filled, { x, y, height });
      set(parts.lit, { y, height });
      parts.lines.setAttribute("d", lines(box, sheets, this.data.words.length));
      parts.torn?.setAttribute("d", torn(box));
      const at = tall ? [x - 7, y + height / 2 + 6] : [x + width / 2, y - 10];
      parts.label.setAttribute("transform", `translate(${at})`);
      const [wide, high] = [Math.max(width, LEAST) + 8, Math.max(height, LEAST) + 8];
      set(parts.reach, {
        x: x + (width - wide) / 2, y: y + (height - high) / 2, width: wide, height: high,
      });
      block.done = null;
    });
    this.curves.forEach(({ place, node, pulse }) => {
      const path = curve(this.places.get(place), bend, tall);
      node.setAttribute("d", path);
      pulse.setAttribute("d", path);
    });
    this.flow();
  }

  flow() { // how far the present token has come, from stage to stage and onto the shelf
    const whole = Math.floor(this.token);
    const along = (this.token - whole) * STAGES;
    this.blocks.forEach((block) => this.fill(block, whole + clamp((along - block.stage) * 2)));
    this.curves.forEach(({ from, to, pulse }) => {
      const [start, end] = [this.stages[from] + 0.4, this.stages[to] + 0.1];
      const at = (along - start) / (end - start);
      const seen = at > 0 && at < 1;
      if (seen) pulse.setAttribute("stroke-dashoffset", -100 * at);
      if (seen === pulse.seen) return;
      pulse.seen = seen;
      pulse.setAttribute("opacity", Number(seen));
    });
    this.grow(whole, along);
    const { texts } = this.data;
    if (this.said.textContent !== texts.kept[whole]) this.said.textContent = texts.kept[whole];
    this.range.value = this.token;
  }

  fill(block, done) {
    if (block.done === done) return;
    block.done = done;
    const [x, , width] = this.places.get(block.place);
    const column = width / this.data.words.length;
    block.parts.filled.setAttribute("width", column * done);
    const last = Math.max(1, Math.ceil(done)) - 1;
    set(block.parts.lit, { x: x + last * column, width: column * Math.min(1, done - last) });
  }

  drawShelf() {
    const { shelf, tall, width: whole, height: lowest } = this.picture;
    const { x, y, pitch, length } = shelf;
    const { texts, words: tokens } = this.data;
    const parent = this.shelves;
    parent.replaceChildren();
    set(parent, { tabindex: 0, role: "button", "aria-label": this.data.shelf.said });
    this.listen(parent, this.data.shelf);
    const top = shelf.title - 26;
    square(parent, "reach", [4, top, whole - 8, lowest - top - 2]);
    words(parent, "start", { x, y: shelf.title }, texts.shelf);
    element(parent, "path", "shelf", { d: `M${x} ${y}h${length}` });
    const [ghost, high] = shelf.ghost;
    this.pieces = [];
    this.tokens = tokens.map((word, n) => {
      const left = x + pitch * n;
      const box = [left + (pitch - ghost) / 2, y - 1.5 - high, ghost, high];
      square(parent, "ghost", box);
      if (shelf.ghost_torn) element(parent, "path", "torn input", { d: torn(box, true) });
      let at = y - 1.5;
      shelf.pieces.forEach(({ code, role, height }) => {
        at -= height;
        const place = [left + (pitch - shelf.width) / 2, at, shelf.width, height];
        this.pieces.push({ n, code, role, box: place, at: 0 });
      });
      const row = tall ? 18 + 17 * (n % 2) : 24;
      const label = element(parent, "text", "small", { x: left + pitch / 2, y: y + row });
      label.textContent = word;
      return label;
    });
    this.facts(parent);
  }

  facts(parent) { // how many numbers that is, beside what MHA keeps, and the scale
    const { shelf, unit, tall } = this.picture;
    const { texts } = this.data;
    const x = tall ? shelf.x : shelf.x + shelf.length + 24;
    const y = tall ? shelf.y + 88 : shelf.y - 42;
    const right = tall ? 240 : x + DIGIT * texts.number.length + 24;
    words(parent, "number", { x, y }, texts.number);
    words(parent, "start small", { x, y: y + 30 }, texts.each);
    const part = tall ? { x, y: y + 52 } : { x, y: shelf.y + 24 };
    if (texts.part) words(parent, "start small", part, texts.part);
    square(parent, "ghost", [right, y - 43, 16, 16]);
    words(parent, "start small", { x: right + MARK, y: y - 28 }, texts.mha);
    square(parent, "unit", [right + (16 - unit.side) / 2, y + 2 - unit.side, unit.side, unit.side]);
    words(parent, "start small", { x: right + MARK, y }, unit.text);
  }

  grow(whole, along) { // what is kept leaves its block and comes to stand on the shelf
    this.tokens.forEach((label, n) => {
      const seen = n < this.token;
      if (label.seen === seen) return;
      label.seen = seen;
      label.setAttribute("opacity", seen ? 1 : 0.4);
    });
    this.pieces.forEach((piece) => {
      const start = this.stages[piece.code] + 1;
      const at = piece.n < whole ? 1 : piece.n > whole ? 0 : clamp((along - start) / (STAGES - start));
      if (piece.at === at && (at === 0 || at === 1)) return;
      piece.at = at;
      if (!at) {
        piece.node?.remove();
        piece.node = null;
        return;
      }
      piece.node ??= square(this.shelves, `kept ${piece.role}`, piece.box, { "data-code": piece.code });
      const [x, y, width, height] = between(this.column(piece), piece.box, at * at * (3 - 2 * at));
      set(piece.node, { x, y, width, height });
    });
  }

  column({ code, n }) { // of a token in its block
    const { place } = this.blocks.find((block) => block.code === code);
    const [x, y, width, height] = this.places.get(place);
    const each = width / this.data.words.length;
    return [x + n * each, y, each, height];
  }

  at(token) {
    this.token = token;
    this.flow();
  }

  play() {
    if (!globalThis.anime) return requestAnimationFrame(() => this.play()); // its script is on the way
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
    this.pointed = block;
    this.root.classList.toggle("near", Boolean(block));
    const near = block ? new Set([block.code, ...block.reads]) : new Set();
    this.blocks.forEach(({ code, parts }) => parts.node.classList.toggle("lighted", near.has(code)));
    this.curves.forEach(({ from, to, node }) => {
      node.classList.toggle("lighted", Boolean(block) && to === block.code && near.has(from));
    });
    if (!block) return;
    this.tell(block);
    this.beside(block);
  }

  tell(block) { // the card
    const { texts } = this.data;
    this.blocks.forEach(({ code, parts }) => parts.node.classList.toggle("chosen", code === block.code));
    this.card.className = `card ${block.role}`;
    this.card.dataset.code = block.code;
    const cut = this.picture.cut[block.code];
    this.card.replaceChildren(...card(block, cut, texts.go, () => this.open(block.code)));
  }

  beside(block) { // where the card stands over the picture, on the side that has more room
    const around = this.root.getBoundingClientRect();
    const node = block.parts ? block.parts.reach : this.shelves.querySelector(".reach");
    const box = node.getBoundingClientRect();
    const [left, right] = [box.left - around.left, around.right - box.right];
    const { offsetWidth: wide, offsetHeight: high } = this.card;
    let [x, y] = [right > left ? around.width - right + 14 : left - wide - 14, box.top - around.top - 20];
    if (!block.parts) [x, y] = [around.width - wide, box.top - around.top - high - 8];
    const lowest = around.height - high;
    this.card.style.left = `${Math.max(0, Math.min(x, around.width - wide))}px`;
    this.card.style.top = `${Math.max(Math.min(y, lowest), Math.min(0, lowest))}px`;
  }
}

export default function ({ parentElement, data: [data], setTriggerValue }) {
  const frame = parentElement.querySelector(".frame");
  frame.scene ??= new Scene(frame);
  frame.scene.open = (code) => setTriggerValue("open", code);
  frame.scene.show(data);
  const { host } = frame.getRootNode(); // what moves is here: the still goes
  host?.closest(".st-key-scene_box")?.setAttribute("data-drawn", "");
}
