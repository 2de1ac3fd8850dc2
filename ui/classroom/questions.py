"""Questions that can be put to a class: of the quiz, or of a page before its answer shows.

A question is made by the server and comes back by way of the lecturer's browser, sealed: nothing
that was written elsewhere stands on the screens of followers.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass

import streamlit as st

from ui.classroom.codes import is_sealed, seal
from ui.classroom.store import ClassError, Room
from ui.settings import state
from ui.settings.visit import visit
from ui.words.text import in_languages

LONGEST = 60_000  # characters of a question in all languages
LEADS = "class_leads"  # in the session: the code of the room that its browser says it leads


@dataclass(frozen=True)
class Words:
    """A question in one language.

    Args:
        asks: the question, as HTML.
        answers: what can be said, as plain text.
        true: what is right, as plain text.
        why: what is told at the reveal, as HTML.
    """

    asks: str
    answers: tuple[str, ...]
    true: str
    why: str


@dataclass(frozen=True)
class Question:
    """A question for all.

    Args:
        words: by language.
        right: the place of what is right among the answers; of an amount it may lie between two.
        scale: whether the answers are a scale, else choices.
        hides: keys of the page's elements that would give it away, as class names.
        guess: the name of the page's own guess that it is, "" for none: once it is revealed to all,
            nobody is asked it again.
    """

    words: dict[str, Words]
    right: float
    scale: bool = False
    hides: tuple[str, ...] = ()
    guess: str = ""


def leading() -> bool:
    """Whether this reader leads a class, as far as the page is concerned: keys are asked later."""
    return bool(state.settings()["room"]) and st.session_state.get(LEADS) == _room()


def _room() -> str:
    return state.settings()["room"]


def offer(say: Callable[[], Words], right: float, **form: object) -> None:
    """What the page has to ask, if a lecturer sees it.

    Args:
        say: says it in the present language.
        right: see `Question`.
        form: what else a `Question` has.
    """
    if leading():
        visit().offered = json.dumps(asdict(Question(in_languages(say), right, **form)))


def sealed(text: str) -> dict[str, str]:
    """A question on its way to the lecturer's browser."""
    return {"text": text, "seal": seal(text, _secret())}


def opened(text: object, mark: object) -> str:
    """A question that came back.

    Raises:
        ClassError: "garbled": not one of this server's.
    """
    said = isinstance(text, str) and isinstance(mark, str) and len(text) <= LONGEST
    if not said or not is_sealed(text, mark, _secret()):
        raise ClassError("garbled")
    return text


def _secret() -> str:
    """What all processes of this server share, if its operator has set it."""
    return st.get_option("server.cookieSecret")


def answers(room: Room) -> int:
    """How many choices the question has that stands; 0 without one."""
    question = room.told.get("question", "")
    return len(next(iter(json.loads(question)["words"].values()))["answers"]) if question else 0


def told(room: Room, *, leads: bool) -> dict[str, object] | None:
    """The question as the lecturer or a follower gets it: what is right only with the reveal."""
    text = room.told.get("question", "")
    if not text:
        return None
    question = json.loads(text)
    said = {"id": room.asks, "shown": room.shown}
    said |= {name: question[name] for name in ("scale", "hides", "guess", "words")}
    if room.shown:
        said["right"] = question["right"]
    else:
        for words in said["words"].values():
            del words["true"], words["why"]
    if leads or room.shown:
        said["counts"] = [room.counts.get(place, 0) for place in range(answers(room))]
    return said
