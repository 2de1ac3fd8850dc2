"""Parameters of attention, as far as they are told: what each group of GPUs keeps whole.

Projections alone: norms and biases are thousands among billions. Of layers with a state or pooled
entries, and where a width is not said, nothing is counted.
"""

from dataclasses import dataclass

from mla_engine.model_caches.keys import MOST, Keys
from mla_engine.model_caches.parts import Layer, Part

LATENT = ("latent", "indexed", "shared_choice", "shared")


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Widths of a layer, 0 where there is none or it is not said."""

    d_model: int
    n_heads: int
    d_head: int = 0
    d_rope: int = 0
    d_value: int = 0
    d_latent_q: int = 0
    n_index_heads: int = 0


def of_config(keys: Keys, layer: Layer) -> int:
    """Parameters of a layer's attention, by its config.json."""
    names = {
        "d_model": "hidden_size",
        "n_heads": "num_attention_heads",
        "d_head": "qk_nope_head_dim",
        "d_rope": "qk_rope_head_dim",
        "d_value": "v_head_dim",
        "d_latent_q": "q_lora_rank",
        "n_index_heads": "index_n_heads",
    }
    return of_layer(layer, Sizes(**{size: _said(keys, name) for size, name in names.items()}))


def _said(keys: Keys, name: str) -> int:
    found = keys.get(name)
    whole = isinstance(found, int) and not isinstance(found, bool)
    return found if whole and 0 < found <= MOST else 0


def of_layer(layer: Layer, sizes: Sizes) -> int:
    """Parameters of a layer's attention; 0 where they are not told."""
    parts = {part.name: part for part in layer.parts}
    if not (sizes.d_model and sizes.n_heads):
        return 0
    if layer.kind in LATENT and "latent" in parts and sizes.d_head and sizes.d_value:
        n_latents = sum(part.name == "latent" for part in layer.parts)
        return n_latents * _latent(parts, sizes)
    if "key" in parts and "value" in parts:
        return _grouped(parts["key"], parts["value"], sizes)
    return 0


def _latent(parts: dict[str, Part], sizes: Sizes) -> int:
    """d (c + r) + h c (k + v) + h v d, the queries' d l + l h (k + r), and the indexer's."""
    d, h, c = sizes.d_model, sizes.n_heads, parts["latent"].numbers
    r = parts["rope"].numbers if "rope" in parts else sizes.d_rope
    latent = sizes.d_latent_q or d
    queries = (d * latent if sizes.d_latent_q else 0) + latent * h * (sizes.d_head + r)
    keys = d * (c + r) + h * c * (sizes.d_head + sizes.d_value)
    index = parts["index"].numbers if "index" in parts and sizes.n_index_heads else 0
    of_index = index * (latent * sizes.n_index_heads + d) + bool(index) * d * sizes.n_index_heads
    return queries + keys + h * sizes.d_value * d + of_index


def _grouped(key: Part, value: Part, sizes: Sizes) -> int:
    """d (h k + g k + g v + h v)."""
    of_heads = sizes.n_heads * (key.numbers // key.heads + value.numbers // value.heads)
    return sizes.d_model * (of_heads + key.numbers + value.numbers)
