// What the frame does in the browser: on a phone the drawer of the navigation closes after a
// choice; a link to a part of the page leads there; a jump to another page is one step of Back; the
// document says which language it is in.
const PHONE = "(max-width: 768px)"; // where Streamlit lays the navigation over the page
const CHOICES = "[data-testid=stPageLink] a, .st-key-story_start button, .st-key-lecture_start button, .st-key-class_door button";
const CLOSE = "[data-testid=stSidebarCollapseButton] button";

function closeDrawer({ target }) {
  const drawer = target.closest("[data-testid=stSidebar]");
  if (!drawer || !target.closest(CHOICES) || !window.matchMedia(PHONE).matches) return;
  setTimeout(() => drawer.querySelector(CLOSE)?.click()); // once the choice itself is on its way
}

// What opens a dialog or resets the page is done with the menu: it closes.
const LAST = "[data-testid=stPopoverBody] :is(.st-key-share, .st-key-reset_page, .st-key-reset_all) button";

function closeMenu({ target }) {
  if (target.closest(LAST)) setTimeout(() => document.querySelector(".st-key-menu [aria-expanded=true]")?.click());
}

// A link to an element of the page by its key: there, opened where it is closed, with the focus.
function jump(event) {
  const way = event.target.closest(".stHtml a[href^='#']");
  const place = way && document.querySelector(`.st-key-${CSS.escape(way.getAttribute("href").slice(1))}`);
  if (!place) return;
  event.preventDefault();
  const details = place.querySelector("details");
  if (details) details.open = true;
  place.querySelector("summary, button, a")?.focus({ preventScroll: true });
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  place.scrollIntoView({ behavior: still ? "instant" : "smooth" });
}

// Streamlit goes to another page by two entries of the history, the old page with the new settings
// and then the new page. The second takes the first one's place: Back undoes a jump. So does an
// address that differs by the class alone: a class is joined and left, and Back goes on beyond it.
const TOGETHER = 2000; // milliseconds between the two at most

function outside(search) { // the settings of an address, whatever class it names
  const settings = new URLSearchParams(search);
  settings.delete("room");
  return settings.toString();
}

function joinJumps() {
  let changedAt = 0; // when the settings changed on the same page
  const push = window.history.pushState.bind(window.history);
  window.history.pushState = (state, title, url) => {
    const { pathname, search } = new URL(url, window.location.href);
    const moved = pathname !== window.location.pathname;
    const second = moved && search === window.location.search && Date.now() - changedAt < TOGETHER;
    const joins = !moved && search !== window.location.search && outside(search) === outside(window.location.search);
    if (second || joins) window.history.replaceState(state, title, url);
    else push(state, title, url);
    changedAt = moved ? 0 : Date.now();
  };
  const onLink = (event) => { if (event.target.closest("a")) changedAt = 0; }; // one entry, our own
  window.addEventListener("click", onLink, true);
}

function start() {
  joinJumps();
  window.addEventListener("click", jump, true);
  window.addEventListener("click", closeMenu, true);
  window.addEventListener("click", closeDrawer, true);
  return true;
}

export default function ({ data }) {
  document.documentElement.lang = data.language;
  const skip = document.querySelector("[data-testid=stSkipToContent]")?.firstChild; // Streamlit's own
  if (skip) skip.data = data.skip;
  document.mlaFrame ??= start();
}
