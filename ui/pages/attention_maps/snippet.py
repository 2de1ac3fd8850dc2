"""The snippet of the page attention_maps."""

from ui.engine import model
from ui.parts.maps import view as maps
from ui.parts.snippet import Code, literal
from ui.parts.snippet_layer import layer, made
from ui.settings import state
from ui.settings.page import Recipe


def recipe(_view: object) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    shown, s = maps.view(), state.settings()
    config_of, form = shown.run.config, shown.run.form
    words = f"words_of({literal(s['map_text'])})" if s["map_text"] else ""
    if s["map_generated"]:
        words = f"generated_words({s['map_generated']})"
    plain = shown.temperature == 1
    attention = "trace.attention" if plain else f"(trace.scores / {shown.temperature}).softmax(-1)"
    values = {name: getattr(shown, name) for name in ("head", "query", "key", "temperature")}
    values |= made(model.present(), config_of, [shown.head], words) | {"attention": Code(attention)}
    kind = "grouped" if form == "grouped" else "latent"
    template = "masked" if shown.causal else f"unmasked_{kind}"
    return template, values | layer(config_of, state.settings()["preset"], form)
