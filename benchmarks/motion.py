"""How evenly the pictures move that the browser moves, on a phone with a slowed processor.

    python benchmarks/motion.py              4 times slower, 390 x 844
    python benchmarks/motion.py --slower 1

Press: until the first frame in which the picture differs. Frames: the times between two of them
while it moves. Asked: messages to the server meanwhile.
"""

import argparse
import statistics
import sys
from itertools import pairwise
from pathlib import Path

from playwright.sync_api import Locator, Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from ui.handout.browser import FLAGS, chromium_path, server, settle  # noqa: E402 - by the path

LEAST_FRAMES = 30  # a second
PATIENCE_MILLISECONDS = 120_000
SECONDS = 3.0  # that are looked at
PHONE = {"width": 390, "height": 844}
# From the press on: the frames, and the first in which the picture is another one.
WATCH = """svg => {
  const watched = { frames: [], first: 0, began: 0, asked: 0 };
  window.watched = watched;
  const before = svg.innerHTML;
  const look = (now) => {
    watched.frames.push(now);
    if (!watched.first && svg.innerHTML !== before) watched.first = performance.now();
    requestAnimationFrame(look);
  };
  addEventListener("click", () => {
    watched.began = performance.now();
    requestAnimationFrame(look);
  }, { capture: true, once: true });
}"""
PLAYED = "seconds => new Promise(done => setTimeout(() => done(window.watched), 1000 * seconds))"
PICTURES = {  # page -> what is pressed, and for how long it moves
    "rope?rope_query=0": ("Play", SECONDS),
    "decode?dec_speed=fast&dec_step=1": ("Play", SECONDS),
    "absorption?": ("", 0.35),
}


def pressed(page: Page, name: str) -> Locator:
    """Play, or the bracket that is not chosen."""
    if name:
        return page.get_by_role("button", name=name)
    return page.locator(".choice label").nth(1)


def measured(page: Page, url: str, name: str, seconds: float, slower: float) -> dict:
    """Milliseconds to the first frame and between frames, and the messages."""
    sent = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda data: sent.append(data)))
    page.goto(url)
    settle(page)
    slow = page.context.new_cdp_session(page)
    slow.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.locator(".moving > svg").evaluate(WATCH)
    before = len(sent)
    pressed(page, name).click()
    watched = page.evaluate(PLAYED, seconds)
    asked = len(sent) - before
    frames = [time for time in watched["frames"] if time <= watched["began"] + 1000 * seconds]
    gaps = [after - time for time, after in pairwise(frames)]
    return {"first": watched["first"] - watched["began"], "gaps": gaps, "asked": asked}


def main() -> int:
    """Print them; 1 if one of them moves with less than 30 frames a second."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--slower", type=float, default=4)
    given = parser.parse_args()
    slowest = 0.0
    with server(ROOT / "app.py") as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        for address, (name, seconds) in PICTURES.items():
            page = browser.new_page(viewport=PHONE, locale="en-US")
            page.set_default_timeout(PATIENCE_MILLISECONDS)
            found = measured(page, f"{url}/{address}", name, seconds, given.slower)
            gaps = sorted(found["gaps"])
            middle, late = statistics.median(gaps), gaps[int(0.95 * (len(gaps) - 1))]
            print(
                f"{address:34} press to first frame {found['first']:.0f} ms; {len(gaps)} frames, "
                f"median {middle:.1f} ms, 95 % under {late:.1f} ms, longest {gaps[-1]:.1f} ms; "
                f"{found['asked']} messages to the server"
            )
            slowest = max(slowest, middle)
            page.close()
        browser.close()
    return int(slowest > 1000 / LEAST_FRAMES)


if __name__ == "__main__":
    sys.exit(main())
