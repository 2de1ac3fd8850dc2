"""The copy as a folder: its pages, the front end, the recorded messages, and what leads where."""

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from ui import ASSETS, STATIC, asset
from ui.settings.page import FORMER_PAGES
from ui.settings.shared import TAGS
from ui.site import frontend, pack
from ui.site.html import Still, document, moved
from ui.site.html import place as place_of
from ui.site.index import FORMAT, index
from ui.site.store import Store

SCRIPT, ICON, LICENCE = "replay.js", "favicon.png", "vendor/streamlit.LICENSE.txt"

HOST = {  # who may frame the page and send it messages: nobody
    "allowedOrigins": ["https://none.invalid"],
    "useExternalAuthToken": False,
    "enableCustomParentMessages": False,
    "enforceDownloadInNewTab": False,
    "metricsUrl": "",
    "blockErrorDialogs": False,
}


@dataclass(frozen=True)
class Ways:
    """Addresses that a copy names; "" where there is none.

    Args:
        url: its own.
        app: of a live app.
        source: where the project can be cloned from.
    """

    url: str = ""
    app: str = ""
    source: str = ""


@dataclass(frozen=True)
class Written:
    """The addresses, views and bytes of a written copy."""

    addresses: int
    files: int
    n_bytes: int


def environment(url: str, *, real_model: bool) -> dict[str, str]:
    """Return what a server is told whose pages are recorded."""
    told = {"MLA_RECORDED": "1", "MLA_REAL_MODEL": "0", "PUBLIC_URL": url, "OMP_NUM_THREADS": "1"}
    return told if real_model else told | {"MLA_MODEL_FOLDERS": "build/no-models"}


def write(
    store: Store, folder: Path, taken: Callable[[Path], Iterable[Still]], ways: Ways
) -> Written:
    """Write the copy of what was recorded.

    Args:
        store: holds it.
        folder: of the copy; one that is there makes room once this one is whole.
        taken: writes the pictures of its pages into a folder, and says what they begin with.
        ways: what it names.
    """
    made = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    files = pack.write(store, made)
    found = index(store, files, ways.app, ways.source)
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    (made / "index.json").write_text(text, "utf-8")
    told = {"format": FORMAT, "app": ways.app, "source": ways.source, "texts": found["texts"]}
    every = list(taken(made))
    for still in every:
        same = (one for one in every if one.page == still.page)
        said = {one.lang: asdict(one) | {"tab": one.name, "tag": TAGS[one.lang]} for one in same}
        place = made / still.place
        place.mkdir(parents=True, exist_ok=True)
        own = told | {"lang": still.lang, "page": place_of(still.page, "en"), "stills": said}
        (place / "index.html").write_text(document(still, own, ways.url), "utf-8")
        shutil.copyfile(STATIC / ICON, place / ICON)  # asked for beside each page
    for old, page in FORMER_PAGES.items():
        for lang in {still.lang for still in every if still.page == page}:
            place = made / place_of(old, lang)
            place.mkdir(parents=True)
            (place / "index.html").write_text(moved(page), "utf-8")
    frontend.copy(made)
    (made / SCRIPT).write_text(asset("stand_in.js") + asset(SCRIPT), "utf-8")
    shutil.copyfile(ASSETS / LICENCE, made / Path(LICENCE).name)
    _answers(made)
    (made / ".nojekyll").write_text("")  # GitHub would leave out what begins with an underscore
    _media(store, made)
    shutil.rmtree(folder, ignore_errors=True)
    made.rename(folder)
    every = [file.stat().st_size for file in folder.rglob("*") if file.is_file()]
    return Written(len(files), len(every), sum(every))


def _answers(folder: Path) -> None:
    """Write what the front end asks of a server before it opens its socket."""
    place = folder / "_stcore"
    place.mkdir()
    (place / "health").write_text("ok")
    (place / "host-config").write_text(json.dumps(HOST))


def _media(store: Store, folder: Path) -> None:
    for name, body in store.media():
        (folder / "media").mkdir(exist_ok=True)
        (folder / "media" / name).write_bytes(body)
