// The keys of a clicker for Python: PageUp and PageDown always step, except in a multi-line text
// box; the arrows only when no widget has the
// focus that uses them itself: a plain button does not, one of a group of choices (it has a role)
// does. Sent is the sum of all presses, so that none is lost in a burst; where they turn back, in
// two messages, since the way on may have met the end. The count outlives this component, which is
// mounted anew on each page.
const steps = { PageDown: 1, PageUp: -1, ArrowRight: 1, ArrowLeft: -1 };
const BETWEEN_PAGES = 5000; // milliseconds for which presses wait for the next page to listen
const SETTLING = 300; // milliseconds in which the widgets take up the values of a run
const LONG = 3000; // milliseconds after which a run may be interrupted
const LOST = 15000; // and after which a message that was not taken will never be
const ROOM = 8; // pixels above a heading

function stepOf(event) {
  if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey) return 0;
  const focus = document.activeElement;
  if (focus && focus.tagName === "TEXTAREA") return 0;
  const free = !focus || focus.matches("body, [data-testid=stMain], button:not([role])");
  return event.key.startsWith("Arrow") && !free ? 0 : steps[event.key];
}

// Brings the next heading of the page to the top, or the one before; false if there is none.
function toSection(clicker, step) {
  const main = document.querySelector("[data-testid=stMain]");
  const bar = main.querySelector(".st-key-lecture_bar");
  const from = clicker.goal ?? main.scrollTop; // where an earlier press is still on its way to
  const end = main.scrollHeight - main.clientHeight;
  const above = main.getBoundingClientRect().top - main.scrollTop + (bar ? bar.offsetHeight : 0);
  const headings = [...main.querySelectorAll(".stHeading h3")].filter((one) => one.offsetHeight);
  const tops = headings.map((one) => one.getBoundingClientRect().top - above - ROOM);
  const places = [0, ...tops.map((top) => Math.min(Math.round(top), end))];
  const further = places.filter((place) => (place - from) * step > ROOM);
  if (!further.length) return false;
  const smooth = !window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  clicker.goal = step > 0 ? Math.min(...further) : Math.max(...further);
  main.scrollTo({ top: clicker.goal, behavior: smooth ? "smooth" : "instant" });
  return true;
}

// One message at a time: one that interrupts the run of another can undo what that was about to do.
function mustWait(clicker) {
  const now = Date.now();
  const app = document.querySelector("[data-testid=stApp]");
  if (app && app.dataset.testScriptState === "running") clicker.ranAt = now;
  const working = now - clicker.ranAt < SETTLING;
  return now - clicker.sentAt < (clicker.taken !== clicker.sent ? LOST : working ? LONG : 0);
}

function flush(clicker) {
  clearTimeout(clicker.timer);
  if (!clicker.send || !clicker.waiting.length) return;
  if (mustWait(clicker)) {
    clicker.timer = setTimeout(flush, 30, clicker);
    return;
  }
  clicker.sent += clicker.waiting.shift();
  clicker.sentAt = Date.now();
  clicker.send(clicker.sent);
  flush(clicker);
}

function startClicker() {
  const clicker = { session: null, waiting: [], sent: 0, taken: 0, ranAt: 0, send: null, left: 0 };
  ["wheel", "touchmove", "pointerdown"].forEach((name) => { // the reader scrolls by hand
    window.addEventListener(name, () => { clicker.goal = null; }, { capture: true, passive: true });
  });
  window.addEventListener("keydown", (event) => {
    const step = stepOf(event);
    if (!step || (!clicker.send && Date.now() - clicker.left > BETWEEN_PAGES)) return;
    event.preventDefault();
    event.stopPropagation();
    if (clicker.sections && toSection(clicker, step)) return;
    if (clicker.moves && document.mlaStep?.(step)) return; // a picture of assets/motion.js
    const focus = document.activeElement;
    if (focus && focus.tagName === "INPUT") focus.blur(); // a text box hands over what was typed
    else document.mlaAhead?.(step); // a step of assets/worked_example.js
    const last = clicker.waiting.length - 1;
    if (clicker.waiting[last] * step > 0) clicker.waiting[last] += step;
    else clicker.waiting.push(step);
    flush(clicker);
  }, true);
  return clicker;
}

export default function ({ data, setStateValue }) {
  const clicker = (document.mlaClicker ??= startClicker());
  const send = (total) => setStateValue("presses", total);
  if (clicker.session !== data.session) {
    Object.assign(clicker, { session: data.session, waiting: [], sent: data.seen });
  }
  if (clicker.taken !== data.seen) Object.assign(clicker, { taken: data.seen, ranAt: Date.now() });
  Object.assign(clicker, { send, sections: data.sections, moves: data.moves });
  flush(clicker);
  return () => {
    if (clicker.send === send) Object.assign(clicker, { send: null, goal: null, left: Date.now() });
  };
}
