// A picture that moves without the server. Python sends the numbers of every place and where the
// dials stand; `Picture` draws any place, also between two. What the reader does shows at once; the
// server hears of it when it rests.
const GLIDE = 350; // milliseconds from one place to another
const REST = 400; // milliseconds without a change, after which the server is told
const GAP = 12; // pixels below the picture on a lecture's screen

class Motion {
  constructor(root) {
    this.root = root;
    this.svg = root.querySelector("svg");
    this.picture = new Picture(this.svg);
    this.said = root.querySelector("output");
    [this.back, this.button, this.on] = root.querySelectorAll(".ways button");
    this.back.onclick = () => this.step(-1);
    this.on.onclick = () => this.step(1);
    this.button.onclick = () => (this.playing ? this.pause() : this.play());
    this.sized = new ResizeObserver(() => this.fit());
    this.sized.observe(root);
    this.sized.observe(document.querySelector(".stMainBlockContainer"));
  }

  show({ at, turn, ...data }, send) {
    this.send = send;
    const [drawn, first] = [JSON.stringify(data), !this.at];
    if (first) Object.assign(this, { at: [...at], goal: [...at], known: at.join() });
    if (this.drawn !== drawn) this.change(data, drawn);
    if (turn === this.turn) this.waiting = false;
    if (this.waiting) return; // the server has not heard yet of what was told last
    this.turn = turn;
    if (this.known === at.join()) return;
    this.known = at.join();
    this.halt();
    this.glide(at);
  }

  change(data, drawn) {
    const before = this.data;
    Object.assign(this, { data, drawn });
    const short = data.dials.some((dial, n) => this.at[n] > dial.count - 1);
    if (short) this.halt();
    this.at = this.at.map((place, n) => Math.min(place, data.dials[n].count - 1));
    this.goal = this.goal.map((place, n) => Math.min(place, data.dials[n].count - 1));
    this.root.classList.toggle("lecture", data.lecture);
    Object.entries(data.colours ?? {}).forEach(([name, value]) => {
      this.svg.style.setProperty(`--${name}`, value);
    });
    this.dial();
    this.fit(true);
    if (this.playing && before.seconds !== data.seconds) this.play();
  }

  dial() { // a slider for what is counted, buttons for what is chosen
    const place = this.root.querySelector(".dials");
    const wanted = JSON.stringify([this.data.dials, this.data.texts]);
    if (this.dialled === wanted) return;
    this.dialled = wanted;
    const { dials, texts } = this.data;
    this.root.classList.toggle("chosen", !texts.play);
    [this.back, this.button, this.on].forEach((button) => { button.hidden = !texts.play; });
    [this.back.textContent, this.on.textContent] = [texts.back, texts.on];
    this.inputs = dials.map((dial) => (dial.choices ? choice(dial) : slider(dial)));
    place.replaceChildren(...this.inputs.map(({ node }) => node));
    this.inputs.forEach((input, n) => {
      input.node.oninput = () => this.moved(n, input.read());
      input.node.onchange = () => this.rest(input.held ? 0 : REST);
      input.node.onpointerdown = () => { input.held = true; };
      input.node.onkeydown = () => { input.held = false; };
    });
  }

  mark() { // buttons and dials say where the picture is on its way to
    if (!this.size) return; // not drawn yet
    this.inputs.forEach((input, n) => input.write(this.goal[n]));
    this.button.textContent = this.data.texts[this.playing ? "pause" : "play"] ?? "";
    const last = this.data.dials[0].count - 1;
    [this.back.disabled, this.on.disabled] = [this.goal[0] === 0, this.goal[0] === last];
    this.said.setAttribute("aria-live", this.playing ? "off" : "polite");
    const text = this.picture.says(this.goal);
    if (this.said.textContent !== text) this.said.textContent = text;
    set(this.svg, { "aria-label": this.picture.alt(this.goal) });
  }

  fit(anew = false) {
    const width = this.root.clientWidth;
    if (!this.data || !width) return;
    const font = parseFloat(getComputedStyle(this.svg).fontSize);
    const size = { width, font, room: this.data.lecture ? this.room() : Infinity };
    if (!anew && this.size === JSON.stringify(size)) return;
    this.size = JSON.stringify(size);
    const height = Math.round(this.picture.draw(this.data, size));
    set(this.svg, { width, height, viewBox: `0 0 ${width} ${height}` });
    this.place();
  }

  room() { // that a lecture's screen has for the picture
    const main = document.querySelector("[data-testid=stMain]");
    const top = this.svg.getBoundingClientRect().top + main.scrollTop;
    const above = this.root.classList.contains("chosen");
    const rest = this.root.offsetHeight - this.svg.getBoundingClientRect().height;
    return Math.round(window.innerHeight - top - (above ? 0 : rest) - GAP);
  }

  place() {
    if (!this.size) return;
    this.picture.place(this.at);
    this.mark();
  }

  moved(n, place) { // by a dial
    this.halt();
    this.glide(this.goal.map((goal, m) => (m === n ? place : goal)));
  }

  step(by) { // whether there was room for it
    const to = this.goal[0] + by;
    if (to < 0 || to > this.data.dials[0].count - 1) return false;
    this.halt();
    this.glide([to, ...this.goal.slice(1)]);
    this.rest(REST);
    return true;
  }

  glide(to) {
    this.gliding?.cancel();
    [this.goal, this.gliding] = [[...to], null];
    const [from, clock] = [[...this.at], { at: 0 }];
    const step = (share) => {
      this.at = to.map((end, n) => mix(from[n], end, share));
      this.place();
    };
    if (still()) return step(1);
    this.svg.dataset.moving = "";
    this.gliding = anime.animate(clock, {
      at: 1, duration: GLIDE, ease: "inOutQuad", onUpdate: () => step(clock.at),
      onComplete: () => { delete this.svg.dataset.moving; },
    });
    return this.mark();
  }

  play() {
    const last = this.data.dials[0].count - 1;
    this.halt();
    if (this.at[0] >= last) this.at[0] = 0;
    const [clock, left] = [{ at: this.at[0] }, last - this.at[0]];
    const ease = still() ? anime.steps(Math.ceil(left)) : "linear";
    const step = () => {
      if (!this.root.isConnected) return this.leave();
      this.at[0] = clock.at;
      this.goal[0] = Math.floor(clock.at + 1e-6);
      return this.place();
    };
    this.svg.dataset.moving = "";
    this.playing = anime.animate(clock, {
      at: last, duration: left * this.data.seconds * 1000, ease, onUpdate: step,
      onComplete: () => this.pause(),
    });
    step();
  }

  pause() { // at a whole place, of which the server hears
    this.halt();
    this.glide(this.goal.map((goal, n) => (n ? goal : Math.round(this.at[0]))));
    this.rest(0);
  }

  halt() {
    clearTimeout(this.resting);
    this.playing?.cancel();
    this.gliding?.cancel();
    [this.playing, this.gliding] = [null, null];
    delete this.svg.dataset.moving;
  }

  rest(after) {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.tell(), after);
  }

  tell() {
    clearTimeout(this.resting);
    if (this.known === this.goal.join() || !this.root.isConnected) return;
    this.known = this.goal.join();
    this.turn += 1;
    this.waiting = true;
    this.send({ at: this.goal, turn: this.turn });
  }

  leave() {
    this.halt();
    this.sized.disconnect();
  }
}

// A tensor's name: its parts in capitals raised, the others lowered, as everywhere in the app.
function name(parent, { head, raised, lowered }) {
  const parts = [[head, 0, 1], [raised, -0.36, 0.7], [lowered, raised ? 0.64 : 0.27, 0.7]];
  parts.filter(([text]) => text).forEach(([text, dy, size]) => {
    const place = { dy: `${dy / size}em`, "font-size": `${size}em` };
    element(parent, "tspan", "", place).textContent = text;
  });
}

function made(parent, name, className = "", text = "") {
  const node = document.createElement(name);
  [node.className, node.textContent] = [className, text];
  parent?.append(node);
  return node;
}

function slider({ label, count, first }) {
  const node = made(null, "label", "slider", label);
  const value = made(node, "b");
  const input = made(node, "input");
  Object.assign(input, { type: "range", min: first, max: first + count - 1, step: 1 });
  const write = (place) => {
    input.value = first + place;
    value.textContent = first + place;
  };
  return { node, write, read: () => Number(input.value) - first };
}

function choice({ label, choices }) {
  const node = made(null, "div", "choice");
  set(node, { role: "radiogroup", "aria-label": label });
  made(node, "span", "", label);
  const inputs = choices.map((html, n) => {
    const one = made(node, "label");
    const input = made(one, "input");
    Object.assign(input, { type: "radio", name: "choice", value: n });
    made(one, "span").innerHTML = html; // of the glossary's names and our own words
    return input;
  });
  const write = (place) => inputs.forEach((input, n) => { input.checked = n === place; });
  return { node, write, read: () => inputs.findIndex((input) => input.checked) };
}

// A clicker's press, if it is this picture that steps, false at the end; and what the server has not heard.
const moves = (motion) => ({ step: (by) => motion.step(by), tell: () => motion.tell() });

export default function ({ parentElement, data, setTriggerValue }) {
  const root = parentElement.querySelector(".moving");
  root.motion ??= new Motion(root);
  const { motion } = root;
  motion.show(data, (told) => setTriggerValue("told", told));
  const own = data.texts.play ? moves(motion) : null;
  if (own) document.mlaMoves = own;
  return () => {
    if (own && document.mlaMoves === own) document.mlaMoves = null;
  };
}
