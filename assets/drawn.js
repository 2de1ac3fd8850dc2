// A guess that is drawn over a chart of Plotly, on the chart's own axes: points that are dragged, or
// moved by the arrow keys. What was measured stays out of sight until the reader has drawn; then it
// comes, and the drawing stays over it, dashed.
const PAPER = "http://www.w3.org/2000/svg";
const REACH = 22; // pixels around a point in which a finger takes hold of it
const GROWS = 1.1; // times as much at a press of an arrow, where the axis is logarithmic
const APART = 10; // times as high begins a line of its own there: points of one place can be told apart
const KEYS = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10, Home: -100, End: 100 };

function shape(parent, name, className, attributes = {}) {
  const made = document.createElementNS(PAPER, name);
  made.setAttribute("class", className);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  return parent.appendChild(made);
}

class Drawing {
  constructor(data, at, events) {
    Object.assign(this, { data, events, open: Boolean(events) });
    const start = data.lines[0][0].true; // of the point that is given
    this.free = data.lines.flat().filter((dot) => !dot.given);
    this.percent = data.unit === "%";
    const lone = data.lines.filter((line) => !line.some((dot) => dot.given)).flat();
    const lift = (dot) => (!this.percent && lone.includes(dot) ? APART : 1);
    this.at = at ? [...at] : this.free.map((dot) => this.rounded(start * lift(dot)));
    this.watch = new MutationObserver(() => this.soon());
    this.watch.observe(document.querySelector("[data-testid=stMain]"), { childList: true, subtree: true });
    this.sized = new ResizeObserver(() => this.soon());
    this.soon();
  }

  soon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.place();
    });
  }

  remove() {
    cancelAnimationFrame(this.frame);
    this.frame = 0; // nothing is drawn any more
    [this.watch, this.sized].forEach((one) => one.disconnect());
    this.plot?.removeListener?.("plotly_afterplot", this.after);
    this.svg?.remove();
  }

  // Over the chart, wherever it stands now; Plotly says where its axes are.
  place() {
    const room = document.querySelector(this.data.chart);
    const plot = room?.querySelector(".js-plotly-plot");
    if (!plot?.calcdata?.length || !plot._fullLayout?.yaxis?._length) return;
    if (plot !== this.plot) this.follow(plot);
    const [box, outer] = [plot.getBoundingClientRect(), room.getBoundingClientRect()];
    const dots = this.data.lines.map((line) => line.map((dot) => this.spot(plot, dot)));
    if (dots.flat().some((dot) => !dot)) return;
    const stands = JSON.stringify([box.x - outer.x, box.y - outer.y, box.width, box.height, dots]);
    if (stands === this.stands && this.svg?.parentElement === room) return;
    Object.assign(this, { stands, dots });
    this.axis = plot._fullLayout.yaxis;
    const [least, most] = this.axis.range.map((end) => this.axis.l2d(end));
    this.ends = [least, this.percent ? 100 : most];
    room.style.position = "relative";
    const held = this.svg?.contains(document.activeElement) ? document.activeElement.dataset.n : null;
    this.svg?.remove();
    this.svg = shape(room, "svg", `drawing${this.open ? " open" : ""}`, { width: box.width, height: box.height });
    Object.assign(this.svg.style, { left: `${box.x - outer.x}px`, top: `${box.y - outer.y}px` });
    this.paint(plot);
    if (held !== null) this.svg.querySelector(`[data-n="${held}"]`)?.focus({ preventScroll: true });
  }

  follow(plot) {
    this.plot?.removeListener?.("plotly_afterplot", this.after);
    this.sized.disconnect();
    Object.assign(this, { plot, after: () => this.soon() });
    plot.on("plotly_afterplot", this.after);
    this.sized.observe(plot);
  }

  spot(plot, { trace, place }) { // where a point stands across, and its colour
    const n = plot._fullData.findIndex((one) => one.name === trace);
    const [point, x] = [plot.calcdata[n]?.[place], plot._fullLayout.xaxis];
    return point && { x: x._offset + x.l2p(point.x), colour: plot._fullData[n].marker.color };
  }

  paint(plot) {
    const { _offset: left, _length: width } = plot._fullLayout.xaxis;
    if (this.open) {
      const { _offset: top, _length: height } = this.axis;
      const ground = shape(this.svg, "rect", "ground", { x: left, y: top, width, height });
      ground.onpointerdown = (event) => event.pointerType !== "touch" && this.take(event);
    }
    this.paths = this.dots.map((line) => {
      const path = shape(this.svg, "path", "curve");
      path.style.stroke = line.at(-1).colour;
      return path;
    });
    this.marks = this.data.lines.flat().map((dot, n) => this.mark(dot, this.dots.flat()[n]));
    this.said = shape(this.svg, "text", "said");
    this.draw();
  }

  mark(dot, { x, colour }) {
    const n = this.free.indexOf(dot);
    const group = shape(this.svg, "g", `dot${n < 0 ? " given" : ""}`, { transform: `translate(${x} 0)` });
    group.style.color = colour;
    if (n >= 0 && this.open) {
      shape(group, "circle", "hold", { r: REACH });
      Object.entries({ role: "slider", tabindex: 0, "aria-label": dot.name, "aria-valuemin": this.ends[0], "aria-valuemax": this.ends[1], "data-n": n })
        .forEach(([key, value]) => group.setAttribute(key, value));
      group.onpointerdown = (event) => this.take(event, n);
      group.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false }); // no scrolling
      group.onkeydown = (event) => this.press(event, n);
      group.onfocus = () => this.tell(n);
    }
    shape(group, "circle", "ring", { r: 8 });
    return group;
  }

  height(value) {
    return this.axis._offset + this.axis.d2p(value);
  }

  rounded(value) { // a whole percent; of any other axis three digits
    return this.percent ? Math.round(value) : Number(value.toPrecision(3));
  }

  written(n) {
    return this.percent ? `${this.at[n]} %` : this.at[n].toLocaleString("en");
  }

  value(dot) {
    const n = this.free.indexOf(dot);
    return n < 0 ? dot.true : this.at[n];
  }

  draw() {
    let n = 0;
    this.data.lines.forEach((line, i) => {
      const spots = line.map((dot, k) => [this.dots[i][k].x, this.height(this.value(dot))]);
      this.paths[i].setAttribute("d", `M${spots.map((spot) => spot.join(" ")).join("L")}`);
      line.forEach((dot, k) => {
        const [group, value] = [this.marks[n], this.value(dot)];
        n += 1;
        group.setAttribute("transform", `translate(${spots[k].join(" ")})`);
        if (!group.getAttribute("role")) return;
        group.setAttribute("aria-valuenow", value);
        group.setAttribute("aria-valuetext", this.written(this.free.indexOf(dot)));
      });
    });
  }

  tell(n) { // the height of the point that is held
    const dot = this.free[n];
    const place = this.data.lines.flat().indexOf(dot);
    const y = this.height(this.at[n]);
    const above = y - this.axis._offset > 40;
    Object.entries({ x: this.dots.flat()[place].x, y: above ? y - 26 : y + 40 })
      .forEach(([key, value]) => this.said.setAttribute(key, value));
    this.said.textContent = `${dot.name}: ${this.written(n)}`;
  }

  set(n, value) {
    this.at[n] = Math.max(this.ends[0], Math.min(this.ends[1], this.rounded(value)));
    this.draw();
    this.tell(n);
    this.events.touched(this.at);
  }

  press(event, n) {
    if (event.key === "Enter") {
      this.events.done();
    } else if (event.key in KEYS && !event.ctrlKey && !event.altKey && !event.metaKey) {
      const by = KEYS[event.key];
      this.set(n, this.axis.type === "log" ? this.at[n] * GROWS ** by : this.at[n] + by);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // Takes hold of the point, or of the nearest; on its way across the pointer draws the whole line.
  take(event, held = null) {
    if (event.button) return;
    event.preventDefault();
    const all = this.data.lines.flat();
    const away = (dot) => Math.hypot(this.dots.flat()[all.indexOf(dot)].x - this.here(event).x, (this.height(this.value(dot)) - this.here(event).y) / 2);
    const first = held === null ? this.free.reduce((best, dot) => (away(dot) < away(best) ? dot : best)) : this.free[held];
    const line = this.data.lines.find((one) => one.includes(first)).filter((dot) => !dot.given);
    const places = line.map((dot) => this.dots.flat()[all.indexOf(dot)].x);
    let last = this.here(event);
    const draw = (to) => {
      const now = places.reduce((best, x, n) => (Math.abs(x - to.x) < Math.abs(places[best] - to.x) ? n : best), 0);
      places.forEach((x, n) => { // those that it went over since
        if (n === now || (x - last.x) * (x - to.x) >= 0) return;
        this.set(this.free.indexOf(line[n]), this.axis.p2d(last.y + ((to.y - last.y) * (x - last.x)) / (to.x - last.x) - this.axis._offset));
      });
      const n = this.free.indexOf(line[now]);
      this.marks[all.indexOf(line[now])].focus({ preventScroll: true });
      this.set(n, this.axis.p2d(to.y - this.axis._offset));
      last = to;
    };
    const move = (moved) => draw(this.here(moved));
    const end = () => {
      ["pointermove", "pointerup", "pointercancel"].forEach((name, n) => window.removeEventListener(name, n ? end : move));
    };
    window.addEventListener("pointermove", move);
    ["pointerup", "pointercancel"].forEach((name) => window.addEventListener(name, end));
    this.marks[all.indexOf(first)].focus({ preventScroll: true });
    if (held === null) draw(last);
  }

  here({ clientX, clientY }) {
    const box = this.svg.getBoundingClientRect();
    return { x: clientX - box.x, y: clientY - box.y };
  }
}
