"""Which head and cell are looked at when another sentence is read."""

from mla_engine.language_model.answers import answer
from ui.parts.maps import view as maps_of
from ui.settings import state
from ui.settings.page import Note
from ui.settings.visit import visit

CELL = {"map_query", "map_key"}


def at_the_end() -> None:
    """The last word, and what decides the next one, or what the chosen head looks at most."""
    last = len(maps_of.words()) - 1
    state.change(map_query=last, map_key=0)
    found = answer(maps_of.words())
    state.change(map_key=found.place if found else _favourite())


def at_the_answer() -> None:
    """As `at_the_end`, by the head of the layer that looks there most."""
    at_the_end()
    maps = maps_of.chosen()
    looks = maps.attention[:, maps.query, maps.key]
    state.change(map_head=maps.run.heads[int(looks.argmax())])


def _favourite() -> int:
    maps = maps_of.chosen()
    return int(maps.attention[maps.place, maps.query].argmax())


def mend() -> list[Note]:
    """As of every page of maps; a link with a sentence and no cell looks at its end."""
    notes = maps_of.mend()
    if "sentence" in visit().asked and not CELL & visit().asked and maps_of.reads_a_sentence():
        at_the_end()
    return notes
