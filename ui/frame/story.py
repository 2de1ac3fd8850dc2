"""The story: chapters of steps; each is a page with its whole state, what it is about, a sentence.

The steps are numbered through; the setting `stop` is the present one, 0 outside the story. Some are
told in two ways: of the app's own real model, where it is there, and of the made-up language.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

import streamlit as st

from ui import css
from ui.frame import presenter
from ui.settings import state
from ui.settings.page import Note
from ui.settings.parsers import as_text
from ui.settings.server import server
from ui.settings.shared import CARRIED
from ui.settings.visit import visit
from ui.sources.small_model import AS_TRAINED
from ui.words.text import t, translated

FILE = Path(__file__).with_suffix(".toml")
# What is never dimmed: the bars, the title and the line below it.
UNDIMMED = (
    ".st-key-story_bar *, .st-key-lecture_bar *, .st-key-lecture_says *, .st-key-lead *, :has(h1)"
)
BESIDE = ("stop", "lang", *CARRIED)  # of a link: what is no state of its page

Texts = Mapping[str, str]  # by language


@dataclass(frozen=True)
class Step:
    """One step.

    Args:
        chapter: its number, from 1.
        title: of the chapter.
        page: by name.
        own: what its link says beside the defaults.
        look: keys of the page's elements that it is about.
        blocks: of the scene, the tensors that it is about; empty is all of them.
        say: the sentence.
        note: only for the presenter: where to point, what to ask, what will be asked.
    """

    chapter: int
    title: Texts
    page: str
    own: Mapping[str, Any]
    look: tuple[str, ...]
    blocks: tuple[str, ...]
    say: Texts
    note: Texts

    def link(self, number: int) -> dict[str, Any]:
        """Every setting of its link, as step `number`."""
        return dict(self.own) | {"stop": number, "lang": state.settings()["lang"]}


def steps() -> tuple[Step, ...]:
    """All steps in order, as they are told now."""
    return telling(AS_TRAINED.source())


@lru_cache(maxsize=3)
def telling(source: str) -> tuple[Step, ...]:
    """All steps in order, with the real model of this name; "" for none."""
    return tuple(_read(source))


def _read(source: str) -> Iterator[Step]:
    chapters = tomllib.loads(FILE.read_text("utf-8"))["chapters"]
    for number, chapter in enumerate(chapters, start=1):
        for row in chapter["steps"]:
            shared = {} if "page" in row else chapter.get("state", {})
            own = shared | row.get("state", {})
            if source and (real := row.get("real")):
                row |= real
                own = {"source": source, **real["state"]} if "state" in real else own
            yield Step(
                chapter=number,
                title=chapter["title"],
                page=row.get("page", chapter["page"]),
                own=own,
                look=tuple(row["look"]),
                blocks=tuple(row.get("blocks", ())),
                say=row.get("of_copy", row["say"]) if server().recorded else row["say"],
                note=row["note"],
            )


def chapters() -> list[list[tuple[int, Step]]]:
    """The steps of each chapter with their numbers."""
    numbered = enumerate(steps(), start=1)
    return [list(each) for _, each in groupby(numbered, lambda one: one[1].chapter)]


def number() -> int:
    """The present step, from 1; 0 outside the story."""
    return state.settings()["stop"]


def present() -> Step | None:
    """The present step, told of the model that its page shows."""
    if not number():
        return None
    told, plain = (one[number() - 1] for one in (steps(), telling("")))
    return plain if "source" in told.own and not AS_TRAINED.reads() else told


def go(to: int) -> None:
    """Open a step, counted from 1, or the nearest that there is."""
    to = min(len(steps()), max(1, to))
    if not number():
        st.session_state.return_point = ReturnPoint(visit().page.name, state.query())
    step = steps()[to - 1]
    state.go(step.page, **step.link(to))


def leave() -> None:
    """Go back to the return point; from a link into the story, to its page as it stands."""
    if before := return_point():
        state.go(before.page, **before.query)
    else:
        state.change(stop=0)


@dataclass(frozen=True)
class ReturnPoint:
    """A page with the settings of its link, to which the reader returns after the story."""

    page: str
    query: dict[str, str]


def return_point() -> ReturnPoint | None:
    """Return where the story leads back to, in the language and class of now; None outside it."""
    if not state.in_story():
        return None
    before, now = st.session_state.return_point, state.query()
    carried = {name: now[name] for name in ("lang", "room") if name in now}
    others = {n: text for n, text in before.query.items() if n not in ("lang", *CARRIED)}
    return ReturnPoint(before.page, carried | others)


def query_outside() -> dict[str, str]:
    """Return the settings of links in the navigation: those without the story, which they leave."""
    if before := return_point():
        return dict(before.query)
    return {name: text for name, text in state.query().items() if name != "stop"}


def turn(by: int) -> None:
    """Go on by `by` steps, back where it is negative."""
    go(number() + by)


def start_button() -> None:
    """In the navigation: begin."""
    st.button(
        t("story.start"),
        icon=":material/auto_stories:",
        key="story_start",
        on_click=go,
        args=(1,),
        type="primary",
        width="stretch",
    )


def mend(page: str) -> list[Note]:
    """Leave the story where the step is another page's: a reader who goes elsewhere leaves it.

    A link to a step that had another number when it was made opens that step; one to a step of the
    real model, where that is not there, the same step as it is told without.
    """
    there = 0 < number() <= len(steps())
    if there and AS_TRAINED.reads() and not AS_TRAINED.source():
        go(number())
        state.follow()
    found = _shown(page) if there and "stop" in visit().asked else []
    if found and number() not in found:
        state.change(stop=min(found, key=lambda one: abs(one - number())))
    here = there and page in {told[number() - 1].page for told in (steps(), telling(""))}
    return state.nearest(stop=number() if here else 0)


def _shown(page: str) -> list[int]:
    """The steps that show this page exactly as it is set."""
    present = {name: text for name, text in state.query().items() if name not in BESIDE}
    numbered = enumerate(zip(steps(), telling(""), strict=True), start=1)
    return [
        n
        for n, told in numbered
        if any(step.page == page and _written(step) == present for step in told)
    ]


def _written(step: Step) -> dict[str, str]:
    """Return the parameters of a link to its state."""
    own = step.own.items()
    return {name: as_text(value) for name, value in own if value != state.default(name)}


def sentence(step: Step) -> str:
    """Return the sentence of a step, its chapter before it."""
    return f"**{translated(step.title)}** · {translated(step.say)}"


def draw(step: Step) -> None:
    """Light what the step is about, and bring it into view."""
    visit().blocks, visit().look = step.blocks, step.look
    st.html(f"<style>{_dimmed(step)}</style>")
    told = [*steps()]
    told[number() - 1] = step
    presenter.draw(list(map(_told, told)), number(), look=list(map(css, step.look)), on_go=go)


def _told(step: Step) -> dict[str, Any]:
    texts = {"title": step.title, "say": step.say, "note": step.note}
    return {"chapter": step.chapter} | {name: translated(text) for name, text in texts.items()}


def _dimmed(step: Step) -> str:
    """The style that dims everything but what the step is about and the words over it."""
    lit = ", ".join(f".st-key-{css(key)}, .st-key-{css(key)} *" for key in step.look)
    around = ", ".join(f":has(.st-key-{css(key)}, + .st-key-{css(key)})" for key in step.look)
    rest = f".stMain .stElementContainer:not({lit}, {around}, {UNDIMMED})"
    return f"{rest} {{ opacity: 0.2 }} {rest}:is(:hover, :focus-within) {{ opacity: 1 }}"


def bar_button(bar: str, name: str, icon: str, act: Callable[[], None], **options: object) -> None:
    """Draw a button of a bar, "story" or "lecture": an icon, its words on hover."""
    label, icon = t(f"{bar}.{name}"), f":material/{icon}:"
    st.button(label, icon=icon, key=f"{bar}_{name}", help=label, on_click=act, **options)


def bar(step: Step) -> None:
    """Chapter, place, the ways on, and the sentence."""
    count, last = len(steps()), steps()[-1].chapter
    with st.container(key="story_bar", gap="xsmall"):
        with st.container(key="story_ways", horizontal=True, vertical_alignment="center"):
            title = translated(step.title)
            st.markdown(t("story.chapter", number=step.chapter, count=last, title=title))
            st.markdown(t("story.place", number=number(), count=count), width="content")
            on, back = partial(turn, 1), partial(turn, -1)
            bar_button("story", "previous", "chevron_left", back, disabled=number() == 1)
            bar_button("story", "next", "chevron_right", on, disabled=number() == count)
            bar_button("story", "leave", "close", leave)
            draw(step)
        st.markdown(translated(step.say))
