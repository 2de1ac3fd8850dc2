// What the pictures that move are drawn with.
const still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
const mix = (from, to, at) => from + (to - from) * at;

function element(parent, name, className = "", attributes = {}) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  made.setAttribute("class", className);
  set(made, attributes);
  return parent.appendChild(made);
}

function set(node, attributes) {
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
}
