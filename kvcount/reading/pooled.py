"""Caches of DeepSeek-V4 and V4.1: a window, and entries that stand for tokens each.

A token's vector is key and value at once; of its `head_dim` numbers the last `qk_rope_head_dim`
are rotated. Until a group of tokens is complete, its vectors and gates wait in a buffer; CSA's
groups overlap, so it projects each token twice and also keeps the last group's first half.
Sizes as in transformers 5.24, models/deepseek_v4.
"""

from kvcount import checks, layers
from kvcount.parts import Layer, Part
from kvcount.reading.keys import Keys, UncountedError

RATES = {"csa": ("compressed_sparse_attention", 4), "hca": ("heavily_compressed_attention", 128)}


def window(keys: Keys, _layer: int) -> Layer:
    """The last `sliding_window` tokens, a vector each."""
    return Layer("window", layers.window(*_widths(keys), keys.whole("sliding_window")))


def csa(keys: Keys, _layer: int) -> Layer:
    """A window, entries of 4 overlapping tokens, and an index key each that chooses the top k."""
    sizes = (keys.whole("index_head_dim"), keys.whole("sliding_window"), entry_tokens(keys, "csa"))
    return layers.csa(*_widths(keys), *sizes, keys.whole("index_topk"))


def hca(keys: Keys, _layer: int) -> Layer:
    """A window, and entries of 128 tokens, all of which are read."""
    return layers.hca(*_widths(keys), keys.whole("sliding_window"), entry_tokens(keys, "hca"))


def csa2(keys: Keys, layer: int) -> Layer:
    """CSA2 (DeepSeek-V4.1): a window, and entries of one or two tokens that some layers keep.

    Those after them read the same entries, and their index keys or another layer's choice; from
    `candidate_source_layer_id` on, choices are made among the blocks that it found.
    """
    checks.whole("an entry of compress_ratios", rate := keys.list("compress_ratios")[layer])
    keeps, chooses = (
        _is_source(keys, f"{name}_source_layer_ids", layer) for name in ("kv", "index")
    )
    entries = layers.vectors(
        *_widths(keys), length=rate, read_rows=keys.whole("index_topk"), stored=keeps
    )
    parts = [*window(keys, layer).parts, *entries]
    if chooses:
        index = {"length": rate, "stored": keeps, "read_rows": _candidates(keys, layer)}
        parts.append(Part(name="index", numbers=keys.whole("index_head_dim"), **index))
    if keeps and rate > 1:
        parts.append(layers.waiting(keys.whole("head_dim"), rate))
    return Layer("csa2" if keeps else "csa2_reader", tuple(parts))


def _is_source(keys: Keys, name: str, layer: int) -> bool:
    """Tell if a list has this layer; if not, the last one before it stands for as many tokens."""
    for source in (listed := keys.list(name)):
        checks.whole(f"an entry of {name}", source, least=0, most=keys.n_layers - 1)
    rates, before = keys.list("compress_ratios"), [one for one in listed if one <= layer]
    if not before or rates[max(before)] != rates[layer]:
        raise UncountedError("no_keeper", key=name, layer=layer)
    return layer in listed


def _candidates(keys: Keys, layer: int) -> int | None:
    """Return the entries that a layer's indexer scores at most, None for all."""
    source = keys.whole_or("candidate_source_layer_id", -1, least=-1)
    if not 0 <= source < layer:
        return None
    return keys.whole("candidate_topk_blocks") * keys.whole("candidate_block_size")


def _widths(keys: Keys) -> tuple[int, int]:
    """Return the numbers of a vector, and how many of them are rotated."""
    width, d_rope = keys.whole("head_dim"), keys.whole("qk_rope_head_dim", least=0)
    checks.whole("qk_rope_head_dim", d_rope, least=0, most=width - 1)
    return width, d_rope


def entry_tokens(keys: Keys, kind: str) -> int:
    """Return the tokens of an entry."""
    name, usual = RATES[kind]
    if keys.get(f"compress_rate_{kind}") is not None:
        return keys.whole(f"compress_rate_{kind}", least=2)
    return keys.whole_or(f"compress_rates.{name}", usual, least=2)
