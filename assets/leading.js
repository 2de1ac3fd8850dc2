// Before the page asks for anything: a tab that leads a class goes on leading it, also where the
// address names no class, as one that was typed or kept as a bookmark.
(() => {
  const there = new URL(location.href);
  if (there.searchParams.has("room")) return;
  try {
    const { code, key } = JSON.parse(sessionStorage["mla-class-tab"] ?? "{}"); // as in classroom.js
    if (!key) return;
    there.searchParams.set("room", code);
    history.replaceState(history.state, "", there);
  } catch { /* a browser that keeps nothing */ }
})();
