// Copies the link to this page with its settings; where the browser refuses, shows it selected.
// And keeps the history: Streamlit goes to another page by two entries, the old page with the new
// settings and then the new page. The second takes the first one's place: Back undoes a jump.
const TOGETHER = 2000; // milliseconds between the two at most

function joinJumps() {
  const last = { at: 0 }; // when the settings changed on the same page
  const push = window.history.pushState.bind(window.history);
  window.history.pushState = (state, title, url) => {
    const { pathname, search } = new URL(url, window.location.href);
    const moved = pathname !== window.location.pathname;
    const second = moved && search === window.location.search && Date.now() - last.at < TOGETHER;
    if (second) window.history.replaceState(state, title, url);
    else push(state, title, url);
    last.at = moved ? 0 : Date.now();
  };
  const onLink = (event) => { if (event.target.closest("a")) last.at = 0; }; // one entry, our own
  window.addEventListener("click", onLink, true);
  return last;
}

export default function ({ parentElement, data }) {
  document.mlaHistory ??= joinJumps();
  const button = parentElement.querySelector("button");
  const box = parentElement.querySelector("input");
  button.textContent = data.label;
  box.setAttribute("aria-label", data.label);
  button.onclick = async () => {
    box.value = data.link;
    try {
      await navigator.clipboard.writeText(data.link);
      button.textContent = data.done;
      setTimeout(() => { button.textContent = data.label; }, 2000);
    } catch {
      box.hidden = false;
      box.focus();
      box.select();
    }
  };
}
