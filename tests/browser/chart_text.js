// What is wrong with the words in the charts: contrast under 4.5:1, words over each other, words
// cut by the picture's edge. Words in heatmap cells are left to the figures' own tests.
() => {
  const parse = (colour) => {
    const [r, g, b, a = 1] = (colour.match(/[\d.]+/g) || []).map(Number);
    return { rgb: [r, g, b], a };
  };
  const over = (top, a, below) => below.map((c, i) => a * top[i] + (1 - a) * c);
  const luminance = (rgb) => rgb
    .map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + [0.2126, 0.7152, 0.0722][i] * c, 0);
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const behind = (node) => { // the page's colour behind a chart
    for (let at = node; at; at = at.parentElement ?? at.getRootNode().host) {
      const { rgb, a } = parse(getComputedStyle(at).backgroundColor);
      if (a === 1) return rgb;
    }
    return [255, 255, 255];
  };
  const opacity = (node, top) => {
    let product = 1;
    for (let at = node; at && at !== top; at = at.parentElement) {
      product *= Number(getComputedStyle(at).opacity);
    }
    return product;
  };
  const corners = (text) => { // of the ink, on the screen: less than the line's height
    const box = text.getBBox();
    const size = parseFloat(getComputedStyle(text).fontSize);
    const matrix = text.getScreenCTM();
    const [l, r, t, b] = [box.x, box.x + box.width, box.y + 0.25 * size, box.y + box.height - 0.25 * size];
    return [[l, t], [r, t], [r, b], [l, b]].map(([x, y]) => new DOMPoint(x, y).matrixTransform(matrix));
  };
  const apart = (one, other) => [one, other].some((box) => box.some((p, i) => {
    const q = box[(i + 1) % 4];
    const along = (c) => (c.x - p.x) * (q.y - p.y) - (c.y - p.y) * (q.x - p.x);
    const [a, b] = [one.map(along), other.map(along)];
    const unit = Math.hypot(q.x - p.x, q.y - p.y); // a pixel may be shared
    return Math.max(...a) <= Math.min(...b) + unit || Math.max(...b) <= Math.min(...a) + unit;
  }));
  const found = [];
  const roots = [...document.querySelectorAll("*")].map((one) => one.shadowRoot).filter(Boolean);
  const moving = roots.flatMap((root) => [...root.querySelectorAll(".moving > svg")]);
  for (const plot of [...document.querySelectorAll(":not([data-far]) > .js-plotly-plot"), ...moving]) {
    const drawing = plot.matches("svg") ? "" : ".main-svg ";
    const edge = plot.getBoundingClientRect();
    if (!edge.width) continue;
    const page = behind(plot);
    const shapes = [...plot.querySelectorAll(`${drawing}path, ${drawing}rect`)].filter((shape) => {
      const style = getComputedStyle(shape);
      return style.fill.startsWith("rgb") && !shape.closest(".hoverlayer, defs, .modebar");
    });
    const texts = [...plot.querySelectorAll(`${drawing}text`)].filter((text) => {
      const style = getComputedStyle(text);
      return text.textContent.trim() && style.visibility !== "hidden" && text.getClientRects().length
        && text.getBBox().width > 0 && !text.closest(".hoverlayer, .heatmap-label") && opacity(text, plot) > 0;
    });
    const boxes = texts.map(corners);
    texts.forEach((text, i) => {
      const said = text.textContent.trim();
      const centre = new DOMPoint(
        boxes[i].reduce((sum, c) => sum + c.x / 4, 0), boxes[i].reduce((sum, c) => sum + c.y / 4, 0));
      let ground = page;
      for (const shape of shapes) {
        if (!(shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
        const matrix = shape.getScreenCTM();
        if (!matrix || !shape.isPointInFill(centre.matrixTransform(matrix.inverse()))) continue;
        const style = getComputedStyle(shape);
        const { rgb, a } = parse(style.fill);
        ground = over(rgb, a * Number(style.fillOpacity) * opacity(shape, plot), ground);
      }
      for (const word of [text, ...text.querySelectorAll("tspan")]) {
        const { rgb, a } = parse(getComputedStyle(word).fill);
        const ratio = contrast(over(rgb, a * opacity(word, plot), ground), ground);
        if (ratio < 4.5) found.push(`“${said}” has a contrast of ${ratio.toFixed(2)}`);
      }
      const cut = boxes[i].some((c) => c.x < edge.left - 1 || c.x > edge.right + 1
        || c.y < edge.top - 1 || c.y > edge.bottom + 1);
      if (cut) found.push(`“${said}” is cut by the edge of its chart`);
      for (let k = 0; k < i; k += 1) {
        if (!apart(boxes[i], boxes[k])) found.push(`“${texts[k].textContent.trim()}” and “${said}” overlap`);
      }
    });
  }
  return [...new Set(found)];
}
