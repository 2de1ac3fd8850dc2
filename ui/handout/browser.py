"""A server of our own and a headless Chromium that looks at it, for pictures and for tests."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from ui import ROOT

PATIENCE_MILLISECONDS = 300_000  # that a page may take on a busy machine
# Asked in every frame: Streamlit's own states, no placeholder, every chart and every letter there,
# and so for some frames in a row without a change of the page, since charts follow its script.
SETTLED = """() => {
  const at = (name) => document.querySelector(`[data-testid=${name}]`);
  const shown = (chart) => chart.getBoundingClientRect().width > 0;
  const moves = ({ playState, pending, effect }) => // in Firefox one out of sight stays pending
    playState === "running" && !pending && effect.getTiming().iterations !== Infinity;
  const still =
    at("stApp")?.dataset.testConnectionState === "CONNECTED"
    && at("stApp").dataset.testScriptState === "notRunning"
    && !at("stSkeleton") && !at("stAppSkeleton") && document.fonts.status === "loaded"
    && [...document.querySelectorAll("[data-testid=stPlotlyChart]")].every(
      (chart) => !shown(chart) || "far" in chart.dataset || chart.querySelector(".main-svg"))
    && !document.getAnimations().some(moves);
  if (!document.unchanged) {
    document.unchanged = { frames: 0 };
    new MutationObserver(() => { document.unchanged.frames = 0; })
      .observe(document, { subtree: true, childList: true, attributes: true });
  }
  document.unchanged.frames = still ? document.unchanged.frames + 1 : 0;
  if (document.unchanged.frames < 10) return false;
  document.unchanged.frames = 0;
  return true;
}"""
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium_path() -> str:
    """Return the path of Chromium: $CHROMIUM, or the one on the path."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    assert found, "no Chromium found: tests/find_tools.sh installs one"
    return found


def _answers(url: str) -> bool:
    try:
        return urllib.request.urlopen(f"{url}/_stcore/health").status == 200
    except OSError:
        return False


@contextmanager
def server(script: Path) -> Iterator[str]:
    """A Streamlit server for `script`, up and answering.

    Raises:
        ChildProcessError: it ended, and has said why.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--server.port", str(port), "--server.headless", "true"]
    command = [sys.executable, "-m", "streamlit", "run", str(script), *options]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        while not _answers(url):
            if running.poll() is not None:
                raise ChildProcessError(f"the server ended with {running.returncode}")
            time.sleep(0.1)
        yield url
    finally:
        running.terminate()
        running.wait(10)


def settle(page: Page) -> None:
    """Wait until the app is connected, its script has run, all is drawn and nothing moves."""
    page.wait_for_function(SETTLED, timeout=PATIENCE_MILLISECONDS)
