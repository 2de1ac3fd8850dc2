// Parts of the scene that know nothing of its state: lines and names in SVG, and what a card says.
const FINEST = 3; // between two lines; closer ones are drawn every so many
const TEETH = 5; // of a torn edge

const between = (from, to, at) => to.map((end, n) => from[n] + (end - from[n]) * at);
const clamp = (value) => Math.min(1, Math.max(0, value));

function words(parent, className, attributes, text) {
  element(parent, "text", className, attributes).textContent = text;
}

function square(parent, className, [x, y, width, height], attributes = {}) {
  return element(parent, "rect", className, { x, y, width, height, ...attributes });
}

// A tensor's name: its parts in capitals raised, the others lowered, as everywhere in the app.
// What comes behind it has to be raised or lowered by what this returns. `below`: on a second line.
function name(parent, { head, raised, lowered }, below) {
  const down = below ? 14 : 6;
  const parts = [[head, 0, 1], [raised, -8, 0.7], [lowered, raised ? 8 + down : down, 0.7]];
  parts.filter(([text]) => text).forEach(([text, dy, size]) => {
    const part = element(parent, "tspan", "", { dy, "font-size": `${size}em` });
    part.textContent = text;
    if (below && text === lowered) part.setAttribute("x", 0);
  });
  return lowered ? -down : raised ? 8 : 0;
}

// Lines between the sheets of a block, and between its tokens.
function lines([x, y, width, height], sheets, tokens) {
  const every = Math.max(1, Math.ceil((FINEST * sheets) / height));
  let path = "";
  for (let n = every; n < sheets; n += every) path += `M${x} ${y + (height * n) / sheets}h${width}`;
  if (width / tokens < FINEST) return path;
  for (let n = 1; n < tokens; n += 1) path += `M${x + (width * n) / tokens} ${y}v${height}`;
  return path;
}

// The lower edge of what is too large to be drawn to scale.
function torn([x, y, width, height], upper = false) {
  const count = 2 * Math.max(2, Math.round(width / TEETH / 2));
  const [edge, way] = upper ? [y, -1] : [y + height, 1];
  let path = `M${x} ${edge + 3 * way}V${edge - TEETH * way}`;
  for (let n = 1; n <= count; n += 1) {
    path += `L${x + (width * n) / count} ${edge - (n % 2 ? 0 : TEETH) * way}`;
  }
  return `${path}V${edge + 3 * way}`;
}

// A curve: straight along the stages, then a bend into the block.
function curve([x0, y0, x1, y1], bend, tall) {
  if (tall) {
    const [turn, half] = [Math.max(y0, y1 - bend), Math.min(bend, y1 - y0) / 2];
    return `M${x0} ${y0}V${turn}C${x0} ${turn + half} ${x1} ${y1 - half} ${x1} ${y1}`;
  }
  const [turn, half] = [Math.max(x0, x1 - bend), Math.min(bend, x1 - x0) / 2];
  return `M${x0} ${y0}H${turn}C${turn + half} ${y0} ${x1 - half} ${y1} ${x1} ${y1}`;
}

// What comes grows out of its own middle.
function middle([x, y, width, height]) {
  return [x + width / 2, y + height / 2, 0, 0];
}

function written(html, className = "") { // of the glossary's own names and our own words
  const made = document.createElement("p");
  made.innerHTML = html;
  made.className = className;
  return made;
}

// Browsers break no line within a formula: from each sign on it is one of its own.
function breaking(paragraph) {
  const whole = paragraph.querySelector("math > mrow");
  let row = null;
  [...(whole?.children ?? [])].forEach((child, n, all) => {
    const sign = child.localName === "mo" && /^[=+−-]$/.test(child.textContent);
    const before = all[n - 1]?.textContent;
    const inner = before === "," || (before === "(" && all[n - 2]?.textContent.length > 1);
    if (!row || sign || inner) {
      const part = whole.parentElement.cloneNode();
      row = whole.cloneNode();
      part.append(row);
      paragraph.append(part, document.createElement("wbr"));
    }
    if (sign) child.setAttribute("form", "infix");
    row.append(child);
  });
  whole?.parentElement.remove();
  return paragraph;
}

// A small heatmap: a row a number of the tensor, a column a token.
function cells({ cells: rows, most, signed }) {
  const grid = document.createElement("div");
  grid.className = "cells";
  grid.style.gridTemplateColumns = `repeat(${rows[0].length}, 1fr)`;
  rows.flat().forEach((value) => {
    const cell = document.createElement("i");
    cell.dataset.value = value;
    cell.title = value;
    const share = Math.round((100 * Math.abs(value)) / most);
    cell.style.background = `color-mix(in oklab, ${signed[value < 0 ? 0 : 1]} ${share}%, #f2f2f2)`;
    grid.append(cell);
  });
  return grid;
}

// The card of a block: what there is of its lines, in this order.
function card(block, cut, go, open) {
  const heading = document.createElement("h3");
  heading.innerHTML = block.html;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = go;
  button.onclick = open;
  const line = (text, className) => (text ? [written(text, className)] : []);
  return [
    heading,
    ...line(block.meaning),
    ...line(block.formula, "formula").map(breaking),
    ...line(block.size),
    ...line(block.cost),
    ...line(block.kept, "keeps"),
    ...line(cut, "quiet"),
    ...(block.cells ? [cells(block)] : []),
    ...line(block.cut, "quiet"),
    ...line(block.open, "open quiet"),
    button,
  ];
}
