"""The code behind the cache page: the functions of the engine that ran, and the snippet."""

from mla_engine import costs
from mla_engine.cache import Cache
from mla_engine.config import AttentionConfig
from mla_engine.costs import Serving
from ui.pages.kv_cache.scene import WIDTHS
from ui.pages.kv_cache.view import View
from ui.parts.snippet import config, kinds
from ui.settings.page import Functions, Recipe


def ran(view: View) -> Functions:
    """Return the functions of the engine that say most about what the page ran."""
    fits = Serving.free_bytes, Serving.token_bytes, Serving.rank_weight_bytes
    return {
        "context": (costs.held_bytes, costs.cache_elements, *_filled(view)),
        "memory": (
            *(part.fget for part in fits),
            Serving.held_bytes,
            Serving.longest_context,
            Serving.largest_batch,
        ),
        "layouts": (costs.layouts, costs.kept_rows),
        "parallel": (costs.rank_cache_elements, Serving.rank_sequences, Serving.held_bytes),
        "formula": (costs.formulas, costs.over_held, costs.held_bytes),
    }[view.topic]


def _filled(view: View) -> Functions:
    """Return the function that fills the caches behind the dots, where there are some."""
    return (Cache.with_zeros,) if view.scenes[0].has_points else ()


def recipe(view: View) -> Recipe:
    """Return the template and the values of a snippet that makes the page's headline numbers."""
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
    """Return the configuration that the title is about."""
    scene = view.scenes[0]
    if view.topic == "layouts" and not scene.uneven:
        return scene.ways[scene.latents]
    return scene.preset.config
