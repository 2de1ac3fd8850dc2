"""Attention maps: every head at a glance, one in full, and where each of its numbers comes from.

The first panel (`heads`) draws a text's maps whole (`whole`), in blocks where it is long (`long`),
and as a state over time where a layer keeps one (`over_time`).
"""

from functools import partial

from mla_engine import ops, rope
from mla_engine.checkpoints import hidden_states, load_attention
from mla_engine.language_model.texts import TASKS
from mla_engine.studies import long_text
from mla_engine.studies.words import hidden_states as vectors_of_words
from mla_engine.symbols import SYMBOLS
from ui.pages.attention_maps import heads, logits, origin, tensor
from ui.pages.attention_maps.long import LongView
from ui.pages.attention_maps.sentences import EXAMPLES
from ui.pages.attention_maps.view import View, nearest
from ui.parts import examples
from ui.parts.snippet import Code, layer, literal, made
from ui.settings import parsers
from ui.settings.page import Functions, Page, Recipe, any_layer
from ui.settings.parsers import Setting, flag, number, one_of, sentence
from ui.sources.layers import form_of
from ui.words.text import t

TEMPERATURES = (0.1, 0.2, 0.5, 0.75, 1.0, 1.5, 2.0, 5.0, 10.0)
MOST_WORDS = 2**15

SETTINGS = {
    "map_text": Setting("", sentence, "text_area", another_model=True),  # empty: the page's own
    # Made-up words; 0 takes the text.
    "map_generated": Setting(
        0, parsers.whole(0, MOST_WORDS), "select_slider", "maps.generated", another_model=True
    ),
    # Heads to run; 0 is as many as take a moment.
    "map_run": Setting(0, parsers.whole(0, 128), "select_slider", "attention_maps.run_heads"),
    "map_head": Setting(0, parsers.whole(0, 127), "number_input", recorded=range(9)),
    "map_causal": Setting(True, flag, "toggle", recorded=True),
    "map_temperature": Setting(
        1.0, number(0.1, 10), "select_slider", options=TEMPERATURES, write="{:g}".format
    ),
    "map_query": Setting(8, parsers.whole(0, MOST_WORDS - 1), "selectbox"),
    "map_key": Setting(1, parsers.whole(0, MOST_WORDS - 1), "selectbox"),
    "map_tensor": Setting(
        "c_KV",
        one_of(*SYMBOLS),
        "selectbox",
        write=lambda code: f"{code} · {t(f'symbols.{code}')}",
    ),
}


def ran(view: View | LongView) -> Functions:
    """Return what the engine ran for the maps: the layer, its rotation, softmax and inputs."""
    if isinstance(view, LongView):
        return long_text.long_map, long_text.rows, view.step, ops.softmax, vectors_of_words
    run, loaded = view.maps.run, view.maps.model.checkpoint
    turned = (rope.rotate,) if run.config.rotation else ()
    read = (load_attention, hidden_states) if loaded else (vectors_of_words,)
    form = form_of(run.config, run.form)
    told = form.read or (form.columns if run.sinks else ops.softmax)
    return (*form.formulas, *turned, told, *read)


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
    if run.linear:
        return "state", values
    if run.sinks:
        return "pooled" if run.pooled else "sink", values
    unmasked = f"unmasked_{'latent' if 'scores_C' in run.scores else 'grouped'}"
    return "masked" if maps.causal else unmasked, values


def _long(view: LongView) -> Recipe:
    text = view.text
    values = {"head": text.head, "query": view.query, "key": view.key, "seed": text.source.seed}
    values |= {"tokens": text.tokens} | layer(text.config, view.model.preset)
    return "long", values


def _words(view: View) -> str:
    """The expression of the tokens; empty for the example."""
    text, generated = view.chosen.text, view.chosen.generated
    if generated:
        return f"generated_words({generated})"
    return f"words_of({literal(text)})" if text else ""


PAGE = Page(
    name="attention_maps",
    group="explore",
    order=1,
    settings=SETTINGS,
    checkpoints=any_layer,
    every_kind=True,
    trained=True,
    opens=partial(examples.opens, EXAMPLES),
    lecture=("map_head", "map_query"),
    crossed=(
        *((f"example_{task}", "map_head", "trained_layer") for task in TASKS),
        *((f"example_{name}", one) for name in EXAMPLES for one in ("map_head", "layer_beside")),
    ),
    mend=nearest,
    view=heads.chosen,
    panels=(heads.PANEL, logits.PANEL, origin.PANEL, tensor.PANEL),
    code=ran,
    snippet=recipe,
)
