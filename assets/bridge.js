// Heatmap clicks and clicker keys for Python. A click sends {chart, x, y}; PageUp and PageDown
// always step, except in a multi-line text box; the arrows only when no widget has the focus that
// uses them itself: a plain button does not, one of a group of choices (it has a role) does.
export default function ({ data, setTriggerValue }) {
  const attach = () => document.querySelectorAll(".js-plotly-plot").forEach((plot) => {
    if (plot.mlaBridge) return;
    plot.mlaBridge = true;
    plot.on("plotly_click", (event) => {
      const { x, y } = event.points[0];
      const chart = plot.layout.meta && plot.layout.meta.chart;
      if (chart) setTriggerValue("cell", { chart, x, y });
    });
  });
  const steps = { PageDown: 1, PageUp: -1, ArrowRight: 1, ArrowLeft: -1 };
  const onKey = (event) => {
    if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey) return;
    const focus = document.activeElement;
    if (focus && focus.tagName === "TEXTAREA") return;
    const free = !focus || focus.matches("body, [data-testid=stMain], button:not([role])");
    if (event.key.startsWith("Arrow") && !free) return;
    event.preventDefault();
    event.stopPropagation();
    if (focus && focus.tagName === "INPUT") focus.blur(); // a text box hands over what was typed
    setTriggerValue("step", steps[event.key]);
  };
  if (data.cells) attach();
  const remounted = new MutationObserver(attach);
  if (data.cells) remounted.observe(document.body, { childList: true, subtree: true });
  if (data.keys) window.addEventListener("keydown", onKey, true);
  return () => {
    remounted.disconnect();
    window.removeEventListener("keydown", onKey, true);
  };
}
