"""Caches of layers with keys and values, some of them with index keys that choose blocks."""

from collections.abc import Mapping
from dataclasses import replace

from kvcount import checks
from kvcount.layers import heads_kind, pair
from kvcount.parts import Layer, Part
from kvcount.reading.keys import Keys, UncountedError

MPT = {  # kind of attention -> the key with its KV heads
    "multihead_attention": "num_attention_heads",
    "grouped_query_attention": "attn_config.kv_n_heads",
    "multiquery_attention": None,
}


def head_width(keys: Keys) -> int:
    """Return the numbers of a key: `head_dim`, or an even share of the model's width."""
    if keys.get("head_dim") is not None:
        return keys.whole("head_dim")
    d_model, n_heads = keys.whole("hidden_size"), keys.whole("num_attention_heads")
    checks.multiple(keys.name("hidden_size"), d_model, keys.name("num_attention_heads"), n_heads)
    return d_model // n_heads


def as_mha(keys: Keys) -> int:
    """Count numbers of a key and a value for every query head, n_h (d_h + d_v); 0 without heads.

    Of MLA the key is counted without its rotary part, as `costs.mha_cache_elements` does.
    """
    if not (n_heads := keys.whole_or("num_attention_heads", 0, least=0)):
        return 0
    latent_key = keys.get("qk_nope_head_dim") is not None
    d_key = keys.whole("qk_nope_head_dim") if latent_key else head_width(keys)
    return n_heads * (d_key + keys.whole_or("v_head_dim", d_key))


def grouped(keys: Keys, _layer: int, **rows: object) -> Layer:
    """Return the keys and values of `num_key_value_heads` heads."""
    n_heads = keys.whole("num_attention_heads")
    n_kv_heads = keys.whole("num_key_value_heads")
    checks.multiple(
        keys.name("num_attention_heads"), n_heads, keys.name("num_key_value_heads"), n_kv_heads
    )
    d_key = head_width(keys)
    kind = heads_kind(n_heads, n_kv_heads)
    return Layer(kind, pair(n_kv_heads, d_key, keys.whole_or("v_head_dim", d_key), **rows))


def windowed(keys: Keys, layer: int) -> Layer:
    """Return the same of the last `sliding_window` tokens."""
    return _bounded(keys, layer, "sliding_window", "window")


def chunked(keys: Keys, layer: int) -> Layer:
    """Return the same of a chunk of `attention_chunk_size` tokens."""
    return _bounded(keys, layer, "attention_chunk_size", "chunk")


def _bounded(keys: Keys, layer: int, length: str, kind: str) -> Layer:
    bound = {"growth": "window", "length": keys.whole(length)}
    return Layer(kind, grouped(keys, layer, **bound).parts)


def own_window(keys: Keys, layer: int) -> Layer:
    """Return a window with KV heads and widths of its own, `swa_...` (MiMo-V2)."""
    names = {name: f"swa_{name}" for name in ("num_key_value_heads", "head_dim", "v_head_dim")}
    own = {n: found for n, key in names.items() if (found := keys.get(key)) is not None}
    return windowed(keys.having(**own), layer)


def window_but_listed(keys: Keys, layer: int) -> Layer:
    """Return a window, but all tokens in the layers of `full_attention_idx` (PLaMo 2)."""
    full = () if keys.get("full_attention_idx") is None else keys.list("full_attention_idx")
    return (grouped if layer in full else windowed)(keys, layer)


def searched(keys: Keys, layer: int) -> Layer:
    """Return what `block_configs` says of a layer, nothing for some (Llama-Nemotron)."""
    own = keys.entry("block_configs", layer)
    checks.kind("an entry of block_configs", own, Mapping)
    checks.kind("attention of block_configs", own.get("attention"), Mapping)
    block = Keys({**own["attention"], "model_type": keys.model_type})
    if block.flag("no_op", False) or block.flag("replace_with_linear", False):
        return Layer("none")
    n_heads, group = keys.whole("num_attention_heads"), block.whole("n_heads_in_group")
    checks.multiple("num_attention_heads", n_heads, "n_heads_in_group", group)
    alone = keys.having(num_key_value_heads=n_heads // group)
    if block.get("window_length") is None:
        return grouped(alone, layer)
    return windowed(alone.having(sliding_window=block.whole("window_length")), layer)


def wide(keys: Keys, layer: int) -> Layer:
    """Return a global layer with KV heads and a width of its own (Gemma 4).

    They are `global_...`, or those of `per_layer_config`, which stands in for these.
    """
    if "head_dim" in keys.layer:  # as transformers saves it again
        told = {"key": "global_head_dim", "given": keys.get("global_head_dim")}
        told |= {"other": f"per_layer_config.{layer}.head_dim", "value": keys.get("head_dim")}
        if told["given"] not in (None, told["value"]):
            raise UncountedError("contradiction", **told)
        return grouped(keys, layer)
    own = {"head_dim": keys.whole("global_head_dim")}
    if keys.flag("attention_k_eq_v", True) and keys.get("num_global_key_value_heads") is not None:
        own["num_key_value_heads"] = keys.whole("num_global_key_value_heads")
    return grouped(keys.having(**own), layer)


def every_head(keys: Keys, _layer: int) -> Layer:
    """Return the keys and values as wide as the model, for every head."""
    n_heads, d_model = keys.whole("num_attention_heads"), keys.whole("hidden_size")
    checks.multiple(keys.name("hidden_size"), d_model, keys.name("num_attention_heads"), n_heads)
    return Layer("mha", pair(n_heads, d_model // n_heads, d_model // n_heads))


def falcon(keys: Keys, layer: int) -> Layer:
    """One KV head in the first generation, `num_kv_heads` in the second, else every head."""
    if keys.flag("new_decoder_architecture", False):
        own = {"num_key_value_heads": keys.whole("num_kv_heads")}
    elif keys.flag("multi_query", False):
        own = {"num_key_value_heads": 1}
    else:
        return every_head(keys, layer)
    return grouped(keys.having(**own), layer)


def mpt(keys: Keys, layer: int) -> Layer:
    """Return what `attn_config` says: every head, `kv_n_heads` of them, or one."""
    said = keys.get("attn_config.attn_type") or "multihead_attention"
    checks.choice("attn_config.attn_type", said, MPT)
    n_kv_heads = keys.whole(MPT[said]) if MPT[said] else 1
    return grouped(keys.having(num_key_value_heads=n_kv_heads), layer)


def chatglm(keys: Keys, layer: int) -> Layer:
    """`multi_query_group_num` KV heads where ChatGLM shares them, else every head's."""
    shares = keys.flag("multi_query_attention", False)
    name = "multi_query_group_num" if shares else "num_attention_heads"
    return grouped(keys.having(num_key_value_heads=keys.whole(name)), layer)


def cross_layer(keys: Keys, layer: int) -> Layer:
    """GQA; with CLA, one of `cla_share_factor` layers keeps what the others read (Hunyuan)."""
    own = grouped(keys, layer)
    if not keys.flag("use_cla", False) or layer % keys.whole("cla_share_factor") == 0:
        return own
    return Layer("shared", tuple(replace(part, stored=False) for part in own.parts))


def blocks(keys: Keys, layer: int) -> Layer:
    """Block-sparse GQA: an index key beside keys and values, of which some blocks are read."""
    sizes = ("index_topk_blocks", "index_block_size", "index_head_dim")
    own = ("sparse_topk_blocks", "sparse_block_size", "sparse_index_dim")
    topk, block, d_index = (
        keys.whole(name if keys.get(name) is not None else f"sparse_attention_config.{old}")
        for name, old in zip(sizes, own, strict=True)
    )
    index = Part(name="index", numbers=d_index)
    return Layer("blocks", (*grouped(keys, layer, read_rows=topk * block).parts, index))


BLOCKS = ("indexer_head_dim", "indexer_compress_ratio", "indexer_budget")  # all, or no indexer


def pooled_blocks(keys: Keys, layer: int) -> Layer:
    """GQA that reads blocks of tokens, chosen by the mean of their index keys (Qwen4-Exp)."""
    if all(keys.get(name) is None for name in BLOCKS):
        return grouped(keys, layer)
    block, d_index = keys.whole("indexer_compress_ratio"), keys.whole("indexer_head_dim")
    most = keys.whole("indexer_budget") + block - 1  # those of the last block are read as well
    index = Part(name="index", numbers=d_index, length=block)
    waiting = Part(name="buffer", numbers=d_index, growth="buffer", length=block, read_rows=0)
    return Layer("blocks", (*grouped(keys, layer, read_rows=most).parts, index, waiting))
