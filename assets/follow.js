// A page in a class. Where it follows the lecturer, Streamlit's front end gets the messages of the
// lecturer's page by a socket of the class (ui/server/classes/following.py) in place of the server's
// own (stand_in.js, before this): no page runs for it. The class itself is drawn by classroom.js, which is told what comes.
(() => {
  const told = JSON.parse(document.querySelector("#follow").textContent);
  const root = new URL("./", location.href);
  const [SHELF, TAB] = ["mla-class", "mla-class-tab"]; // as in classroom.js
  const AGAIN = 1000; // milliseconds after which what failed is tried again, up to twice as long
  const SILENCE = 25000; // after which a line is dead: the server says something every 10 s
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
  const tab = kept("sessionStorage", TAB);
  if (tab.key || tab.alone) return; // the live app

  const own = kept("localStorage", SHELF);
  const follow = document.mlaFollow = { own, state: "joining", room: null, look };
  let front, line, shown, missed; // the front end's socket, ours, what it shows
  let bodies = new Map(); // of the present page, by their names
  let heard = 0;
  let before = Promise.resolve();

  function tell(state, room = follow.room) {
    Object.assign(follow, { state, room });
    document.mlaClass?.hear();
  }

  async function look() { // the live app at this address, or in line for it, outside the class
    const { place } = await fetch(new URL("_place", root)).then((one) => one.json()).catch(() => ({ place: 0 }));
    const there = new URL(location.href);
    const stays = !place && keep("sessionStorage", TAB, { ...tab, alone: true });
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
    if (!follow.room && !["stranger", "hurry"].includes(why)) return look(); // the app says it there
    return tell("lost");
  }

  async function joined() {
    const answer = await fetch(new URL(`_class/${told.code}/join`, root), { method: "POST", body: "{}" });
    const said = await answer.json();
    if (!answer.ok) return refused(said.refused);
    own.token = said.token;
    return keep("localStorage", SHELF, own);
  }

  async function connect() {
    const again = () => setTimeout(connect, AGAIN * (1 + Math.random()));
    if (!own.token) await joined().catch(() => tell("lost"));
    if (!own.token) return again();
    line = new Socket(new URL(`_class/${told.code}/follow`, root.href.replace(/^http/, "ws")));
    line.binaryType = "arraybuffer";
    line.onopen = () => {
      heard = Date.now();
      const said = new URLSearchParams(location.search);
      const mine = Object.fromEntries(told.own.filter((name) => said.has(name)).map((name) => [name, said.get(name)]));
      line.send(JSON.stringify({ token: own.token, lang: navigator.language, root: root.href, own: mine, shows: shown?.name ?? "" }));
    };
    line.onmessage = ({ data }) => {
      heard = Date.now();
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

  const wake = () => { if (!document.hidden && Date.now() - heard > SILENCE) line?.close(); };
  setInterval(wake, SILENCE);
  document.addEventListener("visibilitychange", wake);
  window.addEventListener("online", () => line?.close());
  connect();
})();
