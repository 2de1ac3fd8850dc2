// Lecture mode: the main picture as large as the screen has room for, and Escape for Python.
const BUSY = "dialog[open], [role=dialog], [role=listbox], [role=menu]";
const BASE = 17; // pixels: the type size of the page beside which the charts are drawn
const WORDS = 16; // pixels: the type size in the charts
const LEAST = 0.0135; // of the screen's width: what can be read from the last row
const LOWEST = 0.5; // of a chart's own size
const ROW = 20; // pixels: charts that begin as high as the first one stand beside it

function isFull(frame) {
  return [frame, ...frame.children].some((e) => getComputedStyle(e).position === "fixed");
}

// An open dialog, list or full-screen chart takes Escape for itself.
function busy() {
  const frames = [...document.querySelectorAll("[data-testid=stFullScreenFrame]")];
  return frames.some(isFull) || document.querySelector(BUSY) !== null;
}

function fit() {
  const main = document.querySelector("[data-testid=stMain]");
  const charts = [...main.querySelectorAll(".stPlotlyChart")];
  if (!charts.length) return;
  const top = (chart) => chart.getBoundingClientRect().top + main.scrollTop;
  const row = charts.filter((chart) => top(chart) - top(charts[0]) < ROW);
  const tallest = Math.max(...row.map((chart) => parseFloat(chart.style.getPropertyValue("--height"))));
  const type = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const room = window.innerHeight - top(charts[0]) - type / 2;
  const least = (LEAST * window.innerWidth) / WORDS;
  const wanted = Math.max(type / BASE, least);
  const scrolled = room <= 0 || main.querySelector(".st-key-lecture_says"); // the story does it
  const most = Math.max(scrolled ? least : LOWEST, room / tallest);
  const zoom = Math.min(wanted, most).toFixed(3);
  document.documentElement.style.setProperty("--zoom", zoom);
  document.documentElement.style.setProperty("--room", `${Math.floor(room)}px`);
}

export default function ({ setTriggerValue }) {
  const onKey = (event) => {
    if (event.key === "Escape" && !busy()) setTriggerValue("escape", true);
  };
  const resized = new ResizeObserver(fit);
  const redrawn = new MutationObserver(fit);
  resized.observe(document.querySelector("[data-testid=stMain]"));
  resized.observe(document.querySelector(".stMainBlockContainer"));
  redrawn.observe(document.querySelector("[data-testid=stMain]"), { childList: true, subtree: true });
  window.addEventListener("keydown", onKey, true);
  fit();
  return () => {
    resized.disconnect();
    redrawn.disconnect();
    window.removeEventListener("keydown", onKey, true);
    for (const name of ["--zoom", "--room"]) document.documentElement.style.removeProperty(name);
  };
}
