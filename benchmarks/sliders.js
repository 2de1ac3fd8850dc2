// Watches what a press draws: when the first and the last frame were in which a chart changed.
(() => {
  const main = document.querySelector("[data-testid=stMain]");
  const app = document.querySelector("[data-testid=stApp]");
  const isChart = (node, came) => // a part of one, or something new around one
    node.closest?.(watch.part) || (came && node.querySelector?.(".js-plotly-plot"));
  const watch = { part: ".stPlotlyChart", pressed: 0, first: 0, last: 0, ran: false, drawn: 0 };
  window.sliderWatch = watch;

  const silent = (name) => ["tabindex", "data-tensor"].includes(name) || name?.startsWith("aria-"); // draw nothing
  const touched = ({ target, addedNodes, attributeName }) => !silent(attributeName) &&
    [target.nodeType === 1 ? target : target.parentElement, ...addedNodes]
      .some((node, n) => node && isChart(node, n > 0));
  let changed = false;
  new MutationObserver((records) => { changed ||= records.some(touched); })
    .observe(main, { subtree: true, childList: true, attributes: true, characterData: true });
  new MutationObserver(() => { watch.ran ||= app.dataset.testScriptState === "running"; })
    .observe(app, { attributes: true });
  const frame = () => {
    const now = performance.now(); // what was drawn for this frame is done
    if (changed) [watch.first, watch.last, watch.drawn, changed] = [watch.first || now, now, watch.drawn + 1, false];
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  const begin = () => {
    Object.assign(watch, { pressed: performance.now(), first: 0, last: 0, ran: false, drawn: 0 });
  };
  for (const name of ["keydown", "pointerdown"]) window.addEventListener(name, begin, true);

  const QUIET = 500; // milliseconds without a change, the script at rest
  const NOTHING = 5000; // milliseconds after which a press has changed nothing
  watch.over = () => {
    const since = performance.now() - Math.max(watch.last, watch.pressed);
    const begun = watch.ran || watch.last || since > NOTHING;
    return begun && app.dataset.testScriptState === "notRunning" && since > QUIET;
  };
  watch.taken = () => (watch.last ? [watch.first, watch.last].map((one) => one - watch.pressed) : null);
  // Whether a chart goes along with this slider before the server has heard.
  watch.led = (slider) => [...main.querySelectorAll("[role=figure]")]
    .some(({ chart }) => chart?.data.follows && slider.closest(`.${chart.data.follows}`));

  // Every chart as it is drawn: its size, its series by kind and size, and all that it shows.
  watch.seen = () => [...main.querySelectorAll(".stPlotlyChart")].map((box) => {
    const plot = box.querySelector(".js-plotly-plot");
    if (!plot?.calcdata) return null;
    const { width, height } = box.getBoundingClientRect();
    const size = (trace, n) => {
      const first = plot.calcdata[n]?.[0];
      if (trace.type === "heatmap") return ["heatmap", first.z.length, first.z[0].length];
      return [trace.type === "bar" ? "bar" : "scatter", plot.calcdata[n]?.length || 1];
    };
    const traces = plot._fullData.map(size);
    const all = JSON.stringify([plot.data, plot.layout.annotations, plot.layout.shapes, plot.layout.title]);
    return { width: Math.round(width), height: Math.round(height), traces, all };
  });
})();
