"""A static copy of some ten views: recorded, written, and served as files below a path."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image

from tests.attacks.server import App, logged, own_ports, running, wait_until
from ui.settings.page import FORMER_PAGES, FORMER_SETTINGS, HOME
from ui.site import record, site
from ui.site.html import Still
from ui.site.store import Store

LIVE = "https://live.example.org/mla"
PLACE = "some/where"  # below the file server's own address
PAGES = HOME, "kv_cache", "notation"
STEPS = 3


@contextmanager
def recording() -> Iterator[App]:
    """A server whose pages are recorded, and here the same models as there."""
    told = site.environment("", real_model=False)
    with pytest.MonkeyPatch.context() as patch, running(told) as server:
        patch.setenv("MLA_MODEL_FOLDERS", told["MLA_MODEL_FOLDERS"])
        yield server


def written(app: App, root: Path) -> Path:
    """Record the views from this server; returns the copy's folder, somewhere below this one."""
    store = Store(root / "recorded.db")
    recorder = record.Recorder(app.url, store, lambda _: None)
    for page in PAGES:
        recorder.open(page, {})
    recorder.open("kv_cache", {"kv_view": "memory"})
    for number in range(1, STEPS + 1):
        recorder.open(*record.step_of(number, {}))
    run = recorder.open(HOME, {})
    chosen = {record.name_of(one): one for one in run.controls() if record.chosen(one)}
    recorder.press(HOME, {}, chosen["variant"], "MHA")
    language = next(one for one in run.controls() if record.name_of(one) == "lang")
    recorder.press(HOME, {}, language, "中文")
    recorder.open(*record.inside_of("q", {"variant": "mha"}))
    of_blocks = (*PAGES, "attention_maps")
    stills = [Still(page, f"Title of {page}", "Says.", "stills/none.jpg") for page in of_blocks]
    stills.append(Still(HOME, "标题", "一句话。", "stills/none.jpg", "zh"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FORMER_PAGES, "memory", "kv_cache")
        patch.setitem(FORMER_SETTINGS, "memory_view", "kv_view")
        site.write(store, root / PLACE, lambda _: stills, site.Ways(app=LIVE))
    (root / PLACE / "stills").mkdir()
    Image.new("RGB", (1200, 630)).save(root / PLACE / "stills/none.jpg")
    return root / PLACE


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The copy's address at a server of files alone."""
    (port,) = own_ports(1)
    root = folder.parents[len(Path(PLACE).parts) - 1]
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"]
    with logged(command, folder=root, address=f"http://127.0.0.1:{port}") as server:
        wait_until(lambda: server.answer(f"/{PLACE}/"), "files are served")
        yield f"{server.url}/{PLACE}"
