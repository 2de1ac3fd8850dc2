"""The code behind the page kv_cache."""

from mla_engine import KVCache, LatentCache, costs
from mla_engine.costs import Formula, Serving
from ui.pages.kv_cache import view as kv
from ui.settings import state
from ui.settings.page import Functions


def ran(_view: object) -> Functions:
    """The functions of the engine that the page ran, the telling ones."""
    fits = Serving.free_bytes, Serving.token_bytes, Serving.rank_weight_bytes
    return {
        "context": (costs.cache_bytes_per_token, costs.cache_elements, *_appended()),
        "memory": (
            *(part.fget for part in fits),
            Serving.held_bytes,
            Serving.longest_context,
            Serving.largest_batch,
        ),
        "layouts": (costs.layouts,),
        "parallel": (costs.rank_cache_elements, Serving.rank_sequences, Serving.held_bytes),
        "formula": (costs.formulas, Formula.off, costs.cache_elements),
    }[state.settings()["kv_view"]]


def _appended() -> Functions:
    """What fills the caches behind the dots, where there are some."""
    return (LatentCache.append, KVCache.append) if kv.scenes()[0].points() else ()
