"""The index of a copy: the file of every address, and where every control leads."""

from collections import defaultdict
from typing import Any

from mla_engine import SYMBOLS
from ui.frame import story
from ui.parts.scene import card
from ui.settings.page import FORMER_SETTINGS, HOME
from ui.settings.shared import LANGUAGES
from ui.site.record import inside_of, own_of, step_of
from ui.site.store import Press, Query, Store, address_of, parts_of
from ui.words.text import catalogue

FORMAT = 1  # of the index and the files; assets/replay.js has the same
TEXTS = "site."


def index(store: Store, files: dict[str, str], app: str, source: str) -> dict[str, Any]:
    """Return the index.

    Args:
        store: what was recorded.
        files: the file of each address.
        app: the address of a live app; "" for none.
        source: where the project can be cloned from; "" where that is not told.
    """
    choices, elsewhere = _choices(store)
    pages: dict[str, str] = {}
    for lang in LANGUAGES:
        if run := store.run(address_of(HOME, own_of(lang))):
            pages |= run.pages
    return {
        "format": FORMAT,
        "version": store.version,
        "home": HOME,
        "app": app,
        "source": source,
        "pages": pages,
        "files": files,
        "choices": choices,
        "elsewhere": elsewhere,
        "story": {lang: _story(own_of(lang)) for lang in LANGUAGES},
        "insides": {code: address_of(*inside_of(code, {})) for code in (*SYMBOLS, card.SHELF)},
        "former": FORMER_SETTINGS,
        "texts": {lang: _texts(lang) for lang in LANGUAGES},
    }


def _story(own: Query) -> list[str]:
    """Return the addresses of the story's steps."""
    return [address_of(*step_of(number, own)) for number in range(1, len(story.steps()) + 1)]


def _texts(lang: str) -> dict[str, str]:
    """Return what the script itself says."""
    said = {key: entry for key, entry in catalogue().items() if key.startswith(TEXTS)}
    return {key.removeprefix(TEXTS): entry[lang] for key, entry in said.items()}


Choices = dict[str, dict[str, Any]]


def _choices(store: Store) -> tuple[Choices, Choices]:
    """Return what each choice changes in an address, and by address where one leads elsewhere.

    A choice that leads to another page has that address, in place of what it changes.
    """
    choices: Choices = defaultdict(dict)
    elsewhere: Choices = defaultdict(dict)
    for press in sorted(store.presses(), key=lambda one: len(one.address)):
        page, before = parts_of(press.address)
        led = address_of(press.page, press.query)
        if press.page != page:
            change: Any = led
        else:
            change = _change(before, press)
        known = choices[press.key].setdefault(press.said, change)
        if known != change and _applied(page, before, known) != led:
            elsewhere[press.address][f"{press.key}\n{press.said}"] = led
    return choices, elsewhere


def _change(before: Query, press: Press) -> dict[str, str | None]:
    """Return the settings that a choice has changed; the chosen one also where it was so before."""
    name = press.key.partition(":")[0]
    names = {n for n in {*before, *press.query} if before.get(n) != press.query.get(n)}
    if name in press.query or name in before:
        names.add(name)
    return {n: press.query.get(n) for n in sorted(names)}


def _applied(page: str, query: Query, change: Any) -> str:
    if isinstance(change, str):
        return change
    after = {n: text for n, text in (query | change).items() if text is not None}
    return address_of(page, after)
