// The class in the browser. A follower's page is told what is new by follow.js, which also shows the
// lecturer's page there. The lecturer's tab, and one that looks around on its own, ask the server and
// wait for it: no page runs meanwhile. Questions, answers and their counts go the same way. CSS, which
// stands before this, is the style of what it draws over the page.
const SHELF = "mla-class"; // of the browser: the follower's token and answer, for one room
const TAB = "mla-class-tab"; // of the tab: the lecturer's key, whatever class the address names (leading.js)
const ALONE = "mla-class-alone"; // of the tab: whether the reader is on their own
const AGAIN = 1000; // milliseconds after which what failed is tried again, up to twice as long
const PATIENCE = 20000; // for an answer
const SILENCE = 2500; // after which the reader is told that none comes: a lecturer is answered every second
const WAIT = 10000; // for which the server holds the question of a reader who is on their own
const MISSING = 60000; // for which a room that was there may come back
const LEFT = 3000; // without a page that draws the class: the reader has left it
const AROUND = ".st-key-waits { bottom: 4.5rem !important; } [data-testid=stMainBlockContainer] { padding-bottom: 6rem; }"; // the bar hides nothing

const kept = (shelf, name) => {
  try {
    return JSON.parse(shelf[name] ?? "{}");
  } catch {
    return {};
  }
};
const keep = (shelf, name, value) => {
  try {
    shelf[name] = JSON.stringify(value);
  } catch { /* a browser that keeps nothing: it joins anew */ }
};
const pause = (time) => new Promise((done) => { setTimeout(done, time); });
const same = (one, other) => canonical(one) === canonical(other);
const canonical = (here) => here && JSON.stringify([here.page, Object.entries(here.query).sort()]);
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

function element(parent, name, className = "", text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return parent.appendChild(made);
}

function button(parent, className, text, act) {
  const made = element(parent, "button", className, text);
  made.type = "button";
  made.onclick = act;
  return made;
}

class Room {
  constructor(data) {
    this.code = data.code;
    this.data = data;
    this.room = null; // what the server said last
    this.tag = "";
    this.state = "joining";
    const own = kept(localStorage, SHELF);
    this.own = document.mlaFollow?.own ?? (own.code === this.code ? own : { code: this.code });
    const tab = kept(sessionStorage, TAB);
    this.tab = tab.code === this.code ? tab : { code: this.code };
    this.elsewhere = tab.key && tab.code !== this.code ? tab.code : ""; // this tab leads another class
    const alone = kept(sessionStorage, ALONE);
    this.alone = alone.code === this.code && alone.alone;
    if (this.leads) this.name();
    this.telling = Promise.resolve();
    this.listen();
    this.build();
    if (document.mlaFollow) this.hear();
    else this.loop();
  }

  get leads() {
    return Boolean(this.tab.key);
  }

  get rules() { // what it does moves the class
    return this.leads && !this.displaced;
  }

  get displaced() { // another device of the lecturer's leads
    return Boolean(this.leads && this.room?.leader && this.room.leader !== this.tab.device);
  }

  // This device by name: a reload keeps it, and a second tab with this one's storage has another.
  name() {
    this.tab.device ??= Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => byte.toString(36)).join("");
    keep(sessionStorage, TAB, { ...this.tab, device: undefined });
  }

  remember() { // for the page after this one in this tab
    if (this.leads) keep(sessionStorage, TAB, this.state === "ended" ? {} : this.tab);
  }

  // ---- the server

  async ask(path, options = {}) {
    const headers = this.leads ? { "x-class-key": this.tab.key, "x-class-device": this.tab.device } : this.own.token ? { "x-class-token": this.own.token } : {};
    this.abort = new AbortController();
    const signal = AbortSignal.any([this.abort.signal, AbortSignal.timeout(PATIENCE)]);
    return fetch(`${this.root()}_class/${this.code}${path}`, { cache: "no-store", ...options, headers: { ...headers, ...options.headers }, signal });
  }

  post(path, body) {
    return this.ask(path, { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  }

  root() { // the app's address without its page
    const parts = window.location.pathname.split("/");
    const last = parts.pop();
    return this.data.pages.includes(last) || !last ? `${parts.join("/")}/` : `${parts.join("/")}/${last}/`;
  }

  async loop() {
    while (!this.left) {
      const well = await this.once().catch(({ name }) => name === "AbortError" || this.fails("lost")); // by wake
      if (!well && !this.left) await Promise.race([pause(AGAIN * (1 + Math.random())), new Promise((now) => { this.hurry = now; })]);
    }
  }

  async once() { // whether to go on at once
    this.due = Date.now() + SILENCE;
    if (!this.leads && !this.own.token) {
      const joined = await this.post("/join", {}).finally(() => this.answered());
      if (!joined.ok) return this.refused(joined);
      this.own = { code: this.code, token: (await joined.json()).token };
      keep(localStorage, SHELF, this.own);
    }
    this.due = Date.now() + SILENCE + (this.leads || !this.tag ? 0 : WAIT);
    const answer = await this.ask("", { headers: { "if-none-match": this.tag } }).finally(() => this.answered());
    if (answer.status !== 200 && answer.status !== 304) return this.refused(answer);
    const told = answer.status === 200 ? await answer.json() : this.room;
    this.tag = answer.headers.get("etag") ?? this.tag;
    this.take(told);
    return !told.ended;
  }

  async refused(answer) {
    const why = (await answer.json().catch(() => ({}))).refused;
    this.tag = "";
    if (why === "stranger") delete this.own.token; // of another room under this code
    else if (why === "no_key") this.stop();
    else if (why === "no_room") return this.missing();
    if (why === "crowd") return false; // many come at once: again in a moment
    return this.fails(why === "room_full" || why === "address_full" ? "full" : "lost");
  }

  answered() {
    this.due = Infinity;
    if (this.silent) Object.assign(this, { silent: false }).draw();
  }

  async missing() { // closed long ago, or lost by its store: its lecturer brings it back
    if (this.leads) {
      if (!this.displaced) await this.tell({ here: this.data.here });
      return this.fails("lost");
    }
    this.missed ??= Date.now();
    const over = !this.room || Date.now() - this.missed > MISSING;
    return this.fails(over ? "missing" : "lost");
  }

  fails(state) {
    this.state = state;
    this.draw();
    return false;
  }

  take(room) {
    Object.assign(this, { room, state: room.ended ? "ended" : "in", missed: undefined });
    if (this.leads && room.leader === this.tab.device) this.tab.ruled = true;
    if (this.rules && this.unsent) this.publish();
    this.draw();
  }

  async takes() { // this device leads from now on: a second one goes to where the class is
    const { here } = this.room;
    const stays = this.tab.ruled || !here || same(here, this.data.here);
    this.told = this.data.here;
    this.tab.fresh = false; // its followers are here: no code in their way
    const taken = await this.tell(stays ? { takes: true, here: this.told } : { takes: true });
    if (!taken || stays) return;
    const query = new URLSearchParams({ ...here.query, lang: this.data.lang, room: this.code });
    window.location.href = `${this.root()}${here.page === this.data.home ? "" : here.page}?${query}`;
  }

  tell(message) { // by the lecturer, one after another
    const told = this.telling.then(async () => (await this.post("/lead", message)).ok).catch(() => false);
    this.telling = told;
    return told;
  }

  async publish() {
    const { here } = this.data;
    this.unsent = false;
    this.told = here;
    if (!(await this.tell({ here }))) this.unsent = true;
  }

  stop() { // the key is not this room's
    this.tab = { code: this.code };
    keep(sessionStorage, TAB, {});
  }

  // ---- following, or not

  back() {
    keep(sessionStorage, ALONE, {});
    window.location.reload(); // to be a follower's page
  }

  hear() { // what follow.js was told
    const { room, state, silent, behind } = document.mlaFollow;
    if (!same(this.room?.here, room?.here)) this.pressed = false;
    Object.assign(this, { room, state, silent, behind });
    this.draw();
  }

  led() { // the reader has pressed what the lecturer chooses
    this.pressed = true;
    this.draw();
  }

  listen() {
    const wake = () => {
      if (document.hidden) return;
      this.abort?.abort();
      this.hurry?.();
    };
    this.ends = new AbortController();
    const until = { signal: this.ends.signal, capture: true };
    document.addEventListener("visibilitychange", wake, until);
    window.addEventListener("online", wake, until);
    window.addEventListener("pagehide", () => this.remember(), until);
    window.addEventListener("pageshow", () => { if (this.leads) this.name(); }, until);
    this.due = Infinity;
    this.watch = setInterval(() => {
      const late = Date.now() - this.watched > 1000; // the browser itself was busy: it has not heard yet
      this.watched = Date.now();
      if (!late && !this.silent && this.watched > this.due) Object.assign(this, { silent: true }).draw();
    }, 250);
  }

  // A page was drawn.
  show(data, setTriggerValue) {
    clearTimeout(this.leaving);
    this.data = data;
    this.trigger = setTriggerValue;
    if (data.key && this.tab.key !== data.key) {
      this.tab = { code: this.code, key: data.key, fresh: true };
      this.name();
    }
    if (this.leads && !data.leads) setTriggerValue("leads", true);
    if (this.rules && !same(this.told, data.here)) this.publish();
    if (!this.leads && !this.alone && !document.mlaFollow) window.location.reload(); // to follow
    this.draw();
  }

  away() {
    clearTimeout(this.leaving);
    this.leaving = setTimeout(() => this.remove(), LEFT);
  }

  remove() {
    this.left = true;
    clearInterval(this.watch);
    this.remember();
    this.ends.abort();
    this.abort?.abort();
    this.beside.disconnect();
    this.host.remove();
    this.veil.remove();
    if (document.mlaClass === this) document.mlaClass = null;
  }

  leave() {
    if (this.leads) this.stop();
    else keep(localStorage, SHELF, {});
    keep(sessionStorage, ALONE, {});
    if (!document.mlaFollow) this.trigger("left", true);
    this.remove();
    if (!document.mlaFollow) return;
    const there = new URL(window.location.href);
    there.searchParams.delete("room");
    window.location.href = there;
  }

  // ---- what is drawn

  build() {
    this.host = element(document.body, "div", "mla-class");
    const root = this.host.attachShadow({ mode: "open" });
    element(root, "style", "", CSS);
    this.frame = element(root, "div", "frame");
    this.card = element(this.frame, "section", "card");
    this.card.tabIndex = -1;
    this.bar = element(this.frame, "div", "bar");
    this.bar.setAttribute("role", "status");
    this.large = element(root, "dialog", "large");
    const main = document.querySelector("[data-testid=stMain]"); // beside the sidebar, where there is one
    this.beside = new ResizeObserver(() => { this.frame.style.left = `${main.getBoundingClientRect().left}px`; });
    if (main) this.beside.observe(main);
    this.veil = element(document.head, "style");
  }

  draw() {
    const scheme = getComputedStyle(document.querySelector(".stApp") ?? document.body).colorScheme;
    this.host.style.colorScheme = scheme;
    this.frame.classList.toggle("leads", this.leads);
    const { texts, lang } = this.data;
    const looks = [this.state, this.silent, this.behind, this.leads, this.displaced, this.alone, this.pressed, lang, Boolean(document.mlaOffer), Boolean(this.room?.question)];
    if (this.looks !== JSON.stringify(looks)) {
      this.looks = JSON.stringify(looks);
      this.bar.replaceChildren();
      if (this.leads) this.leader(texts);
      else this.follower(texts);
    }
    if (this.rules && this.state === "in" && !this.silent) this.bar.querySelector(".says").textContent = filled(texts.present, { n: this.room.present });
    this.question(this.state === "ended" ? null : this.room?.question);
    if (this.tab.fresh && this.room && this.rules) this.enlarge();
    this.large.querySelector(".present")?.replaceChildren(filled(texts.present, { n: this.room?.present ?? 0 }));
  }

  follower(texts) {
    const { state } = this;
    const over = state === "ended" || state === "missing" || state === "full";
    const lost = !over && (state === "lost" || this.silent);
    const follows = this.behind ? texts.behind : this.pressed ? texts.led : texts.follows;
    const says = over ? texts[state] : lost ? texts.lost : state === "joining" ? texts.joining : this.alone ? texts.alone : follows;
    this.bar.classList.toggle("warns", over || lost);
    element(this.bar, "span", "says", filled(says, { code: this.data.spaced }));
    if (over) button(this.bar, "main", texts.leave, () => this.leave());
    else if (this.alone) button(this.bar, "main", texts.back, () => this.back());
    else button(this.bar, this.pressed ? "main" : "", texts.look, () => document.mlaFollow.look());
    if (this.elsewhere) button(this.bar, "", texts.own, () => this.goes(this.elsewhere));
    if (!over) this.out(texts);
  }

  goes(room) {
    const there = new URL(window.location.href);
    there.searchParams.set("room", room);
    window.location.href = there;
  }

  out(texts) {
    const close = button(this.bar, "quiet", "×", () => this.leave());
    close.title = texts.leave;
    close.setAttribute("aria-label", texts.leave);
  }

  leader(texts) {
    const lost = this.state !== "in" || this.silent;
    this.bar.classList.toggle("warns", lost || this.displaced);
    const code = button(this.bar, "code", this.data.spaced, () => this.enlarge());
    code.title = texts.enlarge;
    const says = this.state === "ended" ? texts.ended : lost ? texts.unreached : !this.displaced ? "" : this.tab.ruled ? texts.taken : texts.takes;
    element(this.bar, "span", "says", says);
    if (this.state === "ended") button(this.bar, "main", texts.leave, () => this.leave());
    else if (lost) return;
    else if (this.displaced) {
      button(this.bar, "main", this.tab.ruled ? texts.take_back : texts.take, () => this.takes());
      this.out(texts);
    }
    else if (document.mlaOffer && !this.room?.question) button(this.bar, "main", texts.put, () => this.tell({ put: document.mlaOffer.text, seal: document.mlaOffer.seal }));
  }

  // The code in very large type, for the last row.
  enlarge() {
    const { texts, spaced, link, qr } = this.data;
    if (!qr) return; // with the next page
    this.tab.fresh = false;
    this.name();
    this.large.replaceChildren();
    this.large.setAttribute("aria-label", texts.enlarge);
    const words = element(this.large, "div", "words");
    element(words, "p", "how", texts.how);
    element(words, "p", "address", link.replace(/^https?:\/\//, "").replace(/\/?\?.*$/, ""));
    element(words, "p", "how", texts.type);
    element(words, "p", "huge", spaced);
    if (this.data.local) element(words, "p", "warning", this.data.local);
    element(words, "p", "present", filled(texts.present, { n: this.room?.present ?? 0 }));
    element(this.large, "div", "qr").innerHTML = qr; // the server's own picture
    const ways = element(this.large, "div", "ways");
    const key = element(ways, "details");
    element(key, "summary", "", texts.key);
    element(key, "p", "", texts.key_says);
    element(key, "code", "", this.tab.key);
    const end = button(ways, "", texts.end, () => {
      if (end.textContent === texts.end) end.textContent = texts.end_sure;
      else this.tell({ ended: true }).then(() => this.large.close());
    });
    button(ways, "main", texts.close, () => this.large.close());
    if (!this.large.open) this.large.showModal();
  }

  hide(question) { // what would give the answer away
    const open = question && !question.shown;
    const rules = covering(open ? question.hides.map((name) => `.st-key-${name}`) : [], this.data.texts.covered);
    if (question) rules.push(".st-key-guess { display: none; }");
    this.veil.textContent = [AROUND, ...rules].join(" ");
    const guess = document.mlaGuess;
    if (!question?.shown || !question.guess || guess?.data?.key !== question.guess) return;
    guess.settle(this.own.asks === question.id ? this.own.choice : null);
  }

  question(question) {
    this.hide(question);
    const name = question ? `${question.id}${question.shown}${this.leads}${this.rules}${this.data.lang}` : "";
    this.card.hidden = !question || this.shut === name;
    if (!question) {
      this.asked = "";
      return;
    }
    if (this.asked !== name) {
      const inside = this.card.matches(":focus-within");
      this.asked = name;
      this.card.replaceChildren();
      this.put(question, name);
      if (inside) this.card.focus({ preventScroll: true });
    }
    if (question.counts) this.count(question);
  }

  put(question, name) {
    const { texts, lang } = this.data;
    const words = question.words[lang] ?? Object.values(question.words)[0];
    const line = element(this.card, "p", "asks");
    line.innerHTML = words.asks; // sealed by the server
    if (!this.leads) line.setAttribute("role", "status");
    const given = this.own.asks === question.id ? this.own.choice : null;
    this.card.setAttribute("aria-label", texts.question);
    const ways = document.createElement("div");
    ways.className = "ways";
    if (this.leads || question.shown) this.histogram(question, words, given);
    else this.form(question, words, given, ways);
    if (question.shown) {
      const told = element(this.card, "p", "why");
      element(told, "b", "", filled(texts.true, { answer: words.true }));
      told.insertAdjacentHTML("beforeend", ` ${words.why}`);
    }
    this.card.append(ways);
    if (this.leads) {
      this.sum = element(ways, "span", "sum");
      if (this.rules) button(ways, "", texts.drop, () => this.tell({ dropped: true }));
      if (this.rules && !question.shown) button(ways, "main", texts.reveal, () => this.tell({ shown: question.id }));
    } else if (question.shown) {
      button(ways, "main", texts.close, () => {
        this.shut = name;
        this.card.hidden = true;
      });
    }
  }

  form(question, words, given, ways) {
    const { texts } = this.data;
    let choice = given;
    const place = element(this.card, "div", question.scale ? "scale" : "answers");
    const send = button(ways, "main", texts.send, async () => {
      send.disabled = true;
      const answer = await this.post("/answer", { question: question.id, choice }).catch(() => null);
      const why = answer && !answer.ok ? await answer.json().catch(() => ({})) : {};
      if (answer?.ok || why.refused === "twice") {
        Object.assign(this.own, { asks: question.id, choice: answer.ok ? choice : null });
        keep(localStorage, SHELF, this.own);
        this.asked = "";
        this.draw();
        return;
      }
      send.disabled = false;
      says.textContent = why.said?.[this.data.lang] ?? texts.unsent;
    });
    const done = this.own.asks === question.id;
    send.disabled = true;
    const says = element(ways, "span", "sum", done ? texts.counted : "");
    says.setAttribute("role", "status");
    send.hidden = done;
    const chosen = (at) => {
      choice = at;
      send.disabled = false;
    };
    if (question.scale) this.slider(place, words, given, done, chosen);
    else this.choices(place, words, given, done, chosen);
  }

  choices(place, words, given, done, chosen) {
    const all = words.answers.map((text, at) => button(place, "answer", text, () => {
      chosen(at);
      all.forEach((one, other) => one.setAttribute("aria-pressed", other === at));
    }));
    all.forEach((one, at) => {
      one.setAttribute("aria-pressed", at === given);
      one.disabled = done;
    });
  }

  slider(place, words, given, done, chosen) {
    const shown = element(place, "output", "", given === null ? "?" : words.answers[given]);
    const input = element(place, "input");
    const most = words.answers.length - 1;
    Object.assign(input, { type: "range", min: 0, max: most, step: 1, value: given ?? Math.round(most / 2), disabled: done });
    input.setAttribute("aria-label", this.data.texts.question);
    const ends = element(place, "p", "ends");
    element(ends, "small", "", words.answers[0]);
    element(ends, "small", "", words.answers.at(-1));
    input.oninput = () => {
      shown.textContent = words.answers[input.value];
      input.setAttribute("aria-valuetext", shown.textContent);
      chosen(Number(input.value));
    };
  }

  histogram(question, words, given) {
    const chart = element(this.card, "div", question.scale ? "bars along" : "bars");
    const marks = (at) => (question.shown && Math.round(question.right) === at ? " right" : "") + (given === at ? " mine" : "");
    this.bars = words.answers.map((text, at) => {
      const row = element(chart, "div", `row${marks(at)}`);
      if (question.scale) row.title = text;
      else element(row, "span", "name", (marks(at).includes("right") ? "✓ " : "") + text);
      const bar = element(element(row, "span", "rail"), "i", "fill");
      return { row, bar, number: question.scale ? null : element(row, "b", "number") };
    });
    if (!question.scale) return;
    if (question.shown) element(chart, "b", "truth", words.true).style.setProperty("--at", (question.right + 0.5) / words.answers.length);
    const ends = element(this.card, "p", "ends");
    element(ends, "small", "", words.answers[0]);
    element(ends, "small", "", words.answers.at(-1));
  }

  count(question) {
    const all = question.counts.reduce((sum, one) => sum + one, 0);
    const most = Math.max(1, ...question.counts);
    question.counts.forEach((count, at) => {
      const { bar, number } = this.bars[at];
      bar.style.setProperty("--share", question.scale ? count / most : count / Math.max(1, all));
      if (number) number.textContent = count ? `${count} · ${Math.round((100 * count) / all)} %` : "0";
    });
    if (this.leads) this.sum.textContent = filled(this.data.texts.answers, { n: all, all: this.room.present });
  }
}

export default function ({ data, setTriggerValue }) {
  if (document.mlaClass && document.mlaClass.code !== data.code) document.mlaClass.remove();
  const room = (document.mlaClass ??= new Room(data));
  room.show(data, setTriggerValue);
  return () => room.away();
}
