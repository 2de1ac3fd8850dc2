"""The question of a class on its way: from the server by its lecturer's browser to its followers.

The server writes it in every language (`ui.parts.questions.for_class`) and seals it: nothing that
was written elsewhere stands on the screens of followers.
"""

import json

import streamlit as st

from ui.classroom.codes import is_sealed, seal
from ui.classroom.rooms import secret
from ui.classroom.store import ClassError, Room
from ui.settings import state

LONGEST = 60_000  # characters of a question in all languages
LEADS = "class_leads"  # in the session: the code of the room that its browser says it leads


def leading() -> bool:
    """Return whether the browser says that it leads this room; its key is asked for later."""
    room = state.settings()["room"]
    return bool(room) and st.session_state.get(LEADS) == room


def sealed(text: str) -> dict[str, str]:
    """Return a question for the lecturer's browser, with its seal."""
    return {"text": text, "seal": seal(text, secret())}


def opened(text: object, mark: object) -> str:
    """Return the text of a question that came back.

    Raises:
        ClassError: "garbled": not one of this server's.
    """
    said = isinstance(text, str) and isinstance(mark, str) and len(text) <= LONGEST
    if not said or not is_sealed(text, mark, secret()):
        raise ClassError("garbled")
    return text


def answers(room: Room) -> int:
    """Return how many answers the room's question has; 0 without one."""
    question = room.told.get("question", "")
    return len(next(iter(json.loads(question)["words"].values()))["answers"]) if question else 0


def told(room: Room, *, leads: bool) -> dict[str, object] | None:
    """Return the question for the lecturer or a follower: what is right only with the reveal."""
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
