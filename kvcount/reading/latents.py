"""Caches of MLA: a latent for all heads, a rotary key, and an indexer's keys where one chooses.

An indexer (DSA) reads index keys of all tokens, and lets attention read the latents of few.
"""

from kvcount import checks, layers
from kvcount.parts import Layer, Part
from kvcount.reading import attention
from kvcount.reading.keys import Keys, UncountedError

OWN = ("kv_lora_rank", "qk_rope_head_dim")  # sizes of the layers with a window, `swa_...`


def latent(keys: Keys, layer: int) -> Layer:
    """MLA: the latent c_KV and the rotary key k_R, read once as key and as value.

    Without `use_mla` (DeepSeek-VL2-Tiny, DeepSeek-OCR) the same type has keys and values.
    """
    if not keys.flag("use_mla", True):
        return attention.grouped(keys, layer)
    return Layer("latent", latent_parts(keys))


def latent_parts(keys: Keys, **rows: object) -> tuple[Part, ...]:
    """Return both parts of a token; without rotation only the latent."""
    return layers.latent(
        keys.whole("kv_lora_rank"), keys.whole("qk_rope_head_dim", least=0), **rows
    )


def two_latents(keys: Keys, layer: int) -> Layer:
    """Return a layer with two attentions (LongCat-Flash)."""
    return Layer("latent", latent(keys, layer).parts * 2)


def latent_window(keys: Keys, _layer: int) -> Layer:
    """MLA over the last `sliding_window` tokens, with sizes of its own (dots3-note).

    They are `swa_...`, or those of `per_layer_config`, which stands in for these.
    """
    own = {} if keys.layer else {name: keys.whole(f"swa_{name}") for name in OWN}
    bound = {"growth": "window", "length": keys.whole("sliding_window")}
    return Layer("window", latent_parts(keys.having(**own), **bound))


def index_heads(keys: Keys) -> int:
    """Query heads of an indexer, by any of its names; 0 where there is none or it is not said."""
    names = ("index_n_heads", "indexer_n_heads", "sparse_attention_config.sparse_num_index_heads")
    said = next((name for name in names if keys.get(name) is not None), names[0])
    return keys.whole_or(said, 0, least=0)


def indexed(keys: Keys, layer: int) -> Layer:
    """DSA: MLA that reads the top k tokens, chosen by index keys or as the layer before chose."""
    if not keys.flag("use_dsa", True):
        return latent(keys, layer)
    topk, pooling = keys.whole("index_topk"), keys.whole_or("index_kpool", 1)
    checks.multiple("index_topk", topk, "index_kpool", pooling)
    chosen = latent_parts(keys, read_rows=topk, own_block=pooling)
    if not chooses(keys, layer):
        return Layer("shared_choice", chosen)
    return Layer("indexed", (*chosen, *_index(keys)))


def sourced(keys: Keys, layer: int) -> Layer:
    """DSA whose latents may be another layer's, and not rotated in some (Mistral Large 4)."""
    source = _source(keys, layer)
    own = {} if _rotated(keys, source) else {"qk_rope_head_dim": 0}
    rows = {"read_rows": keys.whole("index_topk"), "stored": source == layer}
    chosen = latent_parts(keys.having(**own), **rows)
    if chooses(keys, layer):
        return Layer("indexed", (*chosen, *_index(keys)))
    return Layer("shared_choice" if source == layer else "shared", chosen)


def _source(keys: Keys, layer: int) -> int:
    """Return the layer whose latents a layer reads, itself where `kv_source_layers` is not said."""
    if keys.get("kv_source_layers") is None:
        return layer
    source = keys.entry("kv_source_layers", layer)
    checks.whole("an entry of kv_source_layers", source, least=0, most=layer)
    if keys.entry("kv_source_layers", source) != source:
        raise UncountedError("no_keeper", key="kv_source_layers", layer=layer)
    return source


def _rotated(keys: Keys, layer: int) -> bool:
    """Tell if a layer has a rotary key: all but every `no_rope_layer_interval`-th."""
    if keys.get("no_rope_layers") is None:
        return (layer + 1) % keys.whole_or("no_rope_layer_interval", 4) != 0
    checks.whole(
        "an entry of no_rope_layers",
        rotated := keys.entry("no_rope_layers", layer),
        least=0,
        most=1,
    )
    return rotated == 1


def _index(keys: Keys) -> tuple[Part, ...]:
    """Return the index keys, each of `index_kpool` tokens where they are pooled."""
    d_index, pool = keys.whole("index_head_dim"), keys.whole_or("index_kpool", 1)
    return layers.index(d_index, pool)


def chooses(keys: Keys, layer: int) -> bool:
    """Tell if a layer has an indexer of its own: IndexShare lets others reuse its choice."""
    names = ("indexer_types", "index_topk_pattern")
    if name := next((name for name in names if keys.get(name) is not None), None):
        checks.choice(name, mode := keys.entry(name, layer), ("full", "shared", "F", "S"))
        return mode in ("full", "F")
    frequency = keys.whole_or("index_topk_freq", 1)
    offset = keys.whole_or("index_skip_topk_offset", 2, least=0)
    return max(layer - offset + 1, 0) % frequency == 0
