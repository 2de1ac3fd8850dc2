"""The code behind the page."""

from mla_engine import ops, rope
from mla_engine.checkpoints import hidden_states, load_attention
from mla_engine.studies import long_text, words
from ui.engine.layers import form_of
from ui.pages.attention_maps.long.view import LongView
from ui.pages.attention_maps.view import View
from ui.parts.forward import FORWARD
from ui.settings.page import Functions


def ran(view: View | LongView) -> Functions:
    """What the engine ran for the maps: the layer, its rotation, the softmax, and what enters."""
    if isinstance(view, LongView):
        return long_text.long_map, long_text.rows, view.step, ops.softmax, words.hidden_states
    run, loaded = view.maps.run, view.maps.model.layer
    turned = (rope.rotate,) if run.config.rope and getattr(run.config, "d_rope", 1) else ()
    read = (load_attention, hidden_states) if loaded else (words.hidden_states,)
    form = form_of(run.config, run.form)
    told = (form.read,) if form.read else (form.columns or ops.softmax,)
    return (*FORWARD[run.form], *turned, *told, *read)
