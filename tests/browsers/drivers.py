"""Firefox and WebKitGTK as Debian has them, each driven by Selenium."""

import io
import json
import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, ImageGrab
from selenium import webdriver
from selenium.webdriver.remote.command import Command

from tests import patience
from tests.attacks.server import logged, wait_until

SCREEN = 1600, 1200
NUMBER = re.compile(r"^(\d+)\n", re.MULTILINE)  # of the screen, in a line of its own
# A window is as narrow as a phone only if its own bars are.
NARROW_FIREFOX = ":root { min-width: 0 !important; }"
NARROW_WEBKIT = "button, entry { min-width: 0; margin: 0; border: 0; padding: 0; }"
PREFERENCES = {
    "browser.download.alwaysOpenPanel": False,
    "browser.download.folderList": 2,  # the folder that is named
    "marionette.port": 0,  # any
    "toolkit.legacyUserProfileCustomizations.stylesheets": True,
}
# Of what Selenium calls a command: what Firefox calls it.
MARIONETTE = {
    Command.CLICK_ELEMENT: "ElementClick",
    Command.CLOSE: "CloseWindow",
    Command.GET: "Navigate",
    Command.GET_CURRENT_URL: "GetCurrentURL",
    Command.GET_ELEMENT_TEXT: "GetElementText",
    Command.GET_WINDOW_RECT: "GetWindowRect",
    Command.GO_BACK: "Back",
    Command.NEW_SESSION: "NewSession",
    Command.NEW_WINDOW: "NewWindow",
    Command.REFRESH: "Refresh",
    Command.SCREENSHOT: "TakeScreenshot",
    Command.SET_TIMEOUTS: "SetTimeouts",
    Command.SET_WINDOW_RECT: "SetWindowRect",
    Command.SWITCH_TO_WINDOW: "SwitchToWindow",
    Command.W3C_ACTIONS: "PerformActions",
    Command.W3C_EXECUTE_SCRIPT: "ExecuteScript",
    Command.W3C_EXECUTE_SCRIPT_ASYNC: "ExecuteAsyncScript",
    Command.W3C_GET_CURRENT_WINDOW_HANDLE: "GetWindowHandle",
    Command.W3C_GET_WINDOW_HANDLES: "GetWindowHandles",
}


@dataclass(frozen=True)
class Browser:
    """One that runs: how it is driven, what is on its screen, and where its downloads land."""

    driver: webdriver.Remote
    picture: Callable[[], Image.Image]
    downloads: Path


class Marionette:
    """Hands Selenium's commands to Firefox in its own protocol, since Debian has no geckodriver."""

    def __init__(self, port: int) -> None:
        self.line = socket.create_connection(("127.0.0.1", port), timeout=2 * patience.SECONDS)
        self.file, self.sent = self.line.makefile("rwb"), 0
        self._read()  # what it says of itself

    def execute(self, command: str, given: dict | None) -> dict:
        """Return what Selenium expects of a driver's answer."""
        told = {name: value for name, value in (given or {}).items() if name != "sessionId"}
        if command == Command.NEW_SESSION:
            told = {}
        self.sent += 1
        message = json.dumps([0, self.sent, f"WebDriver:{MARIONETTE[command]}", told])
        self.file.write(f"{len(message)}:{message}".encode())
        self.file.flush()
        _, number, refused, answer = self._read()
        assert number == self.sent
        if refused:
            return {"status": 500, "value": json.dumps({"value": refused})}
        return answer if isinstance(answer, dict) and "value" in answer else {"value": answer}

    def close(self) -> None:
        """Hang up."""
        self.file.close()
        self.line.close()

    def _read(self) -> Any:
        length = b""
        while (letter := self.file.read(1)) != b":":
            assert letter, "Firefox has ended"
            length += letter
        return json.loads(self.file.read(int(length)))


@contextmanager
def firefox(folder: Path) -> Iterator[Browser]:
    """Firefox ESR without a window, its profile in this folder."""
    told = PREFERENCES | {"browser.download.dir": str(folder)}
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in told.items()]
    (folder / "user.js").write_text("\n".join(lines), "utf-8")
    (folder / "chrome").mkdir()
    (folder / "chrome/userChrome.css").write_text(NARROW_FIREFOX, "utf-8")
    command = ["firefox-esr", "--headless", "--marionette", "--no-remote", "--profile", str(folder)]
    across, down = map(str, SCREEN)
    size = {"MOZ_HEADLESS_WIDTH": across, "MOZ_HEADLESS_HEIGHT": down}
    port = folder / "MarionetteActivePort"
    with logged(command, size) as process:
        wait_until(lambda: port.exists() and port.read_text(), "Firefox takes commands")
        with closing(Marionette(int(port.read_text()))) as line:
            driver = webdriver.Remote(command_executor=line, options=webdriver.FirefoxOptions())
            yield Browser(driver, lambda: _opened(driver.get_screenshot_as_png()), folder)
            assert process.alive, process.log


@contextmanager
def webkit(folder: Path) -> Iterator[Browser]:
    """WebKitGTK's small browser on a screen of its own, its configuration in this folder."""
    (folder / "gtk-3.0").mkdir()
    (folder / "gtk-3.0/gtk.css").write_text(NARROW_WEBKIT, "utf-8")
    (folder / "user-dirs.dirs").write_text(f'XDG_DOWNLOAD_DIR="{folder}"', "utf-8")
    size = "x".join(map(str, SCREEN))
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", f"{size}x24", "-nolisten", "tcp"]
    with logged(command) as screen:
        told = wait_until(lambda: NUMBER.search(screen.log), "there is a screen")
        place = f":{told[1]}"
        options = webdriver.WebKitGTKOptions()
        options.binary_location = str(next(Path("/usr/lib").glob("*/webkit2gtk-4.1/MiniBrowser")))
        options.add_argument("--automation")
        environment = os.environ | {"DISPLAY": place, "XDG_CONFIG_HOME": str(folder)}
        service = webdriver.WebKitGTKService(shutil.which("WebKitWebDriver"), env=environment)
        driver = webdriver.WebKitGTK(options, service)
        try:
            yield Browser(driver, lambda: ImageGrab.grab(xdisplay=place), folder)
        finally:
            driver.quit()


def _opened(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png)).convert("RGB")


BROWSERS = {"firefox": firefox, "webkit": webkit}
