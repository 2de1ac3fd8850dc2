"""Compression: from the weights of MHA's keys and values to one latent, and what it loses."""

from mla_engine.language_model.accuracy import by_task
from mla_engine.language_model.cuts import without_minor_directions
from mla_engine.language_model.retrofit import Retrofit
from mla_engine.studies import compression, merging, training, transmla
from ui.pages.compression import answers
from ui.pages.compression.view import SETTINGS, View, drawn, mend
from ui.parts import one_cache
from ui.parts.snippet import Code, made
from ui.settings.page import Functions, Page, Recipe, any_layer, those
from ui.sources import trained

ASKED = (
    Retrofit.by_weights,
    Retrofit.by_texts,
    Retrofit.cut,
    without_minor_directions,
    by_task,
    compression.loss,
    transmla.converted,
    *one_cache.CODE,
)
AS_THEY_ARE = "# the weights as they are"
CONTENT = "layer = content_attention(layer)\nconfig = layer.config"


def ran(view: View) -> Functions:
    """Return the most telling of the engine's functions that ran for this view."""
    if view.answers:
        return ASKED
    return (
        *((merging.content_attention,) if view.latent else ()),
        *((compression.with_spectrum,) if view.weights == "spectrum" else ()),
        compression.joint,
        compression.Factors.of,
        compression.Joint.keys_and_values,
        compression.separate,
        compression.Separate.ranks,
        compression.loss,
        transmla.converted,
        training.query_memory,
        *one_cache.CODE,
    )


def recipe(view: View) -> Recipe:
    """Return the snippet that makes the page's headline numbers."""
    if view.answers:
        codes = (answers.MHA, answers.MLA)
        files = {code: f"{trained.NAMED}/{trained.file(code).name}" for code in codes}
        return "answers", files | {"size": view.rank, "asked": answers.ASKED, "seed": answers.SEED}
    source = view.source
    heads = Code(f"range({len(source.heads)})")
    values = made(view.model, source.config, heads, source=source.origin)
    return "compression", values | {"rank": view.rank, "spectrum": _spectrum(view)}


def _spectrum(view: View) -> Code:
    """Return the lines that give the weights the spectrum that is shown."""
    if view.weights == "spectrum":
        return Code(
            f"W_K, W_V = with_spectrum(layer.W_K, layer.W_V, {view.chosen.decay!r})\n"
            "layer.W_K.copy_(W_K), layer.W_V.copy_(W_V)"
        )
    return Code(CONTENT if view.latent else AS_THEY_ARE)


PAGE = Page(
    name="compression",
    group="explore",
    order=2,
    settings=SETTINGS,
    mechanisms=those(lambda kind: kind.in_full),
    checkpoints=any_layer,
    trained=True,
    fresh_texts=True,
    drawn=drawn,
    lecture=("cmp_size", "cmp_rank", "cmp_weights"),
    mend=mend,
    code=ran,
    snippet=recipe,
)
