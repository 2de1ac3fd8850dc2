"""A reader in a browser that Selenium drives, and what is on the screen then."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PIL import Image
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder

from tests import patience
from tests.attacks.server import wait_until
from tests.browsers.drivers import Browser
from ui.handout.browser import SETTLED

WIDE, PHONE = (1280, 720), (390, 844)
AT_REST = f"""const done = arguments[0];
const look = () => (({SETTLED})() ? done(true) : requestAnimationFrame(look));
look();"""
# The last that is drawn of what a selector finds, in parts with a style of their own too, and whose
# words hold the text.
FIND = """const [selector, text] = arguments;
const parts = (root) => [root, ...[...root.querySelectorAll("*")]
  .flatMap(({ shadowRoot }) => (shadowRoot ? parts(shadowRoot) : []))];
return parts(document).flatMap((part) => [...part.querySelectorAll(selector)])
  .filter((one) => one.getClientRects().length && one.textContent.includes(text))
  .at(-1);"""
MIDDLE = """const one = arguments[0];
one.scrollIntoView({ block: "center" });
const { x, y, width, height } = one.getBoundingClientRect();
return [x, y, width, height];"""


@dataclass
class Reader:
    """Somebody at one window of a browser."""

    browser: Browser
    window: str

    @property
    def driver(self) -> Any:
        """The browser's driver, at this window."""
        driver = self.browser.driver
        if driver.current_window_handle != self.window:
            driver.switch_to.window(self.window)
        return driver

    @property
    def address(self) -> str:
        return self.driver.current_url

    def open(self, address: str, size: tuple[int, int] = WIDE) -> None:
        """Open an address as somebody who has seen the overview's opening, and wait for rest."""
        self.size(*size)
        self.driver.get(address)
        self.ask("sessionStorage.mlaOpening = true")
        self.settle()

    def size(self, across: int, down: int) -> None:
        """Give the page so many pixels."""

        def fits() -> bool:
            own = self.ask("return [innerWidth, innerHeight]")
            if own == [across, down]:
                return True
            whole = self.driver.get_window_rect()
            bars = whole["width"] - own[0], whole["height"] - own[1]
            self.driver.set_window_rect(0, 0, across + bars[0], down + bars[1])
            return False

        self._wait(fits, f"the page has {across} x {down} pixels")

    def ask(self, script: str, *given: Any) -> Any:
        """Return what a script returns."""
        return self.driver.execute_script(script, *given)

    def until(self, script: str, *given: Any) -> Any:
        """Return the first true result of a script."""
        return self._wait(lambda: self.ask(script, *given), f"{script} of {given}")

    def see(self, selector: str, text: str = "") -> Any:
        """Return an element once it is there with this text."""
        return self._wait(lambda: self.ask(FIND, selector, text), f"{selector} says {text!r}")

    def gone(self, selector: str) -> None:
        """Wait until nothing of a selector is drawn."""
        self._wait(lambda: not self.ask(FIND, selector, ""), f"no {selector}")

    def there(self, part: str) -> None:
        """Wait until the address holds a part."""
        self._wait(lambda: part in self.address, f"{part} in the address")

    def settle(self) -> None:
        """Wait until the page is at rest."""
        self.driver.set_script_timeout(patience.SECONDS)
        self.driver.execute_async_script(AT_REST)

    def click(self, selector: str, text: str = "") -> None:
        """Click the middle of an element, once it is there and the page at rest."""
        left, top, width, height = self._box(selector, text)
        self.point(left + width / 2, top + height / 2)
        self.tap()

    def tap(self) -> None:
        """Press the button of the pointer where it is."""
        ActionChains(self.driver).click().perform()

    def beside(self) -> "Reader":
        """Somebody at a new window."""
        self.driver.switch_to.new_window("window")
        return Reader(self.browser, self.browser.driver.current_window_handle)

    def point(self, x: float, y: float) -> None:
        """Move the pointer."""
        actions = ActionBuilder(self.driver)
        actions.pointer_action.move_to_location(round(x), round(y))
        actions.perform()

    def drag(self, selector: str, begin: float, end: float) -> None:
        """Draw what lies on an element along it, from one share of its width to another."""
        left, top, width, height = self._box(selector)
        actions = ActionBuilder(self.driver)
        mouse, down = actions.pointer_action, round(top + height / 2)
        mouse.move_to_location(round(left + begin * width), down).pointer_down()
        mouse.move_to_location(round(left + end * width), down).pointer_up()
        actions.perform()

    def type(self, keys: str, holding: str = "") -> None:
        """Press keys, one after the other, perhaps with one that is held."""
        actions = ActionChains(self.driver)
        if holding:
            actions.key_down(holding)
        actions.send_keys(keys)
        if holding:
            actions.key_up(holding)
        actions.perform()

    def picture(self) -> Image.Image:
        """The screen as it is painted."""
        return self.browser.picture()

    def _box(self, selector: str, text: str = "") -> list[float]:
        self.see(selector, text)
        self.settle()
        return self.ask(MIDDLE, self.see(selector, text))

    def _wait(self, look: Callable[[], Any], what: str) -> Any:
        def found() -> Any:
            try:
                return look()
            except WebDriverException:  # the page was changing
                return None

        return wait_until(found, f"{what}, at {self.address}")
