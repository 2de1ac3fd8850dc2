"""The snippet of the cache page."""

from mla_engine.config import AttentionConfig
from ui.pages.kv_cache.scene import WIDTHS
from ui.pages.kv_cache.view import View
from ui.parts.snippet import config, kinds
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    scene = view.scenes[0]
    whole = view.topic in ("memory", "parallel")  # of the model, whatever layers are chosen
    every = scene.kinds(scene.own, whole=whole)
    template = "rows" if view.topic == "layouts" and scene.uneven else view.topic
    return template, {
        "config": config(_counted(view), scene.key),
        "kinds": kinds(every, scene.key),
        "others": kinds(every[1:], scene.key),
        "beside": config(scene.ways["mla"], scene.key),
        "tokens": view.context,
        "context": view.context,
        "batch": scene.batch,
        "caches": every[0][1],
        "width": scene.width,
        "cache_width": scene.width,
        "weight_width": WIDTHS[view.weights],
        "parameters": scene.preset.parameters or 0,
        "gpu": view.gpu,
        "ranks": view.ranks,
        "attention": view.attention,
        "sequences": view.sequences,
    }


def _counted(view: View) -> AttentionConfig:
    """The configuration that the title is about."""
    scene = view.scenes[0]
    if view.topic == "layouts" and not scene.uneven:
        return scene.ways[scene.latents]
    return scene.preset.config
