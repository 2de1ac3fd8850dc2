"""The snippet of the page."""

from ui.pages.attention_maps.long.view import LongView
from ui.pages.attention_maps.view import View
from ui.parts.snippet import Code, literal
from ui.parts.snippet_layer import layer, made
from ui.settings.page import Recipe


def recipe(view: View | LongView) -> Recipe:
    """The template and the values that make the chosen cell's share of attention."""
    if isinstance(view, LongView):
        return _long(view)
    maps, run = view.maps, view.maps.run
    plain = maps.temperature == 1
    attention = "trace.attention" if plain else f"(trace.scores / {maps.temperature}).softmax(-1)"
    values = {
        "attention": Code(attention),
        "head": maps.head,
        "query": maps.query,
        "key": maps.key,
        "temperature": maps.temperature,
    }
    values |= made(maps.model, run.config, [maps.head], _words(view))
    values |= layer(run.config, maps.model.preset, run.form)
    if run.sinks or run.linear:
        return "pooled" if run.sinks else "state", values
    unmasked = f"unmasked_{'latent' if 'scores_C' in run.scores else 'grouped'}"
    return "masked" if maps.causal else unmasked, values


def _long(view: LongView) -> Recipe:
    text = view.text
    values = {"head": text.head, "query": view.query, "key": view.key, "seed": text.seed}
    values |= {"tokens": text.tokens} | layer(text.config, view.model.preset)
    return "long", values


def _words(view: View) -> str:
    """The expression of the tokens; empty for the example."""
    if view.generated:
        return f"generated_words({view.generated})"
    return f"words_of({literal(view.text)})" if view.text else ""
