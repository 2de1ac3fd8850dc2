"""The browser's own record of what moves on the screen."""

# Watch from now on; what was there before does not count.
WATCH = """() => {
  window.shifts?.observer.disconnect();
  const kept = [];
  const observer = new PerformanceObserver((list) => kept.push(...list.getEntries()));
  observer.observe({ type: "layout-shift" });
  window.shifts = { kept, observer };
}"""
# Shifts outside of charts, sliders and formulas, which are drawn new: value, and what moved where.
# What moves by less than half a pixel nobody sees.
SHIFTS = """() => {
  const { kept, observer } = window.shifts;
  kept.push(...observer.takeRecords());
  const own = (node) => node?.closest?.(".stPlotlyChart, [data-testid=stSlider], .katex");
  const of = (node) => (node.nodeType === 1 ? node : node.parentElement);
  const seen = ({ previousRect: a, currentRect: b }) =>
    Math.max(Math.abs(b.x - a.x), Math.abs(b.y - a.y), Math.abs(b.bottom - a.bottom)) >= 0.5;
  const named = (node) => {
    const key = node.closest("[class*=st-key-]")?.className.match(/st-key-[\\w-]+/)?.[0] ?? "";
    return `${node.tagName.toLowerCase()} ${key} “${node.textContent.trim().slice(0, 30)}”`;
  };
  return kept.map(({ value, sources }) => ({
    value,
    moved: sources.filter((one) => one.node && of(one.node) && !own(of(one.node)) && seen(one))
      .map(({ node, previousRect: a, currentRect: b }) =>
        `${named(of(node))} ${Math.round(b.x - a.x)},${Math.round(b.y - a.y)}`),
  })).filter(({ moved }) => moved.length);
}"""
