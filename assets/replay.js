// The server of a static copy. Streamlit's front end asks over a socket for a run of a page: here it
// gets the messages that were recorded for the address that a choice leads to. What it takes for
// granted of the protocol is told in ui/site/protocol.py.
(() => {
  const FORMAT = 1; // of the index and the files, as ui/site/index.py writes them
  const root = new URL("./", document.currentScript.src);
  const told = JSON.parse(document.querySelector("#copy").textContent);
  const utf8 = new TextDecoder();
  const lang = () => (new URLSearchParams(location.search).get("lang") ?? told.lang);
  const words = () => told.texts[lang()] ?? told.texts.en;

  try {
    window.localStorage.length;
    window.sessionStorage.length;
  } catch { // switched off: this page alone remembers
    for (const name of ["localStorage", "sessionStorage"]) {
      const kept = new Map();
      const value = {
        getItem: (key) => kept.get(key) ?? null, setItem: (key, text) => kept.set(key, String(text)),
        removeItem: (key) => kept.delete(key), clear: () => kept.clear(),
        key: (n) => [...kept.keys()][n] ?? null, get length() { return kept.size; },
      };
      Object.defineProperty(window, name, { value });
    }
  }

  function here() { // the page and the settings in the browser's address
    const path = location.pathname.slice(root.pathname.length).replace(/\/?(index\.html)?$/, "");
    return { page: path, query: location.search };
  }

  document.addEventListener("readystatechange", () => { // before the front end's script runs
    if (told.lang !== "en") { // a page of another language: the address says so, as the app's do
      const query = new URLSearchParams(location.search);
      query.set("lang", told.lang);
      for (const icon of document.querySelectorAll("link[rel~=icon]")) icon.href = icon.href; // whole
      history.replaceState(null, "", `${root.pathname}${told.page}?${query}${location.hash}`);
    }
    const says = told.stills[lang()];
    const still = document.querySelector("#still");
    if (!says || lang() === told.lang || !still) return;
    document.title = says.tab;
    document.documentElement.lang = says.tag;
    still.querySelector("h1").textContent = says.title;
    still.querySelector("p").textContent = says.says;
    still.querySelector("img").src = new URL(says.picture, root);
  }, { once: true });

  function line(text) { // one line above all else, with the ways to the live app
    document.querySelector("#copy-says")?.remove();
    const note = document.createElement("p");
    Object.assign(note, { id: "copy-says", textContent: `${text} ` });
    note.setAttribute("role", "status");
    if (told.app) {
      const way = document.createElement("a");
      const { page, query } = here();
      Object.assign(way, { href: `${told.app}/${page}${query}`, textContent: words().live });
      note.append(way, " · ");
    }
    const command = document.createElement("code");
    command.textContent = [told.source && `git clone ${told.source}`, "make run"].filter(Boolean).join("; ");
    note.append(`${words().run} `, command);
    document.body.append(note);
  }

  let failed = false;
  function fail(name) { // the still stays, and says why
    if (failed) return;
    failed = true;
    const show = () => line(words()[name]);
    if (document.body) show();
    else addEventListener("DOMContentLoaded", show);
  }

  async function read(path) {
    const found = await fetch(new URL(path, root));
    if (!found.ok) throw new Error(`${path}: ${found.status}`);
    return found;
  }

  const files = new Map(); // name -> its bytes, asked for once
  function unpacked(name) {
    if (!files.has(name)) {
      files.set(name, read(`run/${name}.bin`).then(async (found) => {
        const plain = found.body.pipeThrough(new DecompressionStream("gzip"));
        return new Uint8Array(await new Response(plain).arrayBuffer());
      }).catch((error) => { files.delete(name); throw error; }));
    }
    return files.get(name);
  }

  const ready = (async () => {
    if (!window.DecompressionStream) throw fail("old_browser");
    const index = await (await read("index.json")).json();
    if (index.format !== FORMAT || told.format !== FORMAT) throw fail("other_version");
    return index;
  })();
  ready.catch(() => fail("damaged"));
  addEventListener("error", ({ target }) => { if (target.tagName === "SCRIPT") fail("damaged"); }, true);

  function* fields(bytes) { // of a protobuf message: [number, value]
    let at = 0;
    const varint = () => {
      let [value, scale] = [0, 1];
      for (;;) {
        const byte = bytes[at++];
        value += (byte & 127) * scale;
        if (byte < 128) return value;
        scale *= 128;
      }
    };
    while (at < bytes.length) {
      const tag = varint();
      const kind = tag & 7;
      if (kind === 0) yield [tag >> 3, varint()];
      else {
        const size = kind === 2 ? varint() : kind === 1 ? 8 : 4;
        yield [tag >> 3, bytes.subarray(at, at += size)];
      }
    }
  }

  const double = (bytes) => new DataView(bytes.buffer, bytes.byteOffset).getFloat64(0, true);
  const SAYS = { // of a widget, by the number of its field: as the index has it
    2: (value) => Boolean(value), // pressed
    3: (value) => (value ? "true" : "false"),
    4: (bytes) => (Number.isInteger(double(bytes)) ? `${double(bytes)}.0` : String(double(bytes))),
    6: (bytes) => utf8.decode(bytes),
    9: (bytes) => [...fields(bytes)].map(([, one]) => utf8.decode(one)).join("\n"),
    10: (bytes) => JSON.parse(utf8.decode(bytes)),
    16: (bytes) => JSON.parse(utf8.decode(bytes)),
  };

  function asked(bytes) { // a message of the front end: the page, its query, what widgets say
    const rerun = [...fields(bytes)].find(([number]) => number === 11)?.[1];
    if (!rerun) return null;
    const want = { query: "", page: "", hash: "", history: false, widgets: new Map() };
    for (const [number, value] of fields(rerun)) {
      if (number === 1) want.query = utf8.decode(value);
      if (number === 3) want.hash = utf8.decode(value);
      if (number === 4) want.page = utf8.decode(value);
      if (number === 9) want.history = Boolean(value);
      if (number === 2) for (const [, state] of fields(value)) {
        const parts = new Map(fields(state));
        const id = utf8.decode(parts.get(1));
        const [kind] = [...parts.keys()].filter((one) => one in SAYS);
        if (kind) want.widgets.set(id, SAYS[kind](parts.get(kind)));
      }
    }
    return want;
  }

  const address = (page, query) => {
    const pairs = [...query].filter(([name, text]) => !(name === "lang" && text === "en"));
    const bare = (text) => text.replaceAll("%", "%25").replaceAll("&", "%26");
    pairs.sort(([a], [b]) => (a < b ? -1 : 1));
    return `${page}?${pairs.map(([name, text]) => `${name}=${bare(text)}`).join("&")}`;
  };
  const parts = (node) => {
    const at = node.indexOf("?");
    const pairs = node.slice(at + 1).split("&").filter(Boolean);
    return [node.slice(0, at), new Map(pairs.map((pair) => {
      const middle = pair.indexOf("=");
      const text = pair.slice(middle + 1).replaceAll("%26", "&").replaceAll("%25", "%");
      return [pair.slice(0, middle), text];
    }))];
  };
  const keyOf = (id) => id.split("-").slice(2).join("-");

  class Replay extends StandIn {
    constructor() {
      super();
      this.press = 0; // on a cell, the last that was answered
      ready.then((index) => this.open({ index, turn: 0 }), () => {});
    }

    send(bytes) {
      const want = asked(new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength));
      if (want) this.answer(this.where(want));
    }

    where(want) { // the address that is asked for; null where it was not recorded
      const { index } = this;
      const page = want.hash ? index.pages[want.hash] : want.page.replace(/\/$/, "") || index.home;
      const query = new Map(new URLSearchParams(want.query));
      if (this.here && !want.history && page === parts(this.here)[0]) return this.chosen(want);
      return this.opened(page, query, Boolean(this.here) && !want.history);
    }

    opened(page, query, carried) { // a link: what it brings along counts only where that was recorded
      for (const [old, name] of Object.entries(this.index.former)) {
        if (query.has(old) && !query.has(name)) query.set(name, query.get(old));
        query.delete(old);
      }
      const whole = address(page, query);
      if (whole in this.index.files) return whole;
      const own = query.get("lang") ?? "en";
      const bare = address(page, new Map([["lang", own]]));
      this.lost = !carried && query.size > Number(query.has("lang"));
      return bare in this.index.files ? bare : address(page, new Map());
    }

    chosen({ widgets }) { // what widgets say that they did not say before
      const [page, query] = parts(this.here);
      let changed = false;
      for (const [id, said] of widgets) {
        const key = keyOf(id);
        if (said === true) return this.pressed(key, page, query);
        if (said?.cell) { // the latest press on one, which every message names
          if (said.cell.press <= this.press) continue;
          this.press = said.cell.press;
          return "unrecorded";
        }
        if (said === null || typeof said === "object") {
          const way = this.event(id, said ?? {});
          if (way) return way;
          continue;
        }
        if (!(key in this.shown) || said === this.shown[key]) continue;
        const way = this.led(key, said);
        if (typeof way !== "object") return way;
        changed = true;
        for (const [name, text] of Object.entries(way)) text === null ? query.delete(name) : query.set(name, text);
      }
      return changed ? this.nearest(page, query) : this.here;
    }

    led(key, said) { // an address, or what changes in the present one
      const elsewhere = this.index.elsewhere[this.here]?.[`${key}\n${said}`];
      return elsewhere ?? this.index.choices[key]?.[said];
    }

    nearest(page, query) { // this very address, or the same outside the story
      const whole = address(page, query);
      if (whole in this.index.files) return whole;
      query.delete("stop");
      return address(page, query);
    }

    pressed(key, page, query) {
      const own = query.get("lang") ?? "en";
      const steps = this.index.story[own];
      const number = Number(query.get("stop") ?? 0);
      const start = address(page, new Map([["lang", own]]));
      if (key === "story_start") {
        this.before = this.here;
        return steps[0];
      }
      if (key === "story_next") return steps[number]; // counted from 1
      if (key === "story_previous") return steps[number - 2];
      if (key === "story_leave") return this.before ?? start;
      if (key === "reset_page" || key === "reset_all") return start;
      const way = this.led(key, "");
      if (!way || typeof way === "string") return way ?? null;
      for (const [name, text] of Object.entries(way)) text === null ? query.delete(name) : query.set(name, text);
      return this.nearest(page, query);
    }

    event(id, said) { // of a component: a block of the scene, a step in the presenter's window
      const now = parts(this.here)[1];
      const own = now.get("lang") ?? "en";
      const told = [said].flat().map((one) => one?.value ?? one);
      const name = [said].flat()[0]?.event;
      if (id.includes("story_stage") && Number.isInteger(told[0])) return this.index.story[own][told[0] - 1];
      if (name === "open" && told[0] in this.index.insides) {
        const [page, query] = parts(this.index.insides[told[0]]);
        query.set("lang", own);
        const same = new Map([...query, ["variant", now.get("variant")]].filter(([, text]) => text));
        return [same, query].map((one) => address(page, one)).find((one) => one in this.index.files)
          ?? address(page, query);
      }
      return null;
    }

    async answer(node) {
      const file = this.index.files[node];
      if (!file || this.lost) line(words().unrecorded);
      else if (node !== this.here && !failed) document.querySelector("#copy-says")?.remove();
      this.lost = false;
      if (!file && !this.here) return;
      const to = file ? node : this.here; // what was not recorded: the controls go back
      this.here = to;
      const turn = this.turn += 1;
      try {
        const { head, messages } = await this.read(this.index.files[to]);
        if (turn !== this.turn) return;
        Object.assign(this, { here: head.here in this.index.files ? head.here : to, shown: head.shown });
        for (const data of messages) this.dispatchEvent(new MessageEvent("message", { data }));
        uncover();
      } catch {
        fail("damaged");
      }
    }

    async read(name) { // a run's messages, put together of their pieces
      const bytes = await unpacked(name);
      const end = bytes.indexOf(10);
      const head = JSON.parse(utf8.decode(bytes.subarray(0, end)));
      const shared = new Set(head.messages.flat().filter((one) => typeof one === "string"));
      const bodies = new Map(await Promise.all([...shared].map(async (one) => [one, await unpacked(one)])));
      const run = new TextEncoder().encode(crypto.randomUUID?.() ?? String(Date.now() + Math.random()).padEnd(36, "0").slice(0, 36));
      let at = end + 1;
      const messages = head.messages.map((row) => {
        const pieces = row.map((one) => {
          if (one === null) return run;
          return typeof one === "string" ? bodies.get(one) : bytes.subarray(at, at += one);
        });
        const data = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
        let to = 0;
        for (const piece of pieces) {
          data.set(piece, to);
          to += piece.length;
        }
        return data.buffer;
      });
      if (at !== bytes.length) throw new Error(`${name}: cut`);
      return { head, messages };
    }
  }

  function uncover() { // once the page stands in its place the still goes
    const still = document.querySelector("#still");
    const drawn = document.querySelector("[data-testid=stApp][data-test-script-state=notRunning] h1");
    if (drawn) still?.remove();
    else requestAnimationFrame(uncover);
  }

  const KEYS = { PageDown: "next", PageUp: "previous" };
  addEventListener("keydown", (event) => { // a clicker in the story, as a press of its button
    const button = event.key in KEYS && document.querySelector(`.st-key-story_${KEYS[event.key]} button`);
    if (!button) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    button.click();
  }, true);

  standIn(root, Replay);
})();
