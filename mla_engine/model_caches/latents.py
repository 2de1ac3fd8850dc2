"""What layers of plain MLA keep: a latent for all heads, and a rotary key."""

from mla_engine.model_caches.keys import Keys
from mla_engine.model_caches.parts import Layer, Part

OWN = ("kv_lora_rank", "qk_rope_head_dim")  # sizes of the layers with a window, `swa_...`


def latent(keys: Keys, _layer: int) -> Layer:
    """MLA: the latent c_KV and the rotary key k_R, read once as key and as value."""
    return Layer("latent", latent_parts(keys))


def latent_parts(keys: Keys, **rows: object) -> tuple[Part, ...]:
    """Both of a token; without rotation the latent alone."""
    parts = [Part(name="latent", numbers=keys.whole("kv_lora_rank"), **rows)]
    if d_rope := keys.whole("qk_rope_head_dim", least=0):
        parts.append(Part(name="rope", numbers=d_rope, **rows))
    return tuple(parts)


def two_latents(keys: Keys, layer: int) -> Layer:
    """A layer with two attentions (LongCat-Flash)."""
    return Layer("latent", latent(keys, layer).parts * 2)


def latent_window(keys: Keys, _layer: int) -> Layer:
    """MLA over the last `sliding_window` tokens, with sizes of its own (dots3-note)."""
    own = {name: keys.whole(f"swa_{name}") for name in OWN}
    bound = {"growth": "window", "length": keys.whole("sliding_window")}
    return Layer("window", latent_parts(keys.having(**own), **bound))
