"""Real models: one attention of a checkpoint, its maps or state, matrices and kinds of heads."""

from functools import partial

from mla_engine.checkpoints import hidden_states, load_attention
from mla_engine.checkpoints.families import FAMILIES
from mla_engine.studies.spectra import spectra
from ui.pages.real_models import layers, matrices, sentences
from ui.pages.real_models.delta import Delta
from ui.pages.real_models.kinds import Grouped, Kind, Latent
from ui.pages.real_models.pooled import Pooled
from ui.pages.real_models.sinks import Sinks
from ui.pages.real_models.view import MEASURES, View, mend
from ui.parts import atlas, examples
from ui.parts.snippet import made
from ui.settings.page import Functions, Page, Recipe, any_layer, joined
from ui.sources.layers import form_of
from ui.words.text import listed, t

KINDS = {"grouped": Grouped, "sink": Sinks, "latent": Latent, "pooled": Pooled, "delta": Delta}


def kind_of(view: View) -> Kind:
    """Return the kind of a layer; of mechanisms without one of their own only the maps."""
    return KINDS.get(view.kind, Kind)(view)


def families() -> str:
    """Return the sentence on the model_types that can be read, as they stand in config.json."""
    return t("real_models.families", families=listed(f"`{name}`" for name in FAMILIES))


def ran(view: View) -> Functions:
    """Return what read the layer and its input, made its maps, and measured its heads."""
    form = form_of(view.config, view.maps.run.form)
    of_maps = tuple(filter(None, (form.columns if view.config.sinks else None, form.read)))
    measured = (MEASURES[view.kind],) if view.measured else ()
    of_matrices = (spectra,) if view.spectra else ()
    return (load_attention, hidden_states, *of_maps, *measured, *of_matrices)


def recipe(view: View) -> Recipe:
    """Return the template and the values that make the numbers of the page's title."""
    template = view.kind
    if template == "plain" and view.topk:
        template = "choosing"
    if template == "pooled" and not view.maps.run.entries:
        template = "window"
    cell = {"head": view.maps.head, "query": view.maps.query, "key": view.maps.key}
    return template, made(view.maps.model, view.config, None) | cell


PAGE = Page(
    name="real_models",
    group="explore",
    order=3,
    settings=joined(matrices.SETTINGS, layers.SETTINGS, atlas.SETTINGS),
    sizes=False,
    opens=partial(examples.opens, sentences.EXAMPLES),
    empty=True,
    checkpoints=any_layer,
    every_kind=True,
    lecture=("source", "layer", "map_head"),
    mend=mend,
    code=ran,
    snippet=recipe,
    uploads=True,
)
