// A chart: drawn once by Plotly, the library that Streamlit ships, and then changed in place, so that
// hover and focus stay. Python sends the figure; its colours are those of the page. A chart far from the
// window is drawn when the reader comes near, or for paper. The frame of a cell goes with a click, and the
// line of a slider with the hand, before the server has heard: where its answer is the same picture,
// nothing is drawn again.
const NEAR = "125% 0px"; // beyond the window: a press of the clicker goes about as far
const FULL = {
  width: 512, height: 512, // an arrow to each corner
  path: "M0 0h190v60H60v130H0zM322 0h190v190h-60V60H322zM0 322h60v130h130v60H0zM452 322h60v190H322v-60h130z",
};
const WITHOUT = ["lasso2d", "select2d", "sendChartToCloud"];
// Beside the front end's entry, from wherever that came: the page's own address changes, and with it
// what its tag says.
const load = (name) => {
  const came = performance.getEntriesByType("resource").find((one) => ENTRY.test(one.name));
  const entry = came?.name ?? document.querySelector("script[src*='static/js/index']").src;
  return (document.mlaPlotly ??= import(new URL(name, entry).href).then(() => window.Plotly));
};
const LOST = 3000; // milliseconds after which a press that no answer shows is told again
const TRIES = 3; // to tell it, after which what the server shows is shown
let wish; // the latest press, until an answer shows it
const ENTRY = /static\/js\/index\.[^/]*\.js/;
const of = (style, name) => style.getPropertyValue(`--st-${name}`).trim();

// The template of the figure with the page's letters and colours.
function themed({ layout }, style) {
  const font = { color: of(style, "text-color"), family: of(style, "font") };
  const hover = { bgcolor: of(style, "background-color"), bordercolor: of(style, "border-color") };
  const grid = { gridcolor: of(style, "border-color-light"), tickcolor: of(style, "border-color-light") };
  return {
    layout: {
      ...layout,
      font: { ...layout.font, ...font },
      hoverlabel: { ...layout.hoverlabel, ...hover, font: { ...layout.hoverlabel.font, ...font } },
      xaxis: { ...layout.xaxis, ...grid },
      yaxis: { ...layout.yaxis, ...grid },
    },
  };
}

// The ends of axes whose cells are square: with others Plotly would take the new ends for a zoom.
const squares = (layout) => Object.values(layout).filter((one) => one?.constrain === "domain").map((one) => one.range);

// The frame of a cell, or of a tile of them, at a point: around its middle where cells are small.
function framed(shape, point, pitch) {
  const moved = { ...shape };
  for (const side of ["x", "y"]) {
    const by = Math.floor((point[side] - shape[`${side}0`]) / pitch[side]) * pitch[side];
    if (`${side}anchor` in shape) moved[`${side}anchor`] = point[side];
    else for (const end of [`${side}0`, `${side}1`]) moved[end] += by;
  }
  return moved;
}

function ask(chart, cell) {
  drop();
  wish = { chart, cell: { ...cell, press: Date.now() }, tries: 0 };
  tellAgain();
}

function drop() {
  clearTimeout(wish?.timer);
  wish = null;
}

function tellAgain() {
  if (wish.tries === TRIES) {
    drop();
    charts.forEach((chart) => chart.show(chart.came, chart.tell));
    return;
  }
  wish.tries += 1;
  wish.chart.tell("cell", wish.cell);
  wish.timer = setTimeout(tellAgain, LOST);
}

// Whether an answer shows the latest press; a copy that was recorded counts none.
function isLatest({ press }) {
  if (wish && press !== null && press < wish.cell.press) return false;
  drop();
  return true;
}

// A note at the line, on the side where there is more room, as Python's.
function beside(x, { range }, text) {
  const right = x > range[1] / 2;
  return { x, text, xanchor: right ? "right" : "left", xshift: right ? -8 : 8 };
}

// The line that goes with a slider, or marks that do, stand where the hand is: the server may not have
// heard yet.
function led(data) {
  const says = data.follows && document.querySelector(`.${data.follows} input`)?.getAttribute("aria-valuetext");
  const place = Number(says?.replaceAll(",", "") || NaN); // "131,072"
  const { shapes = [], annotations = [], xaxis } = data.figure.layout;
  for (const one of [...shapes, ...annotations]) {
    if (one.name !== "here" || !(place >= 0)) continue;
    if (one.text) Object.assign(one, beside(place, xaxis, one.text.replace(/[\d,]+/, says)));
    else Object.assign(one, { x0: place, x1: place });
  }
  for (const one of data.figure.data) {
    if (one.meta?.[place]) [one.x, one.y] = one.meta[place].map((at) => [at]);
  }
  return data;
}

class Chart {
  constructor(host) {
    this.host = host;
    this.sized = new ResizeObserver(() => this.size());
    this.sized.observe(host);
    this.near = false;
    const root = host.closest("[data-testid=stMain]");
    this.nearby = new IntersectionObserver((seen) => this.come(seen.at(-1).isIntersecting), { root, rootMargin: NEAR });
    this.nearby.observe(host);
  }

  come(near) {
    this.near = near;
    if (near) this.draw();
  }

  show(sent, tell) {
    const data = led(JSON.parse(sent));
    Object.assign(this, { came: sent, tell });
    if (data.clicks && !isLatest(data) && this.data) return; // of a press before the last one
    const { shapes = [], ...around } = data.figure.layout;
    const picture = JSON.stringify([data.figure.data, around, data.clicks, data.file]); // Plotly writes into these
    Object.assign(this, { sent, data, shapes, picture, waits: true });
    this.host.setAttribute("aria-label", data.alt);
    this.host.style.setProperty("--height", `${data.figure.layout.height}px`);
    this.room();
    // The room that Python kept for it is its own from now on.
    Object.assign(this.host.closest(".stElementContainer").style, { height: "auto", flexBasis: "auto", overflow: "visible" });
    this.draw();
  }

  // Once for all that came meanwhile; where there is no room yet, when there is.
  async draw() {
    this.host.toggleAttribute("data-far", !this.near);
    if (!this.near || !this.data) return;
    const Plotly = (this.Plotly ??= await load(this.data.script));
    if (!this.waits || !this.host.isConnected || !this.host.clientWidth) return;
    this.waits = false;
    const { figure, clicks, words, file, plotly: { locale, dictionary } } = this.data;
    const begun = JSON.stringify([words[0], squares(figure.layout)]);
    if (this.begun !== begun) this.begin(words[0], begun);
    const template = themed(figure.layout.template, getComputedStyle(this.host));
    const own = { ...this.fitted(), template };
    const drawn = this.picture + JSON.stringify(own);
    const marks = JSON.stringify(this.shapes);
    const before = { drawn: this.drawn, marks: this.marks };
    Object.assign(this, { drawn, marks });
    if (drawn === before.drawn) return marks !== before.marks && Plotly.relayout(this.plot, { shapes: this.shapes });
    const uirevision = figure.data.map(({ name }) => name).join(); // other series: nothing stays hidden
    const meta = { ...figure.layout.meta, chart: clicks };
    await Plotly.react(this.plot, figure.data, { ...figure.layout, ...own, shapes: this.shapes, uirevision, meta }, {
      modeBarButtonsToAdd: [this.button],
      modeBarButtonsToRemove: WITHOUT,
      displaylogo: false,
      locale,
      locales: { [locale]: { dictionary, format: {} } },
      toImageButtonOptions: { format: "png", scale: 2, filename: file }, // readable on a slide
    });
    if (this.plot.told) return;
    this.plot.told = true;
    this.plot.on("plotly_click", ({ points: [{ x, y }] }) => {
      if (!this.data.clicks) return;
      ask(this, { x, y });
      const { pitch = { x: 1, y: 1 } } = this.data.figure.layout.meta ?? {};
      this.shapes = this.shapes.map((one) => (one.name === "frame" ? framed(one, { x, y }, pitch) : one));
      this.waits = true;
      this.draw();
    });
  }

  begin(title, begun) {
    this.end();
    this.plot = this.host.appendChild(document.createElement("div"));
    this.sized.observe(this.plot);
    Object.assign(this, { begun, drawn: "" });
    this.button = { name: "full", title, icon: FULL, click: () => this.fill() };
  }

  // As wide as its place; in lecture mode it is larger with its words, in full screen as large as that.
  fitted() {
    const full = this.dialog?.open;
    if (!full) this.own = this.room();
    const { width, height, ours } = this.own;
    const scale = full ? Math.min(innerWidth / width, innerHeight / height) : ours;
    this.dialog?.style.setProperty("--scale", scale);
    this.plot.style.transform = scale === 1 ? "" : `scale(${scale})`;
    this.fit = full ? { width: innerWidth / scale, height: innerHeight / scale } : { width, height };
    return this.fit;
  }

  // Square cells ask for a height that goes with their width; how much of it they get the style sheet says.
  room() {
    const { layout } = this.data.figure;
    const ours = Number(getComputedStyle(this.host).getPropertyValue("--scale")) || 1;
    const width = this.host.clientWidth / ours;
    const around = width && layout.meta?.around;
    if (!around) {
      this.host.style.removeProperty("--square");
      return { width, height: layout.height, ours };
    }
    const [columns, rows] = squares(layout).map(([first, last]) => Math.abs(last - first));
    this.host.style.setProperty("--square", `${((width - around.x) * rows) / columns + around.y}px`);
    return { width, height: this.host.clientHeight / ours, ours };
  }

  size() {
    if (!this.plot || this.waits) return void this.draw();
    const { width, height } = this.fit;
    const fit = this.host.clientWidth ? this.fitted() : this.fit;
    if (fit.width !== width || fit.height !== height) this.Plotly.relayout(this.plot, fit);
  }

  fill() {
    const dialog = (this.dialog = document.body.appendChild(document.createElement("dialog")));
    const close = document.createElement("button");
    close.textContent = this.data.words[1];
    close.onclick = () => dialog.close();
    dialog.className = "stPlotlyChart";
    dialog.setAttribute("aria-label", this.data.alt);
    const move = (from, to) => {
      to.dataset.testid = from.dataset.testid;
      delete from.dataset.testid;
      to.prepend(this.plot);
    };
    dialog.append(close);
    move(this.host, dialog);
    dialog.onclose = () => {
      move(dialog, this.host);
      dialog.remove();
      this.size();
      this.plot.querySelector(`[data-title="${this.button.title}"]`)?.focus({ preventScroll: true });
    };
    this.sized.observe(dialog);
    dialog.showModal();
    this.size();
  }

  png() {
    const { file, figure } = this.data;
    if (this.plot) this.Plotly.downloadImage(this.plot, { format: "png", scale: 2, filename: file, height: figure.layout.height, width: this.plot.clientWidth });
  }

  end() {
    this.dialog?.close();
    if (this.plot) this.Plotly.purge(this.plot);
    this.plot?.remove();
  }
}

const read = new TextDecoder();
const charts = new Set();

new MutationObserver((records) => { // a slider's hand is somewhere else
  for (const chart of charts) {
    const { follows } = chart.data;
    if (follows && records.some(({ target }) => target.closest(`.${follows}`))) chart.show(chart.sent, chart.tell);
  }
}).observe(document.body, { subtree: true, attributeFilter: ["aria-valuetext"] });

addEventListener("beforeprint", () => charts.forEach((chart) => chart.come(true)));

export default function ({ data, parentElement, setStateValue }) {
  const host = parentElement.querySelector("[role=figure]");
  const chart = (host.chart ??= new Chart(host));
  chart.show(read.decode(data), setStateValue);
  charts.add(chart);
  return () => {
    charts.delete(chart);
    if (wish?.chart === chart) drop();
    chart.sized.disconnect();
    chart.nearby.disconnect();
    chart.end();
  };
}
