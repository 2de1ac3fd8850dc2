"""From the press to the picture: a cut, a head and a snapshot of the trained heads, headless.

    python benchmarks/trained_heads.py

Beside each other, in turns: the same press on a bare page, which writes down what was chosen, and
on the page of the trained heads, until the first frame in which its answers are other ones. No
press asks for what an earlier one had computed. Chromium: $CHROMIUM or the one on the path.
"""

import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from ui.handout.browser import FLAGS, chromium_path, server, settle  # noqa: E402 - by the path
from ui.pages.trained_heads import run  # noqa: E402

MOST_MORE_MILLISECONDS = 100  # than the bare page takes
PATIENCE_MILLISECONDS = 60_000
CUTS = "[class*=st-key-th_cut] [data-testid=stButtonGroup]"
WINDOW = {"width": 1280, "height": 720}
BARE = """
import streamlit as st
head = st.selectbox("Head", [f"{layer}.{head}" for layer in (0, 1) for head in range(4)])
cut = st.segmented_control("Take away", [*"abcdef"], default="a", key="th_cut")
step = st.select_slider("Step", range(20), 19)
st.container(key="shown").write(f"{head} {cut} {step}")
"""
# What is written on the bare page, the bars of the answers on the other one.
SIGN = """() => [...document.querySelectorAll(
  ".st-key-shown p, .st-key-trained_heads-answers .point path"
)].map((one) => one.getAttribute("d") ?? one.textContent).join("|")"""
# From the next click or key on: the first frame whose picture is another one, and is so for good.
WATCH = f"""() => {{
  const sign = {SIGN}, before = sign(), watched = {{ began: 0, drawn: 0 }};
  window.watched = watched;
  const look = (now) => {{
    if (sign() !== before) watched.drawn = performance.now();
    else requestAnimationFrame(look);
  }};
  const begin = () => {{
    if (watched.began) return;
    watched.began = performance.now();
    requestAnimationFrame(look);
  }};
  for (const kind of ["click", "keydown"]) addEventListener(kind, begin, {{ capture: true }});
}}"""
DRAWN = "() => window.watched.drawn - window.watched.began"


def measured(page: Page, press: Callable[[], None]) -> float:
    """Milliseconds from a press to the picture."""
    settle(page)
    page.evaluate(WATCH)
    press()
    page.wait_for_function("() => window.watched.drawn > 0")
    return page.evaluate(DRAWN)


def head(page: Page, number: int) -> float:
    """Another head is chosen in the box."""
    box = page.get_by_role("combobox").first
    box.click()
    option = page.get_by_role("option").nth(number)
    option.wait_for()
    return measured(page, option.click)


def cut(page: Page, number: int) -> float:
    """Something else is taken away."""
    row = page.locator(CUTS)
    return measured(page, row.locator("button").nth(number).click)


def step(page: Page, _number: int) -> float:
    """One step earlier in the training."""
    thumb = page.get_by_role("slider").first
    thumb.focus()
    return measured(page, lambda: page.keyboard.press("ArrowLeft"))


def compared(kind: str, press: Callable[[Page, int], float], both: list[Page], n: range) -> float:
    """Print both; by how much the page takes longer."""
    times = [[press(page, number) for page in both] for number in n]
    columns = list(zip(*times, strict=True))
    bare, ours = map(statistics.median, columns)
    fastest = [min(column) for column in columns]
    print(f"{kind:10} bare {bare:4.0f} ms, ours {ours:4.0f}: {ours - bare:+4.0f}", end="; ")
    print("fastest {:.0f} and {:.0f}".format(*fastest), flush=True)
    return ours - bare


def main() -> int:
    """Print them; 1 if one takes too much longer than the bare page."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        script = Path(folder) / "bare.py"
        script.write_text(BARE)
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        with server(script) as plain, server(ROOT / "app.py") as url:
            print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, medians")
            more = []
            for variant in ("mla", "mha"):
                print(variant)
                both = [browser.new_page(viewport=WINDOW, locale="en-US") for _ in range(2)]
                for page, address in zip(
                    both, (plain, f"{url}/trained_heads?th_variant={variant}&th_head=0.0"),
                    strict=True,
                ):  # fmt: skip
                    page.set_default_timeout(PATIENCE_MILLISECONDS)
                    page.goto(address)
                    settle(page)
                cuts = both[1].locator(CUTS).locator("button")
                steps = len(run.steps(variant)) - 1
                more.append(compared("head", head, both, range(1, 8)))
                more.append(compared("cut", cut, both, range(1, cuts.count())))
                more.append(compared("snapshot", step, both, range(steps)))
                for page in both:
                    page.close()
        browser.close()
    return int(max(more) > MOST_MORE_MILLISECONDS)


if __name__ == "__main__":
    sys.exit(main())
