// Copies the address of this page with its settings; where the browser refuses, shows it selected.
export default function ({ parentElement, data }) {
  const button = parentElement.querySelector("button");
  const box = parentElement.querySelector("input");
  button.textContent = data.label;
  box.setAttribute("aria-label", data.label);
  button.onclick = async () => {
    const link = `${window.location.origin}${window.location.pathname}?${data.query}`;
    box.value = link;
    try {
      await navigator.clipboard.writeText(link);
      button.textContent = data.done;
      setTimeout(() => { button.textContent = data.label; }, 2000);
    } catch {
      box.hidden = false;
      box.focus();
      box.select();
    }
  };
}
