// A page in a class. Where it follows the lecturer, Streamlit's front end gets the messages of the
// lecturer's page by a socket of the class (ui/server/classes/following.py) in place of the server's
// own (stand_in.js, before this): no page runs for it. The class itself is drawn by classroom.js, which is told what comes.
(() => {
  const told = JSON.parse(document.querySelector("#follow").textContent);
  const root = new URL("./", location.href);
  const [SHELF, TAB, ALONE] = ["mla-class", "mla-class-tab", "mla-class-alone"]; // as in classroom.js
  const AGAIN = 1000; // milliseconds after which what failed is tried again, up to twice as long
  const LOOKS = 250; // between two looks at what has come
  const SILENCE = 2500; // after which the reader is told: the server says something every second
  const DEAD = 15000; // after which a silent line is given up for another
  const BEHIND = 1000; // for which a page may be on its way before the reader is told
  const ASKS = 5000; // after which it is asked for again
  const MISSING = 60000; // for which a room that was there may come back
  const RERUN = (11 << 3) | 2; // begins the front end's message that asks for a run
  const utf8 = new TextDecoder();

  const kept = (shelf, name) => {
    try {
      const found = JSON.parse(window[shelf][name] ?? "{}");
      return found.code === told.code ? found : { code: told.code };
    } catch {
      return { code: told.code };
    }
  };
  const keep = (shelf, name, value) => {
    try {
      window[shelf][name] = JSON.stringify(value);
      return true;
    } catch {
      return false;
    }
  };
  if (kept("sessionStorage", TAB).key || kept("sessionStorage", ALONE).alone) return; // the live app

  const own = kept("localStorage", SHELF);
  const follow = document.mlaFollow = { own, state: "joining", room: null, silent: false, behind: false, look };
  let front, line, shown, missed; // the front end's socket, ours, what it shows
  let bodies = new Map(); // of the present page, by their names
  let heard = Date.now();
  let agreed = heard; // when what is shown was last what is to be shown
  let looked = heard;
  let asked = heard;
  let began = heard; // the line
  let before = Promise.resolve();

  function tell(state, room = follow.room, more = {}) {
    Object.assign(follow, { state, room, ...more });
    document.mlaClass?.hear();
  }

  function hears() {
    heard = Date.now();
    if (follow.silent) tell(follow.state, follow.room, { silent: false });
  }

  const sign = Object.assign(document.createElement("p"), { role: "status" });
  sign.style = "position: fixed; inset: auto 0 1rem; z-index: 1000; margin: 0; padding: 0.5rem; text-align: center; font: 1rem sans-serif; color-scheme: light dark; color: CanvasText; background: Canvas";

  function say() { // what classroom.js says as soon as there is a page
    const lost = follow.silent || follow.state === "lost";
    sign.textContent = told.says[lost ? "lost" : "joining"];
    if (document.mlaClass || shown) sign.remove();
    else if (document.body && !sign.isConnected && Date.now() - agreed > BEHIND) document.body.append(sign);
  }

  function watch() { // what is shown and what is to be shown, until they agree
    const now = Date.now();
    const slept = now - looked > 4 * LOOKS; // the browser itself was busy or asleep: it has not heard yet
    looked = now;
    if (slept) return;
    const silent = now - heard > SILENCE;
    if (shown && (!follow.place || follow.place === shown.place)) agreed = now;
    say();
    const behind = now - agreed > BEHIND;
    if (silent !== follow.silent || behind !== follow.behind) tell(follow.state, follow.room, { silent, behind });
    if (now - Math.max(heard, began) > DEAD && line?.readyState <= 1) line.close();
    if (now - Math.max(agreed, asked) > ASKS && line?.readyState === 1) {
      asked = now;
      line.send(shown?.name ?? "");
    }
  }

  async function look() { // the live app at this address, or in line for it, outside the class
    const { place } = await fetch(new URL("_place", root)).then((one) => one.json()).catch(() => ({ place: 0 }));
    const there = new URL(location.href);
    const stays = !place && keep("sessionStorage", ALONE, { code: told.code, alone: true });
    if (!stays) there.searchParams.delete("room");
    if (stays) location.reload();
    else location.href = there;
  }

  async function refused(why) {
    if (follow.state === "ended") return null;
    if (why === "stranger") delete own.token; // of another room under this code
    if (why === "no_room" && follow.room) {
      missed ??= Date.now();
      return tell(Date.now() - missed > MISSING ? "missing" : "lost");
    }
    if (why === "crowd") return tell(follow.state); // many come at once: again in a moment
    if (!follow.room && !["stranger", "hurry"].includes(why)) return look(); // the app says it there
    return tell("lost");
  }

  async function joined() {
    const answer = await fetch(new URL(`_class/${told.code}/join`, root), { method: "POST", body: "{}" });
    const said = await answer.json();
    hears();
    if (!answer.ok) return refused(said.refused);
    own.token = said.token;
    return keep("localStorage", SHELF, own);
  }

  async function connect() {
    const again = () => setTimeout(connect, AGAIN * (1 + Math.random()));
    if (!own.token) await joined().catch(() => tell("lost"));
    if (!own.token) return again();
    began = Date.now();
    line = new Socket(new URL(`_class/${told.code}/follow`, root.href.replace(/^http/, "ws")));
    line.binaryType = "arraybuffer";
    line.onopen = () => {
      hears();
      const said = new URLSearchParams(location.search);
      const mine = Object.fromEntries(told.own.filter((name) => said.has(name)).map((name) => [name, said.get(name)]));
      line.send(JSON.stringify({ token: own.token, lang: navigator.language, root: root.href, own: mine, shows: shown?.name ?? "" }));
    };
    line.onmessage = ({ data }) => {
      hears();
      if (typeof data !== "string") before = before.then(() => take(data)).catch(() => line.close());
      else hear(JSON.parse(data));
    };
    line.onclose = () => {
      if (follow.state === "ended") return;
      if (follow.state !== "missing") tell("lost");
      again();
    };
    return null;
  }

  function hear(said) {
    if (said.refused) refused(said.refused);
    else if ("here" in said) {
      missed = undefined;
      follow.place = said.place;
      tell(said.ended ? "ended" : "in", said);
    }
  }

  async function take(data) { // a page: a line of JSON, then the bytes that it tells of
    const plain = new Response(data).body.pipeThrough(new DecompressionStream("gzip"));
    const bytes = new Uint8Array(await new Response(plain).arrayBuffer());
    let at = bytes.indexOf(10) + 1;
    const next = (size) => bytes.subarray(at, at += size);
    const page = JSON.parse(utf8.decode(bytes.subarray(0, at)));
    const have = new Map(bodies);
    for (const [name, size] of page.new) have.set(name, next(size));
    bodies = new Map();
    page.messages = page.messages.map(([size, name]) => {
      const first = next(size);
      const rest = name ? have.get(name) : new Uint8Array();
      if (name) bodies.set(name, rest);
      const data = new Uint8Array(first.length + rest.length);
      data.set(first);
      data.set(rest, first.length);
      return data.buffer;
    });
    shown = page;
    show();
    watch();
  }

  function show() {
    if (!shown || front?.readyState !== 1) return;
    const place = shown.page === told.home ? "" : shown.page;
    history.replaceState(history.state, "", `${root.pathname}${place}?${shown.query}`);
    for (const data of shown.messages) front.dispatchEvent(new MessageEvent("message", { data }));
  }

  class Front extends StandIn { // to the front end its server, whose page the lecturer leads
    constructor() {
      super();
      front = this;
      setTimeout(() => this.open());
    }

    send(bytes) { // the page as it is led; a reader who pressed something is told why it goes back
      if (new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, 1)[0] !== RERUN) return;
      show();
      if (this.asked && navigator.userActivation?.isActive) document.mlaClass?.led();
      this.asked = true;
    }
  }

  const Socket = standIn(root, Front);

  setInterval(watch, LOOKS);
  window.addEventListener("online", () => line?.close());
  connect();
})();
