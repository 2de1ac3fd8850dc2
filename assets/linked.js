// Point at a tensor, or bring the focus to it, and it lights wherever the page has it: in words, in
// formulas and in pictures. What is tied says so by data-tensor; formulas of KaTeX and Plotly's
// boxes are read here, since neither lets Python write attributes. No server takes part.
const PARTS = "[data-tensor], .block[data-code], .kept[data-code]";
const PAUSE = 200; // milliseconds between two looks at a page that changes
const BASES = { α: "attention", s: "scores" };
const OF_PICTURES = `
  .block[data-lit] .outline { fill-opacity: 0.35; stroke-width: 4; }
  .block[data-lit] .reach { stroke: currentColor; stroke-width: 2.5; }
  .box[data-lit] rect { fill-opacity: 0.45; stroke-width: 4; }
  .kept[data-lit] { stroke: currentColor; stroke-width: 2; }`;

const codeOf = (node) => node.dataset.tensor ?? node.dataset.code;

class Links {
  constructor() {
    this.roles = {};
    this.sheet = new CSSStyleSheet();
    this.sheet.replaceSync(OF_PICTURES);
    const pointed = (event) => this.light(this.under(event) ?? this.focused());
    ["pointerover", "focusin"].forEach((name) => document.addEventListener(name, pointed));
    document.addEventListener("pointerout", () => this.light(this.focused())); // a scroll brings one
    document.addEventListener("focusout", () => this.light());
    new MutationObserver(() => this.soon()).observe(document.body, { childList: true, subtree: true });
  }

  // The tensor under the mouse or with the focus, also within a component's own tree.
  under(event) {
    const path = event.composedPath().filter((node) => node instanceof Element);
    const found = path.find((node) => node.matches(PARTS));
    return found && codeOf(found);
  }

  focused() {
    let node = document.activeElement;
    while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
    const found = node?.closest(PARTS);
    return found && codeOf(found);
  }

  roots() {
    const parts = document.querySelectorAll(".stBidiComponent, .stBidiComponent *");
    const own = [...parts].map((part) => part.shadowRoot).filter(Boolean);
    own.filter((root) => !root.adoptedStyleSheets.includes(this.sheet)).forEach((root) => {
      root.adoptedStyleSheets = [...root.adoptedStyleSheets, this.sheet];
    });
    return [document, ...own];
  }

  light(code) {
    this.lit?.forEach((node) => node.removeAttribute("data-lit"));
    this.lit = null;
    this.code = code;
    if (!code) return;
    const all = this.roots().flatMap((root) => [...root.querySelectorAll(PARTS)]);
    this.lit = all.filter((node) => codeOf(node) === code);
    this.lit.forEach((node) => node.setAttribute("data-lit", this.roles[code] ?? ""));
  }

  soon() {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.tie();
    }, PAUSE);
  }

  tie() {
    document.querySelectorAll(".katex-html .mord").forEach((node) => { // another formula keeps its nodes
      const code = this.read(node);
      if (code in this.roles) node.dataset.tensor = code;
      else delete node.dataset.tensor;
    });
    document.querySelectorAll(".js-plotly-plot").forEach((plot) => this.boxes(plot));
    this.stops();
    if (this.code) this.light(this.code); // what was drawn since
  }

  // The code of a formula's symbol: its letter, capitals above it, "pre" or "latent" beside it.
  read(node) {
    const marks = node.querySelector(":scope > .msupsub");
    const letter = node.matches(".mathbf") && !node.parentElement.querySelector(":scope > .msupsub");
    if (!marks) return letter ? node.textContent : "";
    const base = node.firstChild.textContent;
    const rows = [...marks.querySelectorAll(".sizing")].map((row) => row.textContent);
    const words = rows.flatMap((row) => row.replace(/[\u200b⊤]/g, "").split(","));
    const known = words.filter((word) => /^[A-Z]+$|^pre$|^latent$/.test(word));
    known.sort((a, b) => (a > b ? 1 : -1)); // capitals come first
    return [BASES[base] ?? base, ...known].join("_");
  }

  // Boxes of a data flow: a shape is named by its code, and the mouse meets the words over it.
  boxes(plot) {
    const shapes = plot.layout?.shapes ?? [];
    plot.querySelectorAll(".shapelayer path[data-index]:not([data-tensor])").forEach((path) => {
      const name = shapes[path.dataset.index]?.name;
      if (name in this.roles) path.dataset.tensor = name;
    });
    if (plot.mlaLinks || !shapes.some(({ name }) => name in this.roles)) return;
    plot.mlaLinks = true;
    plot.on("plotly_hover", ({ points }) => this.light(points[0].customdata));
    plot.on("plotly_unhover", () => this.light());
  }

  // One stop of the Tab key for each tensor that the words name.
  stops() {
    const seen = new Set();
    document.querySelectorAll(".stMain .tensor[data-tensor]").forEach((node) => {
      const first = !seen.has(codeOf(node)) && !node.closest("table, label, button, summary");
      if (first) seen.add(codeOf(node));
      if (first && node.tabIndex < 0) node.tabIndex = 0;
      else if (!first && node.tabIndex === 0) node.removeAttribute("tabindex");
    });
  }
}

export default function ({ data }) {
  const links = (document.mlaLinks ??= new Links());
  links.roles = data;
  links.soon();
}
