// The worked example: clicks on the cells of the result reach Python, told again where no answer shows them,
// and another step is shown before the server has heard that it is wanted, since the browser has them all. The
// server's answer takes its place; where none comes, what stood there comes back.
const LOST = 3000; // milliseconds after which an answer is not waited for
const TRIES = 3; // to tell a cell
const ENTRY = /static\/js\/index\.[^/]*\.js/; // the front end's, beside which its libraries lie
const SLIDER = "[class*=st-key-we_step-] input";
const WAYS = { we_first: () => 1, we_last: () => steps.length }; // those beside: assets/wish.js

let tell; // Python of a cell
let steps = [];
let typeset; // a formula: by the library that Streamlit has loaded for the page's own
let wanted = 0; // the step that is shown ahead of the server; 0 for none
let lost;
let cell; // the latest that was pressed: { at, press }, and how often it was told

const stage = (selector) => document.querySelector(`.st-key-we_stage ${selector}`);
const escape = (text) => text.replace(/[&<"]/g, (sign) => `&#${sign.charCodeAt()};`);
const ATTRIBUTES = { className: "class", ariaHidden: "aria-hidden" };

// The tree of a formula as HTML.
function html({ value, tagName, properties, children }) {
  if (!tagName) return escape(value);
  const said = Object.entries(properties).map(([name, one]) => ` ${ATTRIBUTES[name] ?? name}="${escape([one].flat().join(" "))}"`);
  return `<${tagName}${said.join("")}>${children.map(html).join("")}</${tagName}>`;
}

// From the library's plugin for a page in Markdown.
const typesetter = (plugin) => (formula) => {
  const text = { type: "text", value: formula };
  const page = { type: "root", children: [{ type: "element", tagName: "span", properties: { className: ["math-display"] }, children: [text] }] };
  plugin()(page, { message() {} });
  return page.children.map(html).join("");
};

// The page's own stays, and is hidden: React goes on with it.
const PARTS = [
  ["h3", (ours, { heading }) => { ours.textContent = heading; }],
  [".katex-display:not(.ahead)", (ours, { formula }) => { ours.outerHTML = typeset(formula); }],
  [".stHtml:has(> .board):not(.ahead)", (ours, { board }) => { ours.innerHTML = board; }],
  [".stHtml:has(> .written):not(.ahead)", (ours, { written }) => { ours.innerHTML = written; }],
];
const own = () => Number(stage(".stHtml:not(.ahead) > .written")?.dataset.step);

function end() {
  answers.disconnect();
  clearTimeout(lost);
  wanted = 0;
  for (const ours of document.querySelectorAll(".st-key-we_stage .ahead")) {
    delete ours.parentElement.dataset.ahead;
    ours.remove();
  }
}

// An answer to an earlier press than the last one is not shown.
const answers = new MutationObserver(() => { if (own() === wanted) end(); });

function show(step) {
  const { mlaFollow } = document; // who follows is led
  if (!typeset || !steps[step - 1] || step === (wanted || own()) || mlaFollow) return;
  end();
  if (step === own()) return;
  wanted = step;
  lost = setTimeout(end, LOST);
  for (const [part, write] of PARTS) {
    const theirs = stage(part);
    theirs.after(theirs.cloneNode());
    theirs.nextSibling.removeAttribute("id");
    write(theirs.nextSibling, steps[step - 1]);
    theirs.nextSibling.classList.add("ahead");
    theirs.parentElement.dataset.ahead = "";
  }
  answers.observe(stage(""), { subtree: true, childList: true });
}

function tellCell() {
  tell("cell", cell.said);
  cell.tries += 1;
  cell.timer = setTimeout(() => {
    const shown = stage(`.stHtml:not(.ahead) [data-cell="${cell.said.at}"]`);
    if (shown?.ariaPressed === "false" && cell.tries < TRIES) tellCell();
  }, LOST);
}

function pressed(event) {
  const at = event.target.closest?.("[data-cell]")?.dataset.cell;
  if (at) {
    clearTimeout(cell?.timer);
    cell = { said: { at, press: Date.now() }, tries: 0 };
    tellCell();
  }
  for (const [key, to] of Object.entries(WAYS)) {
    const step = to();
    if (!steps[step - 1] || !event.target.closest?.(`.st-key-${key} button:enabled`)) continue;
    show(step);
  }
}

const hand = new MutationObserver((records) => {
  const moved = records.find(({ target }) => target.matches(SLIDER) && target === document.activeElement);
  if (moved) show(Number(moved.target.getAttribute("aria-valuetext")));
});

export default function ({ data, setStateValue }) {
  end();
  tell = setStateValue;
  const sent = JSON.parse(new TextDecoder().decode(data));
  steps = sent.steps;
  const entry = performance.getEntriesByType("resource").find(({ name }) => ENTRY.test(name));
  if (entry && steps.length) import(new URL(sent.script, entry.name).href).then((library) => { typeset = typesetter(library.default); });
  document.addEventListener("click", pressed, true);
  hand.observe(document.body, { subtree: true, attributeFilter: ["aria-valuetext"] });
  document.mlaAhead = (stop) => show(Number(stop)); // a clicker's press: assets/wish.js
  return () => {
    end();
    clearTimeout(cell?.timer);
    hand.disconnect();
    document.removeEventListener("click", pressed, true);
    document.mlaAhead = null;
  };
}
