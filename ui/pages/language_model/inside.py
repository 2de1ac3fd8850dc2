"""The ways from a block of the picture into its inside: other pages, with this very run."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from ui.pages.language_model.view import View
from ui.settings.shared import VARIANTS
from ui.words.text import t

PAGES = "attention_maps", "absorption", "decode", "trained_heads", "sparse"


@dataclass(frozen=True)
class Way:
    """A page, what it opens with, and what of the block it shows."""

    page: str
    values: Mapping[str, object]
    label: str

    @property
    def address(self) -> str:
        """Its link."""
        return f"{self.page}?{urlencode(self.values)}"


def ways(view: View, layer: int, head: int, key: int) -> list[Way]:
    """From an attention: its maps, what it keeps, how it is computed with that.

    Args:
        view: the run.
        layer: the attention's, counted from 0.
        head: that looks most at one place from the lit word.
        key: that place.
    """
    code, config = view.trained.code, view.trained.config.attention
    run = {"sentence": view.text, "variant": code, "trained_layer": layer}
    if config.chooses_keys:  # whose heads attend to what it chose
        back = len(view.words) - 1 - view.path
        choice = {"sentence": view.text, "sp_layer": layer, "sp_back": back}
        last = _way(view, "sparse", choice | {"sp_keys": config.index_topk}, "chosen")
    else:
        cut = {"th_variant": code, "th_head": f"{layer}.{head}"}
        last = _way(view, "trained_heads", cut, "without")
    if code not in VARIANTS:  # the other pages have no such variant
        return [last]
    cell = {"map_head": head, "map_query": view.path, "map_key": key}
    kept = {"map_tensor": "c_KV" if config.has_latent else "k"}
    return [
        _way(view, "attention_maps", run | cell, "maps"),
        _way(view, "attention_maps", run | cell | kept, "latents" if config.has_latent else "keys"),
        _way(view, "absorption", run | {"ab_head": head}, "absorbed")
        if config.has_latent and config.reads_all
        else _way(view, "decode", run, "decoded"),
        last,
    ]


def _way(view: View, page: str, values: Mapping[str, object], shows: str) -> Way:
    return Way(page, view.query | values, t(f"language_model.inside_{shows}"))
