"""Opens every page of a running app, and what its controls lead to, and keeps the messages.

A control is chosen where the page begins, and what it offers later at the first view that does;
those that a page names as `crossed` are chosen together, one after the other.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from queue import Empty, Queue
from threading import Thread
from urllib.request import urlopen

from ui.frame import story
from ui.parts.scene import card
from ui.settings.page import HOME, PAGES, Page
from ui.settings.parsers import as_text
from ui.settings.sizes import SMALL_VARIANT
from ui.site.protocol import Control, Run, Session
from ui.site.store import Press, Query, Store, address_of

# Of every page: what a copy does by itself, or leaves to the app.
NOT_CHOSEN = {
    *("lang", "story_start", "story_next", "story_previous", "story_leave", "lecture_start"),
    *("reset_page", "reset_all"),
}
MEDIA = re.compile(rb"/media/([0-9a-f]+\.\w+)")
SLOWEST = "trained_heads", "compression", "attention_maps", "real_models", "sparse"


@dataclass(frozen=True)
class Recorder:
    """Asks an app for what the store does not have.

    Args:
        app: its address.
        store: of this thread.
        told: called with each address that was recorded.
    """

    app: str
    store: Store
    told: Callable[[str], None]

    def open(self, page: str, query: Query) -> Run:
        """Return the run of an address, recorded now or before."""
        address = address_of(page, query)
        if known := self.store.run(address):
            return known
        with Session(self.app) as session:
            run = session.open(page, query)
            self._keep_media(run)
        self.store.keep(address, run)
        self.told(address)
        return run

    def _keep_media(self, run: Run) -> None:
        """Keep the files that a run's messages name, while its session lasts."""
        for name in {one.decode() for body in run.messages for one in MEDIA.findall(body)}:
            if not self.store.has_media(name):
                with urlopen(f"{self.app}/media/{name}") as answer:
                    self.store.keep_media(name, answer.read())

    def press(self, page: str, query: Query, control: Control, said: str) -> Press:
        """Return where a control leads, which is recorded as well."""
        address = address_of(page, query)
        press = self.store.pressed(address, control.key, said)
        if not press:
            with Session(self.app) as session:
                session.open(page, query)
                run = session.say(control.choose(said))
            press = Press(address, control.key, said, run.page, run.query)
            self.store.keep_press(press)
        self.open(press.page, press.query)
        return press


def views(recorder: Recorder, page: Page, query: Query) -> None:
    """Record a page as it begins, and what its controls lead to."""
    seen: set[tuple[str, str]] = set()  # of controls, by key, what they offer
    todo: list[tuple[Query, tuple[str, ...]]] = [(query, ())]
    done = {address_of(page.name, query)}
    while todo:
        query, names = todo.pop(0)
        found = list(filter(chosen, recorder.open(page.name, query).controls()))
        found.sort(key=lambda one: one.kind == "button")  # a button may lead where a setting does
        for control, said in [(one, said) for one in found for said in one.options or [""]]:
            new = (control.key, said) not in seen
            seen.add((control.key, said))
            if said == control.said or not (new or _crossed(page, names, control)):
                continue
            press = recorder.press(page.name, query, control, said)
            address = address_of(press.page, press.query)
            if press.page == page.name and address not in done:
                done.add(address)
                todo.append((press.query, (*names, name_of(control))))


def chosen(control: Control) -> bool:
    """Tell whether a copy has where this control leads."""
    of_frame = name_of(control) in NOT_CHOSEN
    free = control.kind != "button" and not control.options
    return not (of_frame or free or control.element.disabled)


def name_of(control: Control) -> str:
    """Return the name of a control's setting; of a button its key."""
    return control.key.partition(":")[0]


def _crossed(page: Page, names: tuple[str, ...], control: Control) -> bool:
    """Tell whether a group has it behind all that was chosen."""
    name = name_of(control)
    before = [{*group[: group.index(name)]} for group in page.crossed if name in group]
    return any({*names} <= those for those in before)


def own_of(lang: str) -> Query:
    """Return what an address says of its language: nothing of English."""
    return {} if lang == "en" else {"lang": lang}


def step_of(number: int, own: Query) -> tuple[str, Query]:
    """Return the page and the settings of a step of the story, from 1."""
    step = story.steps()[number - 1]
    said = {name: as_text(value) for name, value in step.own.items()}
    return step.page, said | {"stop": str(number)} | own


def inside_of(code: str, own: Query) -> tuple[str, Query]:
    """Return the page and the settings that a click on a block of the scene opens."""
    page, values = card.inside(code)
    return page, {name: as_text(value) for name, value in values.items()} | own


def steps(recorder: Recorder, own: Query) -> None:
    """Record every step of the story."""
    for number in range(1, len(story.steps()) + 1):
        recorder.open(*step_of(number, own))


def scene(recorder: Recorder, own: Query) -> None:
    """Record what a click on a block of the overview's scene opens, of each variant."""
    recorder.open(*inside_of(card.SHELF, own))
    for code in PAGES[HOME].variants:
        variant = own if code == SMALL_VARIANT else {"variant": code} | own
        for block in recorder.open(HOME, variant).blocks():
            recorder.open(*inside_of(block, variant))


def language(recorder: Recorder, own: Query) -> None:
    """Record the choice of the language."""
    for control in recorder.open(HOME, own).controls():
        if name_of(control) == "lang":
            other = next(one for one in control.options if one != control.said)
            recorder.press(HOME, own, control, other)


def links(recorder: Recorder, page: Page, own: Query) -> None:
    """Record what a page leads to."""
    for link in page.links:
        said = {name: as_text(value) for name, value in link.values.items()}
        recorder.open(link.page, said | own)


Job = Callable[[Recorder], None]


def jobs(languages: Iterable[str], pages: Iterable[str]) -> list[Job]:
    """Return all that is to be done, the longest first."""
    names = sorted(pages, key=lambda name: (name not in SLOWEST, name != HOME))
    made: list[Job] = []
    for lang in languages:
        own = own_of(lang)
        made += [partial(job, own=own) for job in (steps, scene, language)]
        for page in map(PAGES.__getitem__, names):
            made.append(lambda r, page=page, own=own: (views(r, page, own), links(r, page, own)))
    return made


def record(apps: Iterable[str], opened: Callable[[], Store], told: Callable[[str], None],
           todo: Iterable[Job]) -> None:  # fmt: skip
    """Do the jobs, one after the other at each app.

    Raises:
        Exception: what the first job that failed has raised.
    """
    queue: Queue[Job] = Queue()
    failed: list[Exception] = []
    for job in todo:
        queue.put(job)

    def work(app: str) -> None:
        recorder = Recorder(app, opened(), told)
        while not failed:
            try:
                queue.get_nowait()(recorder)
            except Empty:
                break
            except Exception as error:
                failed.append(error)
        recorder.store.close()

    threads = [Thread(target=work, args=(app,)) for app in apps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
