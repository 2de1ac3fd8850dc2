"""The story: chapters of steps; each is a page with its whole state, what it is about, a sentence.

The steps are numbered through; the setting `stop` is the present one, 0 outside the story.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

import streamlit as st

from ui.frame import presenter, ways
from ui.parts import bridge
from ui.parts.keys import css
from ui.settings import came, state
from ui.settings.page import Note
from ui.settings.parsers import as_text
from ui.settings.shared import CARRIED
from ui.settings.visit import visit
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
        note: for the presenter alone: where to point, what to ask, what will be asked.
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


@lru_cache(maxsize=1)
def steps() -> tuple[Step, ...]:
    """All steps in order."""
    return tuple(_read())


def _read() -> Iterator[Step]:
    chapters = tomllib.loads(FILE.read_text("utf-8"))["chapters"]
    for number, chapter in enumerate(chapters, start=1):
        for row in chapter["steps"]:
            shared = {} if "page" in row else chapter.get("state", {})
            yield Step(
                chapter=number,
                title=chapter["title"],
                page=row.get("page", chapter["page"]),
                own=shared | row.get("state", {}),
                look=tuple(row["look"]),
                blocks=tuple(row.get("blocks", ())),
                say=row["say"],
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
    """The present step."""
    return steps()[number() - 1] if number() else None


def go(to: int) -> None:
    """Open a step, counted from 1, or the nearest that there is."""
    to = min(len(steps()), max(1, to))
    if not number():
        came.remember()
    step = steps()[to - 1]
    state.go(step.page, **step.link(to))


def leave() -> None:
    """Back to where the reader came from; from a link into the story, to its page as it stands."""
    if before := came.came():
        state.go(before.page, **before.query)
    else:
        state.change(stop=0)


def turn(by: int) -> None:
    """Go on by `by` steps, back where it is negative."""
    go(number() + by)


def start_button() -> None:
    """In the navigation: begin."""
    st.button(
        t("story.start"),
        icon=":material/auto_stories:",
        key="story_start",
        help=t("story.start_help", chapters=steps()[-1].chapter, count=len(steps())),
        on_click=go,
        args=(1,),
        type="primary",
        width="stretch",
    )


def mend(page: str) -> list[Note]:
    """Leave the story where the step is another page's: a reader who goes elsewhere leaves it.

    A link to a step that had another number when it was made opens that step.
    """
    there = 0 < number() <= len(steps())
    found = _shown(page) if there and "stop" in visit().asked else []
    if found and number() not in found:
        state.change(stop=min(found, key=lambda one: abs(one - number())))
    here = there and steps()[number() - 1].page == page
    return state.nearest(stop=number() if here else 0)


def _shown(page: str) -> list[int]:
    """The steps that show this page exactly as it is set."""
    present = {name: text for name, text in state.query().items() if name not in BESIDE}
    numbered = enumerate(steps(), start=1)
    return [n for n, step in numbered if step.page == page and _written(step) == present]


def _written(step: Step) -> dict[str, str]:
    """What a link says of its state."""
    own = step.own.items()
    return {name: as_text(value) for name, value in own if value != state.default(name)}


def sentence(step: Step) -> str:
    """What to say at a step, its chapter before it."""
    return f"**{translated(step.title)}** · {translated(step.say)}"


def draw(step: Step) -> None:
    """Light what the step is about, bring it into view, and let a clicker turn the steps."""
    visit().blocks, visit().look = step.blocks, step.look
    st.html(f"<style>{_dimmed(step)}</style>")
    bridge.listen(bridge.STORY, on_step=turn)
    presenter.draw(list(map(_told, steps())), number(), look=list(map(css, step.look)), on_go=go)


def _told(step: Step) -> presenter.Told:
    words = map(translated, (step.title, step.say, step.note))
    return presenter.Told(step.chapter, *words)


def _dimmed(step: Step) -> str:
    """The style that dims everything but what the step is about and the words over it."""
    lit = ", ".join(f".st-key-{css(key)}, .st-key-{css(key)} *" for key in step.look)
    around = ", ".join(f":has(.st-key-{css(key)}, + .st-key-{css(key)})" for key in step.look)
    rest = f".stMain .stElementContainer:not({lit}, {around}, {UNDIMMED})"
    return f"{rest} {{ opacity: 0.2 }} {rest}:is(:hover, :focus-within) {{ opacity: 1 }}"


def bar(step: Step) -> None:
    """Chapter, place, the ways on, and the sentence."""
    count, last = len(steps()), steps()[-1].chapter
    with st.container(key="story_bar", gap="xsmall"):
        with st.container(key="story_ways", horizontal=True, vertical_alignment="center"):
            title = translated(step.title)
            st.markdown(t("story.chapter", number=step.chapter, count=last, title=title))
            st.markdown(t("story.place", number=number(), count=count), width="content")
            on, back = partial(turn, 1), partial(turn, -1)
            ways.button("story", "previous", "chevron_left", back, nowhere=number() == 1)
            ways.button("story", "next", "chevron_right", on, nowhere=number() == count)
            ways.button("story", "leave", "close", leave)
            draw(step)
        st.markdown(translated(step.say))
