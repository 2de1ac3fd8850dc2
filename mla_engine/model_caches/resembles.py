"""What a config.json of an unknown architecture resembles; no number is made of a guess."""

from collections.abc import Mapping
from typing import Any

from mla_engine.model_caches.errors import UncountedError
from mla_engine.model_caches.keys import some
from mla_engine.refusals import Phrase

SIGNS = (  # keys that all must be there, and what they look like: the first that fits
    (("compress_ratios",), Phrase("like_pooled")),
    (("kv_lora_rank", "index_topk"), Phrase("like_indexed")),
    (("kv_lora_rank", "linear_attn_config"), Phrase("like_latent_hybrid")),
    (("kv_lora_rank",), Phrase("like_latent")),
    (("linear_num_value_heads",), Phrase("like_delta")),
    (("mamba_d_state",), Phrase("like_mamba")),
    (("ssm_state_size",), Phrase("like_mamba")),
    (("num_kv_shared_layers",), Phrase("like_shared")),
    (("sliding_window", "num_key_value_heads"), Phrase("like_window")),
)
TELLING = ("head", "layer", "lora", "window", "index", "compress", "linear", "mamba", "ssm", "kv")


def unknown(config: Mapping[str, Any]) -> UncountedError:
    """The refusal: the keys that decide a cache, and which mechanism they look like."""
    keys = {key: value for key, value in config.items() if value is not None}
    telling = {key for key in keys if any(sign in str(key) for sign in TELLING)}
    return UncountedError(
        "unknown_architecture",
        model_type=config["model_type"],
        keys=some(dict.fromkeys(telling)) or Phrase("no_keys"),
        like=_like(keys),
    )


def _like(keys: Mapping[str, Any]) -> Phrase:
    for signs, phrase in SIGNS:
        if all(sign in keys for sign in signs):
            return phrase
    heads, groups = keys.get("num_attention_heads"), keys.get("num_key_value_heads")
    if heads is None and groups is None:
        return Phrase("like_nothing")
    return Phrase("like_heads") if groups in (None, heads) else Phrase("like_groups")
