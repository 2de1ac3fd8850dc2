"""From the press of a slider to the last frame that it changes, beside a bare page.

    python benchmarks/sliders.py                        every page, 30 changes
    python benchmarks/sliders.py --pages kv_cache rope
    python benchmarks/sliders.py --changes 12

The first slider of a page in sight (of those in the sidebar or behind the model's chip, where it
has no other) is moved by the arrow keys, as far as half the changes, and back. Beside it the slider
of a bare page, which changes as many charts as that of the page does, of the same sizes, each with
as many series of as many random numbers; at most 4. Both in one headless Chromium, in turns.

Where a chart goes along with the slider before the server has heard, its first change is told, too;
and so are the frame of a map's cell, from the press of the mouse, and a step of the worked example.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.measuring import (
    NOISY,
    Bare,
    bare_app,
    our_app,
    percentile,
    report,
    spread,
)  # fmt: skip
from ui.frame.pages import PAGES
from ui.handout.browser import FLAGS, chromium_path, settle

GOALS = {"median": 0.7, "p95": 0.7}
SHARES = {"median": 0.5, "p95": 0.95}
AT_ONCE = 100  # milliseconds, the median where no server is asked
SIDES = ("x", "width"), ("y", "height")
MOST_SPREAD = 0.25  # of the medians of the bare page's turns
TURNS, MOST_CHARTS = 3, 4
WINDOW = {"width": 1280, "height": 720}
WATCH = Path(__file__).with_suffix(".js").read_text("utf-8")
PATIENCE_MILLISECONDS = 60_000
RANGE = "input[type=range]"
PLACES = (  # where a page's slider may be, the best first; the chip has to be opened
    ("[data-testid=stMain] .stSlider:not([data-testid=stPopoverBody] *)", ""),
    ("[data-testid=stSidebar] .stSlider", ""),
    ("[data-testid=stPopoverBody] .stSlider", ".st-key-model_chip button"),
)


@contextmanager
def opened(browser: Browser, address: str) -> Iterator[Page]:
    """A page in a window of its own, at rest."""
    context = browser.new_context(viewport=WINDOW, locale="en-US", reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MILLISECONDS)
    page.goto(address)
    settle(page)
    yield page
    context.close()


def slider_of(page: Page) -> Locator | None:
    """The slider that is moved; None where the page has none."""
    for place, behind in PLACES:
        if behind and page.locator(behind).count():
            page.locator(behind).first.click()
            settle(page)
            for closed in page.locator("[data-testid=stPopoverBody] summary").all()[:1]:
                closed.click()
                settle(page)
        found = page.locator(f"{place} {RANGE}")
        if found.count():
            return found.first
    return None


Taken = tuple[float, float]  # milliseconds from the press to the first change and to the last


def press(page: Page, slider: Locator, key: str) -> Taken | None:
    """Press a key on the slider; None where nothing changed."""
    slider.press(key)
    return over(page)


def over(page: Page) -> Taken | None:
    """Wait until all is drawn that a press changes."""
    page.wait_for_function("() => sliderWatch.over()", polling=50)
    return page.evaluate("sliderWatch.taken()")


def ways(slider: Locator) -> tuple[str, str, int]:
    """The keys that move the slider away from where it stands and back, and how far it can go."""
    high, step, now = (float(slider.get_attribute(name) or 1) for name in ("max", "step", "value"))
    room = round((high - now) / step)
    if room:
        return "ArrowRight", "ArrowLeft", room
    return "ArrowLeft", "ArrowRight", round((now - float(slider.get_attribute("min") or 0)) / step)


def altered(page: Page, slider: Locator) -> list[Mapping[str, object]]:
    """The charts that a press changes, as they are after it; the slider stands where it was."""
    there, back, _ = ways(slider)
    before = page.evaluate("sliderWatch.seen()")
    press(page, slider, there)
    after = page.evaluate("sliderWatch.seen()")
    press(page, slider, back)
    old = {one["all"] for one in before if one}
    kept = [one for one in after if one and one.pop("all") not in old]
    return kept[:MOST_CHARTS]


def keys(changes: int, slider: Locator) -> list[str]:
    """There and back, as far as the slider goes."""
    there, back, room = ways(slider)
    far = max(1, min(changes // 2, room))
    return (([there] * far + [back] * far) * changes)[:changes]


def measured(browser: Browser, url: str, name: str, changes: int) -> dict[str, object]:
    """A row of the table."""
    with opened(browser, f"{url}/{name.replace('overview', '')}?lang=en") as page:
        slider = slider_of(page)
        if slider is None:
            return {"page": name, "slider": "none"}
        page.evaluate(WATCH)
        charts = altered(page, slider)
        if not charts:
            return {"page": name, "slider": "moves no chart"}
        label = slider.get_attribute("aria-label") or ""
        with bare_app(Bare(charts=charts)) as bare, opened(browser, bare.url) as other:
            other.evaluate(WATCH)
            way = keys(changes, slider)
            ours, beside = in_turns(way, (page, slider), (other, other.locator(RANGE).first))
        led = slider.evaluate("one => sliderWatch.led(one)")
    flat, flat_beside = ([last for _, last in chain(*side)] for side in (ours, beside))
    medians = [statistics.median(last for _, last in turn) for turn in beside]
    steady = spread(medians) <= MOST_SPREAD
    row = {"page": name, "slider": label[:24], "charts": len(charts), "changes": len(flat)}
    if not (flat and flat_beside):  # nothing was drawn in time to be seen as a change
        return row
    for kind, share in SHARES.items():
        own, bares = percentile(flat, share), percentile(flat_beside, share)
        row |= {f"{kind} ms": round(own), f"{kind} bare": round(bares)}
        row[f"{kind} ratio"] = own / bares if steady else NOISY
    return row | (at_once(list(chain(*ours))) if led else {})


def at_once(taken: Sequence[Taken]) -> dict[str, int]:
    """Milliseconds to the first change, which asks no server."""
    firsts = [first for first, _ in taken]
    return {f"at once {kind}": round(percentile(firsts, share)) for kind, share in SHARES.items()}


def framed(browser: Browser, url: str, changes: int) -> dict[str, object]:
    """The row of a map's frame: two cells are pressed by turns."""
    with opened(browser, f"{url}/attention_maps?lang=en&preset=small") as page:
        page.evaluate(f"{WATCH}; sliderWatch.part = '.shapelayer'")  # not what a pointer brings
        plot = page.locator(".js-plotly-plot").nth(1)
        plot.scroll_into_view_if_needed()
        area, taken = plot.locator(".nsewdrag").last.bounding_box(), []
        for n in range(changes + 2):  # the first two warm it up
            x, y = (area[k] + area[size] * (0.1 + 0.1 * (n % 2)) for k, size in SIDES)
            page.mouse.move(x, y)
            page.locator(".hovertext").first.wait_for()
            page.mouse.down()
            page.mouse.up()
            taken.append(over(page))
    found = [one for one in taken[2:] if one]
    return {"page": "attention_maps", "slider": "a cell", "changes": len(found)} | at_once(found)


def stepped(browser: Browser, url: str, changes: int) -> dict[str, object]:
    """The row of the worked example's steps: a clicker's keys, on and back by turns."""
    with opened(browser, f"{url}/worked_example?lang=en") as page:
        page.evaluate(f"{WATCH}; sliderWatch.part = '.st-key-we_stage'")
        taken = []
        for n in range(changes + 2):  # the first two warm it up
            page.keyboard.press(("PageDown", "PageUp")[n % 2])
            taken.append(over(page))
    found = [one for one in taken[2:] if one]
    return {"page": "worked_example", "slider": "a step", "changes": len(found)} | at_once(found)


def in_turns(way: list[str], *sides: tuple[Page, Locator]) -> list[list[list[Taken]]]:
    """Time each press on both sides, by turns: the same presses on one, then on the other."""
    length = -(-len(way) // TURNS)
    taken: list[list[list[Taken]]] = [[] for _ in sides]
    for (page, slider), _ in zip(sides, taken, strict=True):  # to warm both up
        page.bring_to_front()
        for key in ways(slider)[:2]:
            press(page, slider, key)
    for turn in range(TURNS):
        for (page, slider), found in zip(sides, taken, strict=True):
            page.bring_to_front()
            times = [press(page, slider, key) for key in way[turn * length : (turn + 1) * length]]
            found.append([one for one in times if one is not None])
    return taken


def main() -> int:
    """Measure and print; 1 if a goal is not reached or a ratio could not be told."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", nargs="*", default=list(PAGES))
    parser.add_argument("--changes", type=int, default=30)
    given = parser.parse_args()
    rows = []
    with our_app() as app, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        for name in given.pages:
            rows.append(measured(browser, app.url, name, given.changes))
            print(rows[-1], flush=True)
        if "attention_maps" in given.pages:
            rows.append(framed(browser, app.url, given.changes))
        if "worked_example" in given.pages:
            rows.append(stepped(browser, app.url, given.changes))
        browser.close()
    report("sliders", rows, goals=GOALS, at_once=AT_ONCE, most_spread=MOST_SPREAD, window=WINDOW)
    told = [(row.get(f"{kind} ratio", 0), goal) for row in rows for kind, goal in GOALS.items()]
    told += [(row.get("at once median", 0), AT_ONCE) for row in rows]
    return int(any(ratio == NOISY or ratio > goal for ratio, goal in told))


if __name__ == "__main__":
    sys.exit(main())
