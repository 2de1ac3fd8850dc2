"""The code behind the page attention_maps."""

from mla_engine import ops, rope
from mla_engine.checkpoints import hidden_states, load_attention
from mla_engine.studies import words
from ui.engine import model
from ui.engine import real_layer as source
from ui.parts.forward import FORWARD, form
from ui.settings.page import Functions


def ran(_view: object) -> Functions:
    """The functions of the engine that the page ran, the telling ones."""
    config = model.config()
    turned = (rope.rotate,) if config.rope and getattr(config, "d_rope", 1) else ()
    read = (load_attention, hidden_states) if source.chosen() else (words.hidden_states,)
    return (*FORWARD[form()], *turned, ops.softmax, *read)
