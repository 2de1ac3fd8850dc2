// A section of a page that waits: it holds its place and tells Python when the reader comes near,
// asks for it by the button, or prints. What is above the window is drawn first, and so are the
// sections before the one that is near: nothing above what is read changes its height later.
const NEAR = 1.25; // windows beyond this one: a press of the clicker goes about as far
const AGAIN = 50; // milliseconds, after which it is looked again whether the page is at rest
const LOST = 5000; // milliseconds, after which a place that was asked for and still waits is asked for again
const LEAVES = "a[href]:not([href^='#'], [download], [target=_blank])";
const BUSY = "[data-testid=stApp][data-test-script-state=running], [data-testid=stSkeleton]";
const EMPTY = "[data-testid=stPlotlyChart]:not(:has(.main-svg))";

class Waiting {
  constructor() {
    this.sends = new Map(); // place -> what asks for its section, its name, and on which page
    this.wanted = new Set(); // names of this page's sections, asked for by a button or for paper
    this.sentAt = 0;
    this.left = ""; // the page on which a link was pressed: what is asked before the next one comes undoes it
    this.leftAt = 0;
    const root = document.querySelector("[data-testid=stMain]");
    const options = { root, rootMargin: `${100 * NEAR}% 0px` };
    this.watch = window.IntersectionObserver && new IntersectionObserver(() => this.look(), options);
    const leave = () => Object.assign(this, { left: location.pathname, leftAt: Date.now() });
    document.addEventListener("click", ({ target }) => target.closest(LEAVES) && leave(), true);
    window.addEventListener("beforeprint", () => this.ask([...this.sends.keys()]));
  }

  add(place, name, send) {
    const page = location.pathname;
    if (page !== this.page) this.wanted.clear();
    this.page = page;
    this.sends.set(place, { send, page, name });
    this.watch?.observe(place);
  }

  drop(place) {
    this.sends.delete(place);
    this.watch?.unobserve(place);
    this.sentAt = 0;
    this.look();
  }

  ask(places) {
    places.forEach((place) => this.wanted.add(this.sends.get(place)?.name));
    this.look();
  }

  look() { // one place at a time: a message that interrupts the run of another can undo it
    clearTimeout(this.timer);
    if (!this.sends.size) return;
    const asked = Date.now() - this.sentAt < LOST;
    const leaves = this.left === location.pathname && Date.now() - this.leftAt < LOST;
    if (asked || leaves || document.querySelector(BUSY) || document.querySelector(EMPTY)) {
      this.timer = setTimeout(() => this.look(), AGAIN);
      return;
    }
    const near = (place) => {
      const { top, bottom } = place.getBoundingClientRect();
      const beyond = NEAR * window.innerHeight;
      if (this.wanted.has(this.sends.get(place).name)) return true;
      return bottom > -beyond && top < window.innerHeight + beyond;
    };
    const here = (place) => place.isConnected && this.sends.get(place).page === location.pathname; // not being left
    const places = [...this.sends.keys()].filter(here);
    const order = (a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1);
    const last = places.sort(order).findLastIndex(near);
    if (last < 0) return;
    this.sentAt = Date.now();
    this.sends.get(places[0]).send();
    this.timer = setTimeout(() => this.look(), AGAIN);
  }
}

export default function ({ parentElement, data, setStateValue }) {
  const waiting = (document.mlaSections ??= new Waiting());
  const place = parentElement.querySelector(".waits");
  const button = place.querySelector("button");
  ["wide", "narrow", "phone"].forEach((name, n) => place.style.setProperty(`--${name}`, `${data.heights[n]}px`));
  button.textContent = data.show;
  button.onclick = () => waiting.ask([place]);
  waiting.add(place, data.name, () => setStateValue("near", Date.now()));
  return () => waiting.drop(place);
}
