"""The code behind the cache page."""

from mla_engine import costs
from mla_engine.cache import Cache
from mla_engine.costs import Serving
from ui.pages.kv_cache.view import View
from ui.settings.page import Functions


def ran(view: View) -> Functions:
    """The functions of the engine that say most about what the page ran."""
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
    """What fills the caches behind the dots, where there are some."""
    return (Cache.with_zeros,) if view.scenes[0].has_points else ()
