// What is wrong with the words of a page outside its charts: printed over each other, or cut by the
// edge of what holds them. Words that lie outside of the window or behind a dialog are left alone.
() => {
  const clips = (style, side) => ["hidden", "clip", "auto", "scroll"].includes(style[`overflow${side}`]);
  const small = (node) => { // for readers of screens alone
    const { width, height } = node.getBoundingClientRect();
    return width <= 2 || height <= 2;
  };
  const words = [];
  const found = [];
  const read = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.shadowRoot) read(node.shadowRoot);
      if (node.nodeType !== Node.TEXT_NODE || !node.data.trim()) continue;
      take(node);
    }
  };
  const take = (node) => {
    const parent = node.parentElement;
    if (!parent?.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || parent.closest("style, script, svg, .katex, [aria-hidden=true], [popover], dialog:not([open]), canvas")) return;
    const range = document.createRange();
    range.selectNodeContents(node);
    const lines = [...range.getClientRects()].filter(({ width, height }) => width > 1 && height > 1);
    if (!lines.length) return;
    const size = parseFloat(getComputedStyle(parent).fontSize);
    let layer = "", shown = true, cut = "";
    let [left, right, top, bottom] = [-Infinity, Infinity, -Infinity, Infinity];
    for (let at = parent; at; at = at.parentElement ?? at.getRootNode().host) {
      const style = getComputedStyle(at);
      shown &&= style.overflow === "visible" || !small(at);
      if (["fixed", "sticky"].includes(style.position)) layer ||= at.dataset?.testid || at.className || at.tagName;
      const box = at.getBoundingClientRect();
      if (clips(style, "X")) {
        const over = Math.max(...lines.map((one) => one.right)) - Math.min(box.right, right);
        const told = style.textOverflow === "ellipsis" || ["auto", "scroll"].includes(style.overflowX);
        if (over > 1 && !told && at !== document.documentElement && right > box.right) cut ||= `at the right by ${Math.round(over)}`;
        [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
      }
      if (clips(style, "Y")) [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
    }
    if (!shown) return;
    const said = node.data.trim().slice(0, 40);
    const inside = lines.filter((one) => one.left < right && one.right > left && one.top < bottom && one.bottom > top);
    if (!inside.length) return;
    if (cut) found.push(`“${said}” is cut ${cut}`);
    for (const one of inside) { // the ink is lower than the line
      const air = Math.max(0, (one.height - size) / 2) + 0.2 * size;
      words.push({ node, said, layer, left: Math.max(one.left, left), right: Math.min(one.right, right), top: Math.max(one.top + air, top), bottom: Math.min(one.bottom - air, bottom) });
    }
  };
  read(document.body);
  words.sort((a, b) => a.top - b.top);
  words.forEach((one, n) => {
    for (let k = n + 1; k < words.length && words[k].top < one.bottom - 1; k += 1) {
      const other = words[k];
      if (other.layer !== one.layer || other.node === one.node) continue;
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (across > 2 && down > 2) found.push(`“${one.said}” and “${other.said}” overlap`);
    }
  });
  return [...new Set(found)];
}
