"""RoPE: what turns, why nothing merges across it, and what a wrong convention does to a map.

Each topic of the page is a file: its settings, numbers, sentences, pictures, question and code.
"""

from ui.pages.rope import merged, reading, turning, yarn
from ui.pages.rope.head import SETTINGS, Topic, nearest
from ui.parts import stops
from ui.settings import state
from ui.settings.page import Page, Stops, joined, mla_layer, those
from ui.settings.parsers import Setting, one_of
from ui.settings.visit import visit

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
    code=lambda topic: topic.code(),
    snippet=lambda topic: topic.snippet(),
)


def chosen() -> type[Topic]:
    """Return the topic that is chosen."""
    return TOPICS[state.settings()["rope_topic"]]


def listen() -> None:
    """Let a click choose two positions."""
    visit().on_cell = turning.clicked
