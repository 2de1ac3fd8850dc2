"""The code behind the page rope."""

from mla_engine import YarnConfig, rope
from mla_engine.studies import conventions, relative
from ui.pages.rope import view as rope_page
from ui.settings import state
from ui.settings.page import Functions


def ran(_view: object) -> Functions:
    """The functions of the engine that the page ran, the telling ones."""
    one, s = rope_page.head(), state.settings()
    topic = s["rope_topic"]
    if topic == "turning":
        return relative.turned, rope.rotate, rope.rotation, relative.diagonal_spread
    if topic == "merged":
        return relative.rotated_merge, relative.change_with_distance, rope.rotate
    if topic == "yarn":
        yarn = isinstance(one.rope.scaling, YarnConfig)
        magnitude = YarnConfig.magnitude, YarnConfig.softmax_magnitude.fget
        magnitudes = (rope.yarn_frequencies, *magnitude)
        return (rope.inverse_frequencies, *(magnitudes if yarn else ()))
    moved = topic == "pairing" and s["rope_pairing"] in ("regrouped", "layout")
    return (
        conventions.position_logits,
        *((conventions.stored_for,) if moved else ()),
        conventions.scaled_logits,
        conventions.unharmed,
        conventions.whole_places,
    )
