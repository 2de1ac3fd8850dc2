"""The snippet of the page kv_cache."""

from ui.pages.kv_cache import view as kv
from ui.pages.kv_cache.memory import served
from ui.parts.snippet import config
from ui.settings import state
from ui.settings.page import Recipe


def recipe(_view: object) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    s, scene = state.settings(), kv.scenes()[0]
    on = served(scene, s) if s["kv_view"] == "memory" else None
    own = scene.ways["mla"] if s["kv_view"] == "layouts" else scene.ways[scene.own]
    own = scene.preset.config if s["kv_view"] == "formula" else own
    return s["kv_view"], {
        "config": config(own, scene.key),
        "tokens": s["kv_context"],
        "context": s["kv_context"],
        "batch": scene.batch,
        "caches": scene.preset.n_caches or scene.preset.n_layers if on else scene.n_caches,
        "width": kv.WIDTHS[scene.dtype],
        "cache_width": kv.WIDTHS[scene.dtype],
        "weight_width": kv.WIDTHS[s["kv_weights"]],
        "parameters": scene.preset.parameters or 0,
        "gpu": s["kv_gpu"],
        "ranks": s["kv_ranks"],
        "attention": s["kv_attention"],
        "sequences": s["kv_sequences"],
    }
