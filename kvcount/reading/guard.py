"""The guard of the counter: a key that may change the cache is known, or nothing is counted."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kvcount.reading.keys import Keys, UncountedError, some

SMELLS = re.compile(
    r"attention|attn|head|cache|shar|window|sliding|kv|mla(?!_explorer)|use_cla|cla_|quer|swa_"
    r"|[mg]qa|override|(^|_)index(er)?_|sparse_config|compress_r|yoco|d_state|state_size"
    r"|per_layer_config|loop|recurrent"
)
HARMLESS = re.compile(  # of any type: numbers, biases, experts, query heads, the way to compute
    r"dropout|pdrop|bias|expert|norm|scal|softmax|softcap|sinks?$|multiplier|temperature|embedding"
    r"|_impl|implementation|flash|sdpa|rope|(^|_)gate|lm_head|rm_head|classif|_(alpha|beta)_factor$"
    r"|^output_attentions$|^use_cache$|^pruned_heads$|^clip_qkv$|^qk_head_dim$|^query_pre_attn"
    r"|^_sliding_window_pattern$|upcast_attn$|^parallel_attn$|^num_ln_in_parallel_attn$"
    r"|^use_bidirectional_attention$|^shared_(intermediate_size|moe_mode)$"
    r"|^(swa_)?num_(sliding_)?attention_heads(_per_layer)?$"
)
RUNS_AGAIN = re.compile(r"loop|recurrent")  # of an object, all of whose keys say which layers do
SWITCHES = {  # a key that is false -> keys that then say nothing
    "use_sliding_window": ("sliding_window", "sliding_window_size", "max_window_layers"),
    "use_mla": ("kv_lora_rank", "v_head_dim", "qk_nope_head_dim"),
    "use_cla": ("cla_share_factor",),
    "add_cross_attention": (),
}
LISTED = ("sliding_window", "use_sliding_window", "max_window_layers")  # nothing beside layer_types
LATENT = ("num_key_value_heads", "head_dim")  # nothing beside a latent
OF_HEADS = (*LATENT, "qk_nope_head_dim", "v_head_dim", "q_lora_rank")  # likewise, of a layer
CHOICE = {"indexer_types", "index_topk_pattern", "index_topk_freq", "index_skip_topk_offset"}


def refuse_unknown(keys: Keys, row: Mapping[str, Any]) -> None:
    """Refuse a config.json with a key that may change the cache, and that its type does not know.

    Args:
        keys: after all that counts has asked for what it reads.
        row: of model_types.toml.

    Raises:
        UncountedError: such a key, by name.
    """
    config = keys.config
    known = {*keys.asked, *_words(row), *row.get("defaults", ())}
    known |= {key for key, value in row.get("only", {}).items() if keys.get(key) == value}
    for switch, silent in SWITCHES.items():
        known |= {switch, *silent} if keys.get(switch) is False else set()
    known |= set(LISTED) if config.get("layer_types") is not None else set()
    known |= set(LISTED[1:]) if config.get("sliding_window") is None else set()
    known |= set(LATENT) if "kv_lora_rank" in keys.asked else set()
    known |= CHOICE if CHOICE & keys.asked else set()  # one says what the others would
    if unknown := [key for key in smelling(keys.config) if key not in known]:
        found = {"keys": some(dict.fromkeys(unknown)), "model_type": keys.model_type}
        raise UncountedError("unknown_keys", **found)


def refuse_unasked(keys: Keys, row: Mapping[str, Any], layer: int) -> None:
    """Refuse a key of per_layer_config that may change a layer's cache and is not asked for.

    Args:
        keys: of the layer, after all that counts it has asked.
        row: of model_types.toml.
        layer: its number.

    Raises:
        UncountedError: such a key, by name.
    """
    known = {*keys.asked, *_words(row), *(OF_HEADS if "kv_lora_rank" in keys.asked else ())}
    if unknown := [key for key in smelling(keys.layer) if key not in known]:
        named = {f"per_layer_config.{layer}.{key}": None for key in unknown}
        raise UncountedError("unknown_keys", keys=some(named), model_type=keys.model_type)


def smelling(
    config: Mapping[str, Any], at: str = "", smells: re.Pattern[str] = SMELLS
) -> Iterator[str]:
    """Yield the keys that may change a cache, those of objects with such a name among them."""
    for key, value in config.items():
        if value is None or not smells.search(str(key)) or HARMLESS.search(str(key)):
            continue
        if isinstance(value, Mapping):
            every = re.compile("") if RUNS_AGAIN.search(str(key)) else SMELLS
            yield from smelling(value, f"{at}{key}.", every)
        else:
            yield f"{at}{key}"


def _words(part: object) -> Iterator[str]:
    """Yield all that a row says by name."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, Mapping | list):
        for inner in part.values() if isinstance(part, Mapping) else part:
            yield from _words(inner)
