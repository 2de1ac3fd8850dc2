"""The code behind the page on rotations."""

from mla_engine import YarnConfig, rope
from mla_engine.studies import conventions, relative
from ui.pages.rope.view import View
from ui.settings.page import Functions


def ran(view: View) -> Functions:
    """The functions of the engine that say most about what the topic ran."""
    match view.topic:
        case "turning":
            return relative.turned, rope.rotate, rope.rotation, relative.diagonal_spread
        case "merged":
            return relative.rotated_merge, relative.change_with_distance, rope.rotate
        case "yarn":
            return rope.inverse_frequencies, *_magnitudes(view)
        case _:
            return _readings(view)


def _magnitudes(view: View) -> Functions:
    if not isinstance(view.head.rope.scaling, YarnConfig):
        return ()
    return rope.yarn_frequencies, YarnConfig.magnitude, YarnConfig.softmax_magnitude.fget


def _readings(view: View) -> Functions:
    moved = view.mistake in ("regrouped", "layout")
    return (
        conventions.position_logits,
        *((conventions.stored_for,) if moved else ()),
        conventions.scaled_logits,
        conventions.unharmed,
        conventions.whole_places,
    )
