// A guess before the answer shows: offered by a quiet button, or at once where the reader wants that.
// Python sends all that can be said, with what is told of it; the control moves and the gap is drawn
// here alone. What was said is remembered while the tab is open. What would give the answer away is
// covered until then, by a style of the whole page (cover.js, before this). A guess may be drawn, too:
// drawn.js, before this, has the points over the chart.
const SHELF = "mla-guesses";
const FAR = 0.25; // of a scale: an answer that moves further is asked for anew

const APPEARS = "{ transition: opacity 0.8s; }";

const said = () => JSON.parse(sessionStorage[SHELF] ?? "{}");

function element(parent, name, className, text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return parent.appendChild(made);
}

// Covers the parts of the page with these selectors, or nothing; what is drawn over is out of sight.
function veil(selectors, says = "", over = "", hidden = false) {
  const style = (document.mlaVeil ??= document.head.appendChild(document.createElement("style")));
  if (!style.isConnected) document.head.append(style);
  const rules = covering(selectors, says);
  const measured = `${over} :is(.scatterlayer, .hoverlayer)`;
  const appears = `@media (prefers-reduced-motion: no-preference) { ${measured} ${APPEARS} }`;
  if (over) rules.push(hidden ? `${measured} { opacity: 0; }` : appears); // it comes, but never goes slowly
  style.textContent = rules.join(" ");
}

// Whether what was right then is so still, to a point of a percentage.
const fits = (then, now) => then?.length === now.length && now.every((one, n) => Math.abs(one - then[n]) < 1);

// A sentence with the numbers that were drawn in the place of {0}, {1}.
const filled = (text, at) => text.replace(/\{(\d+)\}/g, (_, n) => Math.round(at[n]).toLocaleString("en"));

class Card {
  constructor(root) {
    this.root = root;
  }

  show(data) {
    const text = JSON.stringify(data);
    if (text !== this.text) this.draw(data, text);
    this.cover();
  }

  draw(data, text) {
    const inside = this.root.contains(document.activeElement);
    const same = this.data?.key === data.key;
    const touched = same ? this.at : null;
    const again = same && this.reopened;
    Object.assign(this, { data, text, at: touched, reopened: again, opened: same && this.opened });
    const given = said()[data.key];
    const most = data.scale ? FAR * (data.answers.length - 1) : 0;
    const stale = given && (data.drawing ? !fits(given.right, data.right) : Math.abs(given.right - data.right) > most);
    if (same) this.keep();
    this.root.replaceChildren();
    this.root.setAttribute("aria-label", data.texts.label);
    if (given && !again && (data.drawing || !stale)) {
      this.tell(stale ? null : given.at); // what was drawn is not of these settings
      return;
    }
    if (!data.comes && !again && !this.opened && !stale) {
      this.quiet();
      return;
    }
    this.reopened ||= Boolean(stale);
    this.question(stale ? data.texts.stale : "");
    if (inside) this.control.querySelector("input")?.focus({ preventScroll: true });
  }

  quiet() { // the page is whole: a question is there for who wants it
    this.over(null);
    const button = element(this.root, "button", "first", this.data.texts.first);
    button.type = "button";
    button.onclick = () => this.again({ opened: true });
  }

  question(before) {
    const { asks, answers, drawing, right, scale, texts, told } = this.data;
    const longest = told.reduce((best, text, at) => (text.length > told[best].length ? at : best), 0);
    this.tell(drawing ? right : longest).parentElement.inert = true; // out of sight: its room is kept
    const form = element(this.root, "form", "ask");
    const line = element(form, "p", "asks");
    line.innerHTML = before ? `${before} ${asks}` : asks;
    line.id = "guess-asks";
    this.control = element(form, scale ? "div" : "fieldset", "control");
    this.button = element(form, "button", "show", this.at === null ? texts.show_me : texts.show);
    this.button.type = "submit";
    if (drawing) this.draws(drawing);
    else if (scale) this.slider(answers);
    else this.choices(answers);
    form.onsubmit = (event) => {
      event.preventDefault();
      this.answer();
    };
    form.onkeydown = (event) => {
      if (event.key !== "Enter" || event.target === this.button) return;
      event.preventDefault(); // once, whatever the browser makes of it
      this.answer();
    };
  }

  draws(drawing) {
    this.control.className = "control drawn";
    const events = { touched: (at) => this.touch(at), done: () => this.answer() };
    this.over(new Drawing(drawing, this.at, events));
  }

  over(drawing) { // the chart; what was drawn there before goes
    this.drawing?.remove();
    this.drawing = drawing;
  }

  slider(answers) {
    element(this.control, "small", "", answers[0]);
    const input = element(this.control, "input", "");
    element(this.control, "small", "", answers.at(-1));
    const shown = element(this.control, "output", "");
    Object.assign(input, { type: "range", min: 0, max: answers.length - 1, step: 1 });
    input.value = this.at ?? Math.floor(answers.length / 2);
    input.setAttribute("aria-labelledby", "guess-asks");
    const say = () => {
      const text = answers[input.value];
      shown.textContent = this.at === null ? "?" : text;
      input.setAttribute("aria-valuetext", text);
    };
    input.oninput = () => {
      this.touch(Number(input.value));
      say();
    };
    say();
  }

  choices(answers) {
    this.control.setAttribute("aria-labelledby", "guess-asks");
    answers.forEach((text, place) => {
      const chip = element(this.control, "label", "chip");
      const input = element(chip, "input", "");
      Object.assign(input, { type: "radio", name: "guess", value: place });
      input.checked = place === this.at;
      input.onchange = () => this.touch(place);
      chip.append(text);
    });
  }

  keep() { // the height that it has: what is below stays where it is
    this.root.style.minHeight = `${this.root.offsetHeight}px`;
  }

  touch(at) {
    this.at = at;
    this.button.textContent = this.data.texts.show;
  }

  answer() {
    const { key, right } = this.data;
    sessionStorage[SHELF] = JSON.stringify({ ...said(), [key]: { at: this.at, right } });
    Object.assign(this, { reopened: false, opened: false });
    this.keep();
    this.root.replaceChildren();
    this.tell(this.at).focus({ preventScroll: true });
    this.cover();
  }

  tell(at) {
    const { told, none, why, texts, drawing } = this.data;
    if (drawing) this.over(at === null ? null : new Drawing(drawing, at, null));
    const line = element(this.root, "div", "told");
    const words = element(line, "p", "tells");
    words.setAttribute("role", "status");
    element(words, "b", "", at === null ? none : drawing ? filled(told[0], at) : told[at]);
    words.insertAdjacentHTML("beforeend", ` ${why}`);
    if (!drawing) line.append(this.data.scale ? this.gap(at) : this.marked(at));
    const again = element(line, "button", "again", texts.again);
    again.type = "button";
    again.onclick = () => this.again({ reopened: true });
    return again;
  }

  again(state) {
    Object.assign(this, { at: null }, state);
    this.root.replaceChildren();
    this.question("");
    this.control.querySelector("input")?.focus({ preventScroll: true });
    this.cover();
    this.root.scrollIntoView({ block: "nearest" }); // where the question has a line of its own
  }

  // A class was told the answer: it is asked no more. What the reader said there is shown, if they did.
  settle(at) {
    const { key, right, drawing } = this.data;
    if (said()[key] && !this.reopened) return;
    sessionStorage[SHELF] = JSON.stringify({ ...said(), [key]: { at: drawing ? null : at, right } });
    Object.assign(this, { at: null, reopened: false, opened: false });
    this.root.replaceChildren();
    this.tell(drawing ? null : at);
    this.cover();
  }

  // Both places on the scale, and what lies between them.
  gap(at) {
    const { answers, right, texts } = this.data;
    const picture = document.createElement("div");
    picture.className = "gap";
    const share = (place) => (100 * place) / (answers.length - 1);
    if (at !== null) {
      const [from, to] = [at, right].sort((a, b) => a - b).map(share);
      const bar = element(picture, "i", "");
      Object.assign(bar.style, { left: `${from}%`, width: `${to - from}%` });
    }
    [["yours", at], ["truth", right]].filter(([, place]) => place !== null).forEach(([name, place]) => {
      const mark = element(picture, "span", name);
      mark.style.left = `${share(place)}%`;
      mark.title = texts[name];
    });
    return picture;
  }

  // The choices, the right one and the chosen one marked.
  marked(at) {
    const { answers, right, texts } = this.data;
    const picture = document.createElement("div");
    picture.className = "chips";
    answers.forEach((text, place) => {
      const names = [...(place === right ? ["truth"] : []), ...(place === at ? ["yours"] : [])];
      const sign = place === right ? "✓ " : place === at ? "✗ " : "";
      const chip = element(picture, "span", ["chip", ...names].join(" "), sign + text);
      if (names.length) chip.title = names.map((name) => texts[name]).join(", ");
    });
    return picture;
  }

  cover() {
    const offered = Boolean(this.root.querySelector(":scope > .first"));
    this.root.classList.toggle("offered", offered);
    document.documentElement.dataset.guess = offered ? "offered" : "asked"; // the style makes room by it
    const { comes, drawing, hides, key, texts } = this.data;
    const open = this.opened || (comes && !this.reopened && !said()[key]);
    veil(open ? hides : [], texts.covered, drawing?.chart, open || this.reopened);
  }
}

export default function ({ parentElement, data: [data] }) {
  const root = parentElement.querySelector(".guess");
  root.card ??= new Card(root);
  const card = root.card;
  document.mlaGuess = card;
  card.show(data);
  document.mlaClass?.draw(); // which may know the answer already
  return () => setTimeout(() => { // perhaps it is only drawn again
    if (root.isConnected) return;
    card.over(null);
    if (document.mlaGuess !== card) return;
    veil([]);
    delete document.documentElement.dataset.guess;
  });
}
