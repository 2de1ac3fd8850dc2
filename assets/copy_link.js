// Copies the link to this page with its settings; where the browser refuses, shows it selected.
export default function ({ parentElement, data }) {
  const button = parentElement.querySelector("button");
  const box = parentElement.querySelector("input");
  button.textContent = data.label;
  box.setAttribute("aria-label", data.label);
  button.onclick = async () => {
    box.value = data.link || window.location.href;
    try {
      await navigator.clipboard.writeText(box.value);
      button.textContent = data.done;
      setTimeout(() => { button.textContent = data.label; }, 2000);
    } catch {
      box.hidden = false;
      box.focus();
      box.select();
    }
  };
}
