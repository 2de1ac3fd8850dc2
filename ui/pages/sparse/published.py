"""The choice of keys at the sizes of a published model: closed forms of what a step reads."""

from functools import partial

import numpy as np
import pandas as pd

from kvcount.sharing import first_whole
from mla_engine import PRESETS, costs, figures
from mla_engine.config import AttentionConfig
from ui.pages.sparse.view import View
from ui.parts import charts, prose
from ui.parts.control import control
from ui.settings.parsers import Setting, power_of_two
from ui.words.numbers import count, size
from ui.words.text import t

CONTEXTS = tuple(2**n for n in range(8, 18))
SETTINGS = {
    "sp_context": Setting(2**17, power_of_two(2**8, 2**17), "select_slider", options=CONTEXTS)
}
READ = 380  # pixels high
READ_LOOKS = ("mla_absorbed", "dsa")
GIB = 2**30
MODEL = PRESETS["deepseek-v3.2-exp"]
INDEXED, DENSE = MODEL.config, PRESETS["deepseek-v3"].config  # the same layer without an indexer
WIDTH = 2  # bytes a number: bf16
MOST = 2**18  # tokens up to which a crossing is looked for


def _read(config: AttentionConfig, context: int) -> float:
    """Return the bytes of the cache that a step reads, all layers together."""
    return MODEL.n_layers * costs.decode(config, context).cache_read_bytes


def _stored(config: AttentionConfig, context: int) -> int:
    """Return the bytes of the cache that is kept, all layers together."""
    each = WIDTH * costs.cache_elements(config)
    return MODEL.n_layers * each * context


def draw(view: View) -> None:
    """Draw what a step reads at a published model's sizes, over the context."""
    context = view.chosen.context
    # The gain grows with the context, so the first one at which there is any can be searched for.
    cross = first_whole(lambda n: _read(INDEXED, n) < _read(DENSE, n), MOST)
    sizes = {
        "read": size(_read(INDEXED, context)),
        "dense": size(_read(DENSE, context)),
        "stored": size(_stored(INDEXED, context)),
        "before": size(_stored(DENSE, context)),
    }
    lengths = {"context": count(context), "cross": count(cross)}
    control("sp_context")
    numbers = {
        "index": count(INDEXED.d_index),
        "latent": count(INDEXED.d_latent_kv + INDEXED.d_rope),
        "topk": count(INDEXED.index_topk),
        "layers": count(MODEL.n_layers),
    }
    prose.say(t("sparse.published", **sizes, **lengths, **numbers))
    read = {
        name: [_read(config, n) / GIB for n in CONTEXTS]
        for name, config in (("dense", DENSE), ("indexed", INDEXED))
    }
    fig = partial(
        figures.crossing,
        CONTEXTS,
        {t(f"sparse.line_{name}"): np.array(amounts) for name, amounts in read.items()},
        titles=(t("sparse.axis_context"), t("sparse.axis_read")),
        cross=(cross, _read(DENSE, cross) / GIB),
        label=lengths["cross"],
        here=context,
        roles=READ_LOOKS,
        height=READ,
    )
    alt = t("sparse.alt_read", **lengths, read=sizes["read"], dense=sizes["dense"])
    frame = pd.DataFrame({"context": CONTEXTS} | {f"{name}_gib": read[name] for name in read})
    about = {"alt": alt, "data": lambda: frame, "file": "sparse_read.csv"}
    charts.show(fig, "sparse:read", follows="sp_context", **about)
