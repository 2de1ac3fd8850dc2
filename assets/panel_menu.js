// What a panel offers to take along: the code that embeds it, its link, its pictures as PNG.
const LOW = 320, HIGH = 1600; // pixels of an embed's height

function embed({ link, title }, height) {
  const frame = document.createElement("iframe");
  frame.src = link;
  frame.title = title;
  frame.width = "100%";
  frame.height = Math.min(HIGH, Math.max(LOW, Math.ceil(height / 10) * 10));
  frame.loading = "lazy";
  frame.style.border = "0";
  return frame.outerHTML;
}

export default function ({ parentElement, data }) {
  const box = parentElement.querySelector("textarea");
  const of = (take) => parentElement.querySelector(`[data-take=${take}]`);
  // A popover stands outside of its panel: the panel is found by its name.
  const panel = document.querySelector(`.st-key-${data.panel}`);
  box.value = embed(data, (panel?.offsetHeight ?? LOW) + data.around);
  box.setAttribute("aria-label", data.texts.code);
  const copied = async (button, text, done, label) => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = done;
      setTimeout(() => { button.textContent = label; }, 2000);
    } catch { // a frame or a browser that refuses: the reader copies it
      box.value = text;
      box.focus();
      box.select();
    }
  };
  const { texts } = data;
  of("embed").textContent = texts.embed;
  of("link").textContent = texts.link;
  of("png").textContent = texts.png;
  of("embed").onclick = () => copied(of("embed"), box.value, texts.embed_copied, texts.embed);
  of("link").onclick = () => copied(of("link"), data.link, texts.link_copied, texts.link);
  const charts = () => [...(panel?.querySelectorAll(".stPlotlyChart") ?? [])].filter(({ chart }) => chart);
  of("png").onclick = () => charts().forEach(({ chart }) => chart.png());
}
