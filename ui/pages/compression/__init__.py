"""Compression: what a smaller cache costs, in a real model, in small ones, and inside a layer.

The page is a column of parts, each a file with its title, sentences, controls, chart and table.
"""

from mla_engine.language_model.accuracy import by_task
from mla_engine.language_model.cuts import without_minor_directions
from mla_engine.language_model.retrofit import Retrofit
from mla_engine.language_model.study import Study, read
from mla_engine.language_model.study_rows import read_plan
from mla_engine.studies import compression, merging, training, transmla
from ui.pages.compression import answers, one_cache, quality
from ui.pages.compression import view as layers
from ui.pages.compression.column import Column
from ui.pages.compression.quality import EVERY_LOAD, PAIR, Quality
from ui.pages.compression.view import View, drawn
from ui.parts.snippet import Code, made
from ui.settings.page import Functions, Note, Page, Recipe, any_layer, joined, those
from ui.sources import trained

OF_QUALITY = read, read_plan, Study.of, Study.measured, Study.accuracy, Study.not_run
OF_ANSWERS = (
    Retrofit.by_weights,
    Retrofit.by_texts,
    Retrofit.cut,
    without_minor_directions,
    by_task,
    compression.loss,
    transmla.converted,
)
AS_THEY_ARE = "# the weights as they are"
CONTENT = "layer = content_attention(layer)\nconfig = layer.config"


def ran(shown: Column) -> Functions:
    """Return the most telling of the engine's functions that ran for the page."""
    return (
        *(one_cache.CODE if shown.measured else ()),
        *(OF_QUALITY if shown.quality else ()),
        *(_of_layer(shown.layer) if shown.layer else ()),
    )


def _of_layer(view: View) -> Functions:
    if view.answers:
        return OF_ANSWERS
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
    )


def recipes(shown: Column) -> list[Recipe]:
    """Return a snippet for each of the page's numbers, that of what it begins with first."""
    first = [one_cache.recipe(shown.measured)] if shown.real else []
    second = [_of_quality(shown.quality)] if shown.quality else []
    return first + second + ([_snippet(shown.layer)] if shown.layer else [])


def _of_quality(view: Quality) -> Recipe:
    """Return the snippet that sums up the seeds of the pair, or counts what is planned."""
    if not view.compared:
        seeds = {code: planned.seeds for code, planned in view.study.plan.variants.items()}
        missing = view.study.not_run()
        done = {code: n - len(missing.get(code, ())) for code, n in seeds.items()}
        return "planned", {"seeds": seeds, "done": done}
    codes = (PAIR[1], PAIR[0], "mha")
    shares = {code: view.shares(code) for code in codes}
    loads = [] if view.load == EVERY_LOAD else [view.load]
    cached = {code: view.cached(code) for code in codes}
    return "trained", {"shares": shares, "cached": cached, "loads": loads}


def _snippet(view: View) -> Recipe:
    """Return the snippet that cuts the trained model's cache, or compresses the layer."""
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


def mend() -> list[Note]:
    """Bring the layer's settings and the load to what there is."""
    return layers.mend() + quality.mend()


PAGE = Page(
    name="compression",
    former=("quality",),
    group="size",
    order=5,
    settings=joined(one_cache.SETTINGS, quality.SETTINGS, layers.SETTINGS),
    mechanisms=those(lambda kind: kind.in_full),
    checkpoints=any_layer,
    trained=True,
    fresh_texts=True,
    drawn=drawn,
    lecture=("cmp_kept", "cmp_kind"),
    mend=mend,
    code=ran,
    snippet=recipes,
)
