"""RoPE: what turns, why nothing merges across it, and what a wrong convention does to a map.

Each topic of the page is a file: its settings, numbers, sentences, pictures, question and code.
"""

from ui.pages.rope import merged, reading, turning, yarn
from ui.pages.rope.head import SETTINGS, Topic, nearest
from ui.parts import bridge
from ui.settings import state
from ui.settings.page import LATENT_LAYER, Page, every, joined
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

PAGE = Page(
    name="rope",
    group="understand",
    order=3,
    settings=joined(CHOICE, SETTINGS, turning.SETTINGS, merged.SETTINGS, reading.SETTINGS),
    mechanisms=every("pooled", "pooled_index", "delta"),
    real_layers=LATENT_LAYER,
    lecture=("rope_topic", "rope_pair", "rope_distance"),
    mend=nearest,
    code=lambda topic: topic.code(),
    snippet=lambda topic: topic.snippet(),
)


def chosen() -> type[Topic]:
    """Return the topic that is chosen."""
    return TOPICS[state.settings()["rope_topic"]]


def listen() -> None:
    """Let a click choose two positions, and a clicker move the topic's dial by one."""
    visit().on_cell = turning.clicked
    if dial := chosen().dial():
        bridge.listen("rope", on_step=dial.move, moves=chosen() is turning.TurningTopic)
