"""Which layers of a checkpoint a page shows, and where the others are shown."""

from collections.abc import Callable

from mla_engine import mechanisms
from mla_engine.checkpoints import Plan
from mla_engine.config import AttentionConfig
from mla_engine.mechanism import Variant
from mla_engine.refusals import Phrase, RefusedError
from ui.settings.page import ANY_LAYER, Page
from ui.settings.rooms import PAGES
from ui.settings.visit import visit
from ui.words.text import listed, t

MOST_ASKED = 8  # layers among which one is looked for that the page shows

Plans = Callable[[int], Plan]
"""A layer's number -> what it is."""


def require(layer: int, plans: Plans) -> None:
    """Refuse a layer that this page does not show.

    Raises:
        RefusedError: with a layer of the model that it shows, and the pages that show this one.
    """
    config = plans(layer).config
    if _shows(visit().page, config):
        return
    other, elsewhere, called = _other(layer, plans), listed(_pages_of(config)), _called(config)
    if other is None:
        if elsewhere:
            raise RefusedError("not_here", called=called, pages=elsewhere)
        raise RefusedError("no_page", called=called)
    values = {"called": called, "layer": layer, "other": other}
    if elsewhere:
        raise RefusedError("not_here_of_layer", **values, pages=elsewhere)
    raise RefusedError("no_page_of_layer", **values)


def _shows(page: Page, config: AttentionConfig) -> bool:
    """Whether a page shows layers of this kind."""
    if mechanisms.of(config).key not in page.mechanisms:
        return False
    return any(variant.offered or page.every_kind for variant in _variants(config))


def _variants(config: AttentionConfig) -> list[Variant]:
    """The variants of its kind."""
    mechanism = mechanisms.of(config)
    kind = mechanism.kind(config)
    return [variant for variant in mechanism.variants if variant.kind == kind]


def _called(config: AttentionConfig) -> str | Phrase:
    """What it is called: by its kind where this page shows other kinds of its mechanism alone."""
    mechanism = mechanisms.of(config)
    if not mechanism.variants or mechanism.key not in visit().page.mechanisms:
        return mechanism.called
    return Phrase("layer_of_kind", kind=mechanism.kind(config))


def _pages_of(config: AttentionConfig) -> list[str]:
    """The names of the pages that show a real layer of this kind."""
    places = ANY_LAYER, mechanisms.of(config).key
    shown = (page for page in PAGES.values() if _shows(page, config))
    return [t(f"{page.name}.link") for page in shown if page.real_layers in places]


def _other(layer: int, plans: Plans) -> int | None:
    """A layer that this page shows, the next one or else the first."""
    found, page = plans(layer).mechanisms, visit().page
    layers = [*range(layer, len(found)), *range(layer)]
    alike = [one for one in layers if found[one] in page.mechanisms][:MOST_ASKED]
    return next((one for one in alike if _shows(page, plans(one).config)), None)
