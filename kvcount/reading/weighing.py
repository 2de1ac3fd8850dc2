"""The parameters that a model has and uses, as far as its config.json tells.

Counted of attention are only projections: norms, biases and short convolutions are thousands among
billions. Nothing is counted of CSA2, of states other than KDA's, and where a width is not said.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kvcount.parts import Layer, Part
from kvcount.reading.keys import MOST, Keys

LATENT = ("latent", "indexed", "shared_choice", "shared")
SERIES = {"csa": 2, "hca": 1, "window": 0}  # how often a token is projected to be pooled


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Widths of a layer, 0 where there is none or it is not said.

    `gate` says what multiplies the heads' outputs in MLA: each "channel", each "head" or nothing.
    In KDA, `full_decay` and `full_gate` come from one matrix, and not by way of a head's width.
    """

    d_model: int
    n_heads: int
    d_head: int = 0
    d_rope: int = 0
    d_value: int = 0
    d_latent_q: int = 0
    n_index_heads: int = 0
    n_output_groups: int = 0
    d_latent_o: int = 0
    gate: str | None = None
    full_decay: bool = False
    full_gate: bool = False


def attention_parameters(keys: Keys, layer: Layer) -> int:
    """Return the parameters of a layer's attention; 0 where config.json does not tell them."""
    names = {
        "d_model": "hidden_size",
        "n_heads": "num_attention_heads",
        "d_head": "qk_nope_head_dim",
        "d_rope": "qk_rope_head_dim",
        "d_value": "v_head_dim",
        "d_latent_q": "q_lora_rank",
        "n_output_groups": "o_groups",
        "d_latent_o": "o_lora_rank",
    }
    if has_index(layer):  # asked for where there is an indexer: guard.py takes it for known then
        names["n_index_heads"] = "index_n_heads"
    ling = keys.model_type == "bailing_hybrid"
    options = {
        "gate": "head" if ling else "channel" if keys.get("mla_use_output_gate") is True else None,
        "full_decay": ling,
        "full_gate": ling or keys.get("linear_attn_config.use_full_rank_gate") is True,
    }
    widths = {size: _said(keys, name) for size, name in names.items()}
    sizes, parts = Sizes(**widths, **options), {part.name: part for part in layer.parts}
    if not (sizes.d_model and sizes.n_heads):
        return 0
    if layer.kind in LATENT and "latent" in parts and sizes.d_head and sizes.d_value:
        n_latents = sum(part.name == "latent" for part in layer.parts)
        return n_latents * _latent(parts, sizes)
    if "key" in parts and "value" in parts:
        return _grouped(parts["key"], parts["value"], sizes)
    if "entry" in parts and layer.kind in SERIES and sizes.d_latent_q and sizes.d_latent_o:
        return _pooled(SERIES[layer.kind], parts, sizes)
    if layer.kind == "kda":
        return _delta(parts["state"], sizes)
    return 0


def has_index(layer: Layer) -> bool:
    """Tell if a layer keeps an indexer's keys."""
    return any(part.name == "index" for part in layer.parts)


def _said(keys: Keys, name: str) -> int:
    found = keys.get(name)
    whole = isinstance(found, int) and not isinstance(found, bool)
    return found if whole and 0 < found <= MOST else 0


def _latent(parts: dict[str, Part], sizes: Sizes) -> int:
    """Return d (c + r) + h c (k + v) + h v d, the queries' d l + l h (k + r), and the indexer's."""
    d, h, c = sizes.d_model, sizes.n_heads, parts["latent"].numbers
    r = parts["rope"].numbers if "rope" in parts else sizes.d_rope
    latent = sizes.d_latent_q or d
    queries = (d * latent if sizes.d_latent_q else 0) + latent * h * (sizes.d_head + r)
    keys = d * (c + r) + h * c * (sizes.d_head + sizes.d_value)
    gate = {"channel": h * sizes.d_value * d, "head": h * d}.get(sizes.gate, 0)
    return queries + keys + h * sizes.d_value * d + gate + _indexer(parts, latent, 1, sizes)


def _indexer(parts: dict[str, Part], latent: int, series: int, sizes: Sizes) -> int:
    """Return j x l + j d, and d x for the key: once more for the gate of keys that are pooled."""
    if "index" not in parts or not sizes.n_index_heads:
        return 0
    x, j, pooled = parts["index"].numbers, sizes.n_index_heads, parts["index"].length > 1
    return j * x * latent + j * sizes.d_model + x * sizes.d_model * series * (1 + pooled)


def _pooled(series: int, parts: dict[str, Part], sizes: Sizes) -> int:
    """Return d l + l h k + d k, h k o + g o d, the pooling's 2 s d k, and the indexer's."""
    d, latent, o = sizes.d_model, sizes.d_latent_q, sizes.d_latent_o
    width = parts["entry"].numbers + (parts["rope"].numbers if "rope" in parts else 0)
    heads = sizes.n_heads * width
    read = d * latent + latent * heads + d * width + 2 * series * d * width
    made = heads * o + sizes.n_output_groups * o * d
    return read + made + _indexer(parts, latent, series, sizes)


def _delta(state: Part, sizes: Sizes) -> int:
    """d h k for queries, keys, values and the output; decay, gate, and d h for the strength."""
    d, h = sizes.d_model, state.heads
    k = math.isqrt(state.numbers // h)
    whole, narrow = d * h * k, d * k + k * h * k
    decay, gate = (whole if full else narrow for full in (sizes.full_decay, sizes.full_gate))
    return 4 * whole + decay + gate + d * h


def _grouped(key: Part, value: Part, sizes: Sizes) -> int:
    """Return d (h k + g k + g v + h v)."""
    of_heads = sizes.n_heads * (key.numbers // key.heads + value.numbers // value.heads)
    return sizes.d_model * (of_heads + key.numbers + value.numbers)


def is_mixture(config: Mapping[str, Any]) -> bool:
    """Tell if a config.json says that layers choose among experts: n_routed_experts and the like.

    Some keys stand in an object of their own; a dense model has none, or 0, 1 or null.
    """
    inner = (value for value in config.values() if isinstance(value, Mapping))
    return any(most > 1 for part in (config, *inner) for most in _experts(part))


def _experts(config: Mapping[str, Any]) -> Iterator[int]:
    """Yield each number of experts that are chosen among; the most where layers differ."""
    for key, value in config.items():
        if str(key).endswith("experts") and "shared" not in str(key):
            given = value if isinstance(value, list) else [value]
            yield max((n for n in given if isinstance(n, int)), default=0)


def expert_layers(keys: Keys, n_layers: int) -> tuple[int, ...]:
    """Return the numbers of the layers that choose among experts: all, where nothing else is said.

    A mixture's first layers may be dense, all but every so many, or those that a list names.
    """
    for name, sign in LISTED:
        if isinstance(listed := keys.get(name), list | str) and sign in listed:
            return tuple(n for n, entry in enumerate(listed[:n_layers]) if entry == sign)
    frequency = keys.get("moe_layer_freq")
    if isinstance(frequency, list):
        return tuple(n for n, entry in enumerate(frequency[:n_layers]) if entry)
    dense = max(_said(keys, name) for name in DENSE)
    step = max(_said(keys, name) for name in STEPS) or 1
    offset = keys.get("expert_layer_offset")
    offset = offset if isinstance(offset, int) else 0 if _said(keys, "moe_layer_freq") else step - 1
    listed = keys.get("mlp_only_layers")
    others = set(listed) if isinstance(listed, list) else set()
    numbers = range(dense, n_layers)
    return tuple(n for n in numbers if n % step == offset % step and n not in others)


LISTED = (
    ("mlp_layer_types", "sparse"),
    ("hybrid_override_pattern", "E"),
    ("layers_block_type", "moe"),
    ("layer_types", "moe"),
)
DENSE = ("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index")
STEPS = (
    "moe_layer_freq",
    "decoder_sparse_step",
    "interleave_moe_layer_step",
    "expert_layer_period",
    "moe_layer_interval",
)


def table(keys: Keys) -> int:
    """Return the parameters of the embedding, a row for each entry of the vocabulary; 0 unsaid."""
    return _said(keys, "vocab_size") * _said(keys, "hidden_size")


USED = ("num_experts_per_tok", "num_experts_per_token", "top_k_experts", "moe_topk", "moe_k")


def chosen(config: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return how many experts a token uses, and of how many; None where they are not one each."""
    inner = (value for value in config.values() if isinstance(value, Mapping))
    for part in (config, *inner):
        used = {n for name in USED if isinstance(n := part.get(name), int)}
        among = {most for most in _experts(part) if most > 1}
        if len(used) == len(among) == 1 and 0 < min(used) <= min(among):
            return min(used), min(among)
    return None
