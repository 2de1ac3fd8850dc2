// Heatmap clicks and clicker keys for Python. A click sends {chart, x, y}; PageUp and
// PageDown always step, except in a multi-line text box; the arrows only when no widget has the
// focus that uses them itself: a plain button does not, one of a group of choices (it has a role)
// does. Sent is the sum of all presses, so that none is lost in a burst; the count outlives this
// component, which is mounted anew on each page.
const steps = { PageDown: 1, PageUp: -1, ArrowRight: 1, ArrowLeft: -1 };
const BETWEEN_PAGES = 3000; // milliseconds for which presses wait for the next page to listen

function stepOf(event) {
  if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey) return 0;
  const focus = document.activeElement;
  if (focus && focus.tagName === "TEXTAREA") return 0;
  const free = !focus || focus.matches("body, [data-testid=stMain], button:not([role])");
  return event.key.startsWith("Arrow") && !free ? 0 : steps[event.key];
}

function startClicker() {
  const clicker = { session: null, total: 0, send: null, left: 0, waiting: false };
  window.addEventListener("keydown", (event) => {
    const step = stepOf(event);
    if (!step || (!clicker.send && Date.now() - clicker.left > BETWEEN_PAGES)) return;
    event.preventDefault();
    event.stopPropagation();
    const focus = document.activeElement;
    if (focus && focus.tagName === "INPUT") focus.blur(); // a text box hands over what was typed
    clicker.total += step;
    if (clicker.send) clicker.send(clicker.total);
    else clicker.waiting = true;
  }, true);
  return clicker;
}

export default function ({ data, setTriggerValue, setStateValue }) {
  const attach = () => document.querySelectorAll(".js-plotly-plot").forEach((plot) => {
    if (plot.mlaBridge) return;
    plot.mlaBridge = true;
    plot.on("plotly_click", (event) => {
      const { x, y } = event.points[0];
      const chart = plot.layout.meta && plot.layout.meta.chart;
      if (chart) setTriggerValue("cell", { chart, x, y });
    });
  });
  const remounted = new MutationObserver(attach);
  if (data.cells) attach();
  if (data.cells) remounted.observe(document.body, { childList: true, subtree: true });

  const clicker = (document.mlaClicker ??= startClicker());
  const send = (total) => setStateValue("presses", total);
  if (clicker.session !== data.session) {
    Object.assign(clicker, { session: data.session, total: data.seen, waiting: false });
  }
  if (data.keys) clicker.send = send;
  if (data.keys && clicker.waiting) send(clicker.total);
  if (data.keys) clicker.waiting = false;
  return () => {
    remounted.disconnect();
    if (clicker.send === send) Object.assign(clicker, { send: null, left: Date.now() });
  };
}
