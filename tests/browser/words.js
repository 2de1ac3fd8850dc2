// The words above the fold of a page outside its controls, links, tables, formulas and pictures.
() => {
  const APART = `button, a, input, textarea, label, summary, svg, figure, table, style, script, .katex,
    .stPlotlyChart, [role=radiogroup], [role=slider], [data-testid=stSlider],
    [data-testid=stWidgetLabel], [data-baseweb=select], .quiz-board, .claims-board`;
  const walker = document.createTreeWalker(
    document.querySelector("[data-testid=stMain]"), NodeFilter.SHOW_TEXT);
  const words = [], range = document.createRange();
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest(APART) || !node.parentElement.checkVisibility()) continue;
    for (const { 0: word, index } of node.textContent.matchAll(/\S*[\p{L}\p{N}]\S*/gu)) {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const { top, bottom, width } = range.getBoundingClientRect();
      if (width && top >= 0 && bottom <= window.innerHeight) words.push(word);
    }
  }
  return words;
}
