// The story in the browser: what a step is about comes into view, B makes the screen black, and the
// presenter's window follows by a channel between windows of this browser, without the server.
const OPEN = "popup,width=960,height=720";
const GONE = 5000; // milliseconds without the story, after which the presenter is told
const GAP = 12; // pixels between the bar and what is looked at
const OWN_KEYS = "input, textarea, select, [contenteditable=true]";

const still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

class Stage {
  constructor() {
    const id = (sessionStorage.mlaStory ??= Math.random().toString(36).slice(2));
    this.name = `mla-story-${id}`;
    this.channel = new BroadcastChannel(this.name);
    this.channel.onmessage = ({ data }) => this.asked(data);
    this.curtain = document.createElement("div");
    Object.assign(this.curtain.style, { position: "fixed", inset: 0, background: "#000", zIndex: 1e7 });
    window.addEventListener("keydown", (event) => this.pressed(event), true);
    ["wheel", "touchmove", "pointerdown", "keydown"].forEach((name) => {
      window.addEventListener(name, () => { this.free = true; }, { capture: true, passive: true });
    });
  }

  show(data, go) {
    clearTimeout(this.leaving);
    const turned = this.data?.number !== data.number;
    Object.assign(this, { data, go });
    if (turned) {
      this.free = false; // to scroll by oneself
      this.black(false);
    }
    this.tell();
    this.watch();
  }

  watch() { // charts come later than what is written: look again until the reader scrolls
    const main = document.querySelector("[data-testid=stMain]");
    const page = main.querySelector(".stMainBlockContainer"); // which the next page may replace
    const again = () => { if (page?.isConnected) this.look(main); else this.watch(); };
    this.unwatch();
    const resized = new ResizeObserver(again);
    resized.observe(page ?? main);
    main.addEventListener("scrollend", again); // Streamlit begins a page at its top, also late
    this.unwatch = () => {
      resized.disconnect();
      main.removeEventListener("scrollend", again);
    };
    this.look(main);
  }

  unwatch() {} // until something is watched

  look(main) {
    const found = this.data.look.map((name) => main.querySelector(`.st-key-${name}`)).filter(Boolean);
    if (this.free || !found.length) return;
    const boxes = found.map((part) => part.getBoundingClientRect());
    const bar = main.querySelector(".st-key-lecture_bar, .st-key-story_bar");
    const start = main.getBoundingClientRect().top - main.scrollTop;
    const top = Math.min(...boxes.map((box) => box.top)) - start;
    const bottom = Math.max(...boxes.map((box) => box.bottom)) - start;
    const held = bar && parseFloat(getComputedStyle(bar.parentElement).top); // where it sticks
    const covered = bar ? bar.offsetHeight + (held || 0) : 0;
    const least = bottom + GAP - main.clientHeight; // no further than needed: the title may stay
    const to = Math.max(0, Math.min(least, top - covered - GAP));
    if (Math.abs(to - main.scrollTop) < 2) return;
    main.scrollTo({ top: to, behavior: still() ? "instant" : "smooth" });
  }

  pressed(event) {
    if (!this.go || event.ctrlKey || event.altKey || event.metaKey) return;
    if (!["b", "B", "."].includes(event.key) || document.activeElement?.matches(OWN_KEYS)) return;
    event.preventDefault();
    this.black(!this.curtain.isConnected);
    this.tell();
  }

  black(on) {
    if (on) document.body.append(this.curtain);
    else this.curtain.remove();
  }

  open() {
    const other = window.open("", this.name, OPEN);
    if (!other) return false;
    const begin = { channel: this.name, data: this.message() };
    other.document.open();
    other.document.write(WINDOW.replace("/*BEGIN*/", () => JSON.stringify(begin).replaceAll("<", "\\u003c")));
    other.document.close();
    other.focus();
    return true;
  }

  message() {
    const { steps, number, texts } = this.data;
    return { steps, number, texts, black: this.curtain.isConnected };
  }

  tell() {
    this.channel.postMessage(this.message());
  }

  asked({ by, to, black, hello }) { // by the presenter's window
    if (!this.go) return;
    if (black !== undefined) this.black(black);
    if (hello || black !== undefined) this.tell();
    if (to) this.go(to);
    if (!by) return;
    if (document.activeElement?.matches("textarea")) document.activeElement.blur();
    const key = by > 0 ? "PageDown" : "PageUp"; // as if it had been pressed here
    window.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
  }

  leave(go) { // perhaps for the next page only
    if (this.go !== go) return;
    this.unwatch();
    this.go = null;
    this.black(false);
    this.leaving = setTimeout(() => {
      this.data = null;
      this.channel.postMessage({ lost: true });
    }, GONE);
  }
}

export default function ({ parentElement, data, setTriggerValue }) {
  const stage = (document.mlaStage ??= new Stage());
  const go = (number) => setTriggerValue("go", number);
  const button = parentElement.querySelector("button");
  button.title = data.texts.open;
  button.setAttribute("aria-label", data.texts.open);
  button.onclick = () => {
    if (!stage.open()) window.alert(data.texts.blocked);
  };
  stage.show(data, go);
  return () => stage.leave(go);
}
