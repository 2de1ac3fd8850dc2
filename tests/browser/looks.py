"""Look at a page as those do who see little, listen or use keys: with axe, and at charts' words."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.waiting import settle, until, wider

CHARTS = Path(__file__).with_name("chart_text.js").read_text("utf-8")
WORDS = Path(__file__).with_name("page_text.js").read_text("utf-8")
WIDE, PHONE = {"width": 1920, "height": 1080}, {"width": 390, "height": 844}
KINDS = (
    "rope",
    "notation",
)  # charts and controls, a table and a form: tests/browser/test_first_minute.py
THEMES, LANGUAGES = ("light", "dark"), ("en", "zh")
BUTTONS = {"en": "English", "zh": "中文"}
# All that axe ranks serious or critical: its WCAG rules and a few of its best practices. Words of
# charts are judged by CHARTS, which knows what they stand on.
AXE = """(chosen) => axe.run({exclude: [".main-svg"]}, {
    runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
    rules: Object.fromEntries(chosen.map(rule => [rule, {enabled: true}])),
    resultTypes: ["violations"], preload: false,
}).then(found => found.violations)"""
BEST_PRACTICES = (
    "accesskeys",
    "aria-dialog-name",
    "aria-text",
    "aria-treeitem-name",
    "label-title-only",
    "tabindex",
)


class Turn(NamedTuple):
    """Theme and language of the first look at a page; the second has the others."""

    theme: int
    language: int

    @classmethod
    def of(cls, number: int) -> "Turn":
        """Return the four combinations in turn."""
        return cls(number % 2, number // 2 % 2)


def resized(page: Page, size: dict[str, int]) -> None:
    """Resize the window and wait until the charts have followed."""
    page.set_viewport_size(size)
    settle(page)


def speak(page: Page, language: str) -> None:
    """Switch the language by its button, which a narrow screen keeps out of sight."""
    before = page.locator("h1").inner_text()
    words = page.get_by_test_id("stSidebar").get_by_text(BUTTONS[language])
    words.evaluate("node => node.closest('button').click()")
    page.wait_for_function("said => document.querySelector('h1')?.innerText !== said", arg=before)
    settle(page)


def until_clean(page: Page, look: Callable[[], list[str]]) -> list[str]:
    """Return the findings of `look` that remain after it had time for late changes."""
    return until(page, look, lambda found: not found)


def unreadable(page: Page) -> list[str]:
    """Return the unreadable words of charts once they have followed the window."""
    return until_clean(page, lambda: page.evaluate(CHARTS))


def colliding(page: Page) -> list[str]:
    """Return the words outside charts that are printed over each other, or cut."""
    return until_clean(page, lambda: page.evaluate(WORDS))


def findings(page: Page) -> list[str]:
    """Return serious and critical findings, and words of charts that cannot be read."""
    return until_clean(page, lambda: serious(page)) + unreadable(page)


def serious(page: Page) -> list[str]:
    """Return the findings that axe ranks serious or critical."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    return [
        f"{rule['id']}: {node['target']} {node['html'][:120]}"
        for rule in page.evaluate(AXE, BEST_PRACTICES)
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


def looked_at(page: Page, turn: Turn) -> list[str]:
    """Return the findings on one of the screens, and unreadable words of charts on the other."""
    looks = (unreadable, findings) if turn.language else (findings, unreadable)
    found = looks[0](page)
    page.emulate_media(color_scheme=THEMES[1 - turn.theme])
    resized(page, PHONE)
    return found + looks[1](page)


def looked_through(page: Page, turn: Turn) -> list[str]:
    """Return the findings in all themes, languages and screens, wide parts and broken formulas."""
    found = findings(page)
    resized(page, PHONE)
    found += unreadable(page) + wider(page, "h1, h3, p, .js-plotly-plot", PHONE["width"])
    page.emulate_media(color_scheme=THEMES[1 - turn.theme])
    speak(page, LANGUAGES[1 - turn.language])
    found += findings(page)
    resized(page, WIDE)
    return found + unreadable(page) + page.locator(".katex-error").all_inner_texts()
