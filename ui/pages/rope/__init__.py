"""RoPE: what turns, why nothing merges across it, and what a wrong convention does to a map.

Each topic is a panel, in a file of its own; of them one is shown.
"""

import streamlit as st

from ui.pages.rope import merged, reading, turning, yarn
from ui.pages.rope.head import SETTINGS, Topic, nearest, panel
from ui.parts import stops
from ui.settings import state
from ui.settings.page import Page, Stops, joined, mla_layer, those
from ui.settings.parsers import Setting, one_of
from ui.settings.visit import visit
from ui.words.text import t

TOPICS: dict[str, type[Topic]] = {
    "turning": turning.TurningTopic,
    "merged": merged.MergedTopic,
    "pairing": reading.ReadingTopic,
    "scale": reading.ReadingTopic,
    "yarn": yarn.YarnTopic,
}
CHOICE = {"rope_topic": Setting("turning", one_of(*TOPICS), "segmented_control")}


def stops_here() -> Stops | None:
    """Return the topics, and the places of the present one's dial."""
    dial = chosen().dial()
    name = state.settings()["rope_topic"]
    return stops.of_views("rope_topic", tuple(TOPICS), name, dial and dial.stops())


PAGE = Page(
    name="rope",
    group="understand",
    order=3,
    settings=joined(CHOICE, SETTINGS, turning.SETTINGS, merged.SETTINGS, reading.SETTINGS),
    mechanisms=those(lambda kind: kind.in_full and not kind.has_blocks),
    checkpoints=mla_layer,
    lecture=("rope_topic", "rope_pair", "rope_distance"),
    stops=stops_here,
    mend=nearest,
    view=lambda: shown(),
    panels=tuple(panel(name, kind) for name, kind in TOPICS.items()),
    code=lambda topic: topic.code(),
    snippet=lambda topic: topic.snippet(),
)


def chosen() -> type[Topic]:
    """Return the topic that is chosen."""
    return TOPICS[state.settings()["rope_topic"]]


def shown() -> Topic:
    """Return the topic that is chosen with its numbers; a click chooses two positions.

    Raises:
        ValueError: sizes that no layer can have, or no rotary part.
    """
    visit().on_cell = turning.clicked
    with st.spinner(t("rope.running")):
        topic = chosen()()
        _ = topic.found  # computed now, so that a refusal is told here
    return topic
