// Clicks on the cells of a table reach Python: the cell's data-cell says which it is.
export default function ({ setTriggerValue }) {
  const onClick = (event) => {
    const cell = event.target.closest && event.target.closest("[data-cell]");
    if (cell) setTriggerValue("cell", cell.dataset.cell);
  };
  document.addEventListener("click", onClick);
  return () => document.removeEventListener("click", onClick);
}
