// What the reader wishes to see, as one state: a page and a stop on it, or a step of the story. Presses of
// a clicker's keys, and of the buttons that do the same, say where the wish moves to. A message to the server
// names the wish, not the press; its answer says which wish the page shows. Until that is the latest one it is
// sent again, so that a message may be lost, late or come twice. A press whose way is not known yet, since its
// page is still drawn, waits for that. All of it outlives this component, which is mounted anew on each page.
const KEYS = { PageDown: 1, PageUp: -1, ArrowRight: 1, ArrowLeft: -1 };
const BUTTONS = { // by their keys; a bar's leads to another page or step, a page's to the stop beside
  lecture_previous: { by: -1, turns: true },
  lecture_next: { by: 1, turns: true },
  story_previous: { by: -1, turns: true },
  story_next: { by: 1, turns: true },
  we_previous: { by: -1, whole: true },
  we_next: { by: 1, whole: true },
  quiz_previous: { by: -1, whole: true },
  quiz_next: { by: 1, whole: true },
};
const DONE = "!"; // ends a stop at which something is done that stays so, as a question revealed
const STORY = ""; // in the place of a page
const APART = 250; // milliseconds between two messages of which the first has not been answered
const AGAIN = 2000; // after which a wish that was sent, and that no run works at, is sent again
const WHOLE = 10000; // for which a press waits for a page that is not drawn whole and does not change
const BETWEEN = 5000; // for which keys are taken between two pages
const TRIES = 5; // with a wish that the page does not come to show
const GONE = 15000; // for which a wish waits for a page that listens
const LOOKS = 6; // at a page, for which nothing of it moves
const UNDRAWN = "[data-testid=stSkeleton], [data-stale=true], .stPlotlyChart:not([data-far], :has(.main-svg))";
const ROOM = 8; // pixels above what is brought to the top
const HEADINGS = ".stHeading h3";
const PICTURES = ".stPlotlyChart, [data-testid=stTable], [data-testid=stDataFrame]";

const group = (stop) => stop.replace(DONE, "");

function stepOf(event) {
  if (!(event.key in KEYS) || event.ctrlKey || event.altKey || event.metaKey) return 0;
  const focus = document.activeElement;
  if (focus && focus.tagName === "TEXTAREA") return 0;
  const free = !focus || focus.matches("body, [data-testid=stMain], button:not([role])");
  return event.key.startsWith("Arrow") && !free ? 0 : KEYS[event.key];
}

class Wishes {
  constructor() {
    // Where the page is that is drawn, the wish, presses that wait, what sends; how far the page is scrolled to.
    Object.assign(this, { here: null, wish: null, presses: [], send: null, goal: null, number: 0, sentAt: 0, leftAt: 0, looks: 0 });
    ["wheel", "touchmove", "pointerdown"].forEach((name) => { // the reader scrolls by hand
      window.addEventListener(name, () => { this.goal = null; }, { capture: true, passive: true });
    });
    window.addEventListener("keydown", (event) => this.key(event), true);
    window.addEventListener("click", (event) => this.click(event), true);
  }

  get listens() {
    return !document.mlaFollow && (this.send || this.wish || Date.now() - this.leftAt < BETWEEN);
  }

  key(event) {
    const by = stepOf(event);
    if (!by || !this.listens) return;
    event.preventDefault();
    event.stopPropagation();
    const focus = document.activeElement;
    if (focus && focus.tagName === "INPUT") focus.blur(); // a text box hands over what was typed
    this.press({ by });
  }

  click(event) {
    const button = event.target.closest?.("button:enabled");
    const place = button?.closest("[class*=st-key-]");
    const key = place && Object.keys(BUTTONS).find((one) => place.classList.contains(`st-key-${one}`));
    if (!key || !this.listens) return;
    event.preventDefault();
    event.stopPropagation();
    this.press(BUTTONS[key]);
  }

  press(one) {
    this.presses.push(one);
    this.go();
  }

  // What the server has drawn, and what sends it the next wish. The component of a page that is being taken
  // away may tell of an earlier run.
  hear(data, send) {
    if (data.session === this.here?.session && data.run < this.here.run) return;
    if (data.page !== this.here?.page) this.goal = null;
    Object.assign(this, { here: data, send, number: Math.max(this.number, data.number), looks: 0, redrawn: true });
    if (this.wish?.number === data.shown) {
      const stood = this.wish.from === data.page;
      this.wish = null;
      if (!stood || data.below) this.scroll(0);
    }
    this.go();
  }

  leave(send) {
    if (this.send === send) Object.assign(this, { send: null, goal: null, leftAt: Date.now() });
  }

  go() {
    while (this.presses.length && this.moved(this.presses[0])) this.presses.shift();
    this.tell();
    this.stay();
    clearTimeout(this.timer);
    if (this.wish || this.presses.length || this.redrawn) this.timer = setTimeout(() => this.go(), 30);
  }

  // A page that is drawn again may have lost the place to which it was scrolled.
  stay() {
    if (this.goal === null || this.wish) this.redrawn = false;
    if (!this.redrawn || !this.isDrawn) return;
    this.redrawn = false;
    const main = document.querySelector("[data-testid=stMain]");
    if (Math.abs(main.scrollTop - Math.min(this.goal, main.scrollHeight - main.clientHeight)) > ROOM) this.scroll(this.goal);
  }

  // Move the wish by a press; false where its way is not known yet.
  moved({ by, turns, whole }) {
    const { here, wish } = this;
    if (!here) return false;
    if (here.page === STORY) return this.along(STORY, by);
    if (turns) return this.turn(by);
    if (wish ? wish.page !== here.page || !wish.stop : !this.send) return false; // that page comes first
    const picture = !wish && !whole && document.mlaMoves; // of assets/motion.js, whose places the server may not know yet
    const back = picture && by < 0 && here.pages.length;
    if (back && !this.mayScroll) return false;
    if ((back && this.scrolls(by)) || (picture && picture.step(by))) return true;
    let { at } = this;
    while (picture && /^\d+$/.test(here.stops[at + by])) at += by;
    const ends = !here.stops[at + by];
    if (here.pages.length && !whole && (here.below || ends || by < 0)) {
      if (wish || !this.mayScroll) return false;
      if (this.scrolls(by)) return true;
    }
    return ends ? whole || this.turn(by) : this.along(here.page, by, whole, at);
  }

  get at() {
    const at = this.wish?.stop ? this.here.stops.indexOf(this.wish.stop) : this.here.at;
    return at < 0 ? this.here.at : at;
  }

  // Back to where a stop's own group begins, and on by one, or by a whole group.
  along(page, by, whole, at = this.at) {
    const { stops } = this.here;
    const from = group(stops[at]);
    let to = at + by;
    if (whole || by < 0) {
      while (stops[to] && group(stops[to]) === from) to += by;
      if (stops[to]) to = stops.findIndex((one) => group(one) === group(stops[to]));
    }
    if (stops[to]) this.want(page, stops[to]);
    return true;
  }

  turn(by) {
    const { pages, page } = this.here;
    const to = pages[pages.indexOf(this.wish?.page ?? page) + by];
    if (to) this.want(to, null);
    return true;
  }

  want(page, stop) {
    const from = this.here.page;
    const done = this.wish?.page === page ? this.wish.done : [];
    if (stop?.endsWith(DONE)) done.push(stop);
    document.mlaMoves?.tell();
    if (page === from && stop) document.mlaAhead?.(stop); // assets/worked_example.js
    this.wish = { page, stop, done, from, number: 0, tries: 0 };
  }

  tell() {
    const now = Date.now();
    if (!this.send && now - this.leftAt > GONE) Object.assign(this, { wish: null, presses: [] });
    if (!this.wish || !this.send) return;
    const app = document.querySelector("[data-testid=stApp]").dataset;
    const lost = app.testScriptState === "notRunning" && app.testConnectionState === "CONNECTED" && now - this.sentAt > AGAIN;
    if (this.wish.number ? !lost : this.here.number < this.number && now - this.sentAt < APART) return;
    if (this.wish.tries === TRIES) return void (this.wish = null);
    const { page, stop, done } = this.wish;
    this.wish.tries += 1;
    this.wish.number = this.number += 1;
    this.sentAt = now;
    this.send({ number: this.number, page, stops: stop ? [...done.filter((one) => one !== stop), stop] : [] });
  }

  // Whether the page is drawn whole, or will not come to be: then a press need not wait.
  get mayScroll() {
    return this.isDrawn || Date.now() - this.changedAt > WHOLE;
  }

  // Whether the page is drawn whole, and of one height for some looks.
  get isDrawn() {
    const { testScriptState } = document.querySelector("[data-testid=stApp]").dataset;
    const main = document.querySelector("[data-testid=stMain]");
    const undrawn = [...main.querySelectorAll(UNDRAWN)].filter((one) => one.clientWidth).length;
    const seen = [testScriptState, document.mlaDrawn, this.here.run, undrawn, main.scrollHeight].join();
    const rests = testScriptState === "notRunning" && document.mlaDrawn === this.here.run && !undrawn;
    this.looks = rests && seen === this.seen ? this.looks + 1 : 0;
    if (seen !== this.seen) Object.assign(this, { seen, changedAt: Date.now() });
    return this.looks >= LOOKS;
  }

  // Bring the next heading to the top of the window, or a chart or table before it that is cut, or what came
  // before; false where there is none.
  scrolls(by) {
    const main = document.querySelector("[data-testid=stMain]");
    const bar = main.querySelector(".st-key-lecture_bar")?.offsetHeight ?? 0;
    const from = this.goal ?? main.scrollTop; // where an earlier press is still on its way to
    const end = main.scrollHeight - main.clientHeight;
    const above = main.getBoundingClientRect().top - main.scrollTop;
    const place = (one) => Math.max(0, Math.min(Math.round(one.getBoundingClientRect().top - above - bar - ROOM), end));
    const cut = (one) => { // by the lower end of the window
      const { bottom, height } = one.getBoundingClientRect();
      return bottom - above - 0.1 * height > from + main.clientHeight;
    };
    const all = (selector) => [...main.querySelectorAll(selector)].filter((one) => one.offsetHeight);
    const places = by > 0
      ? [...all(HEADINGS), ...all(PICTURES).filter(cut)].map(place).filter((one) => one > from + ROOM)
      : [0, ...[...all(HEADINGS), ...all(PICTURES)].map(place)].filter((one) => one < from - ROOM);
    if (!places.length) return false;
    this.scroll(by > 0 ? Math.min(...places) : Math.max(...places));
    return true;
  }

  scroll(top) {
    const smooth = !window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.goal = top;
    document.querySelector("[data-testid=stMain]").scrollTo({ top, behavior: smooth ? "smooth" : "instant" });
  }
}

export default function () {
  if (document.mlaWishes) return;
  document.mlaWishes = new Wishes();
  if (document.mlaTold) document.mlaWishes.hear(...document.mlaTold); // assets/wish_told.js, which was there first
}
