"""Read a config.json: what every layer of a model keeps."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from kvcount import checks
from kvcount.parts import Layer, Model
from kvcount.reading import attention, guard, latents, per_layer, pooled, schedule, states, weighing
from kvcount.reading.keys import MOST_LAYERS, Keys, UncountedError, language_model, some
from kvcount.reading.model_types import row_of
from kvcount.refusals import Phrase

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
LATENT = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
TELLING = ("head", "layer", "lora", "window", "index", "compress", "linear", "mamba", "ssm", "kv")
PREDICTING = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
MOST_PREDICTING = 64
MOST_PASSES = 64
BUILDERS: dict[str, Callable[[Keys, int], Layer]] = {
    "full": attention.grouped,
    "grouped": attention.grouped,
    "window": attention.windowed,
    "own_window": attention.own_window,
    "chunk": attention.chunked,
    "wide": attention.wide,
    "every_head": attention.every_head,
    "falcon": attention.falcon,
    "mpt": attention.mpt,
    "chatglm": attention.chatglm,
    "cross_layer": attention.cross_layer,
    "blocks": attention.blocks,
    "pooled_blocks": attention.pooled_blocks,
    "window_but_listed": attention.window_but_listed,
    "searched": attention.searched,
    "latent": latents.latent,
    "two_latents": latents.two_latents,
    "indexed": latents.indexed,
    "latent_window": latents.latent_window,
    "sourced": latents.sourced,
    "pooled_window": pooled.window,
    "csa": pooled.csa,
    "hca": pooled.hca,
    "csa2": pooled.csa2,
    "kda": states.kda,
    "bailing": states.bailing,
    "delta": states.delta,
    "delta_ngrams": states.delta_ngrams,
    "lightning": states.lightning,
    "mamba": states.mamba,
    "mamba_of_heads": states.mamba_of_heads,
    "mamba2": states.mamba2,
    "rwkv": states.rwkv,
    "conv": states.conv,
    "branches": states.branches,
    "own_branches": states.own_branches,
    "mixed_heads": states.mixed_heads,
    "images": states.images,
    "none": states.nothing,
}


def read(config: Mapping[str, Any]) -> Model:
    """Return what the layers of a model keep, by its config.json.

    Raises:
        UncountedError, RefusedError: no object, an unknown model_type, a key that is missing or has
            a value that it cannot have.
    """
    checks.kind("config", config, Mapping)
    found = language_model(config)
    row = row_of(found["model_type"])
    if row is None:
        raise _unknown(found)
    keys = Keys(found, row.get("names"))
    if found.get("use_mla") is False:
        keys = keys.having(**dict.fromkeys(LATENT))
    weights = Keys(found, row.get("names"))  # what it asks for is not known
    for name in row.get("needs", ()):
        keys.need(name)
    kinds = schedule.kinds(keys, row)
    own = per_layer.told(keys)
    layers = tuple(
        _own_layer(keys, row, kind, number, own.get(number)) for number, kind in enumerate(kinds)
    )
    layers = _sharing(keys, row, kinds, layers)
    order = _order(keys, row, len(layers))
    again = {place for place, number in enumerate(order) if number in order[:place]}
    each = [weighing.attention_parameters(keys, layer) for layer in layers]
    chosen = set(weighing.expert_layers(weights, len(layers)))
    layers = tuple(layers[number] for number in order)
    model = Model(
        model_type=keys.model_type,
        layers=layers,
        mtp=_predicting(keys, row, kinds),
        max_context=keys.max_context,
        as_mha=attention.as_mha(keys),
        n_heads=keys.whole_or("num_attention_heads", 0, least=0),
        n_index_heads=latents.index_heads(keys) if any(map(weighing.has_index, layers)) else 0,
        mixture=weighing.is_mixture(found) or None,
        experts=weighing.chosen(found),
        attention=tuple(0 if n in again else each[number] for n, number in enumerate(order)),
        expert_layers=tuple(
            n for n, number in enumerate(order) if number in chosen and n not in again
        ),
        table=weighing.table(keys),
        tied=keys.get("tie_word_embeddings") is not False,
    )
    guard.refuse_unknown(keys, row)
    return model


def _layer(keys: Keys, row: Mapping[str, Any], kind: str, number: int) -> Layer:
    """Return one layer of a kind: what its builders make, together."""
    names = row.get("builds", {}).get(kind, [kind])
    if unknown := [name for name in names if name not in BUILDERS]:
        raise UncountedError("no_such_layer", kind=unknown[0], model_type=keys.model_type)
    built = [BUILDERS[name](keys, number) for name in names]
    parts = tuple(part for layer in built for part in layer.parts)
    return Layer("+".join(layer.kind for layer in built), parts)


def _own_layer(
    keys: Keys, row: Mapping[str, Any], kind: str, number: int, own: Mapping[str, Any] | None
) -> Layer:
    """Return a layer with what per_layer_config has for it, all of which it must ask for."""
    if own is None:
        return _layer(keys, row, kind, number)
    kind, told = per_layer.unskipped(kind, number, own)
    alone = keys.of_layer(told)
    layer = _layer(alone, row, kind, number)
    guard.refuse_unasked(alone, row, number)
    keys.asked |= alone.asked
    return layer


PASSES = {"per_loop": True, "last_loop": False}


def _order(keys: Keys, row: Mapping[str, Any], n_layers: int) -> list[int]:
    """Return the layers' numbers, once for each pass that keeps a cache of its own.

    In Dory and Inkling 2 Mini some run more than once, with the same weights.
    """
    every = [*range(n_layers)]
    if "loops" not in row:
        return every
    names = {part: _said(keys, name) for part, name in row["loops"].items()}
    first, last = _loop(keys, names, n_layers)
    passes = keys.whole(names["times"], most=MOST_PASSES)
    if "cache" in names:
        checks.choice(names["cache"], mode := keys.need(names["cache"]), PASSES)
        passes = passes if PASSES[mode] else 1
    n_caches = n_layers + (last - first) * (passes - 1)
    checks.whole(f"num_hidden_layers with {names['times']}", n_caches, most=MOST_LAYERS)
    return every[:first] + every[first:last] * passes + every[last:]


def _loop(keys: Keys, names: Mapping[str, str], n_layers: int) -> tuple[int, int]:
    """Return the index of the first looped layer, and the index just past the last one."""
    if "end" in names:
        first = keys.whole(names["start"], most=n_layers)
        return first, keys.whole(names["end"], least=first, most=n_layers)
    first, n_looped, rest = (
        keys.whole(names[part], least=0) for part in ("first", "number", "rest")
    )
    if first + n_looped + rest != n_layers:
        told = ", ".join(names[part] for part in ("first", "number", "rest"))
        given = first + n_looped + rest
        raise UncountedError("loops_length", keys=told, given=given, wanted=n_layers)
    return first, first + n_looped


def _said(keys: Keys, names: str | list[str]) -> str:
    """Return the first of these keys that is present, else the last."""
    names = [names] if isinstance(names, str) else names
    return next((name for name in names if keys.get(name) is not None), names[-1])


def _sharing(
    keys: Keys, row: Mapping[str, Any], kinds: list[str], layers: tuple[Layer, ...]
) -> tuple[Layer, ...]:
    """The last layers read what the last one of their kind before them keeps."""
    if "shared" not in row or not (n_shared := keys.whole_or(row["shared"], 0, least=0)):
        return layers
    own = len(layers) - n_shared
    if own < 1 or set(kinds) - set(kinds[:own]):
        raise UncountedError("nothing_to_share", key=row["shared"], given=n_shared)
    read_only = (
        Layer("shared", tuple(replace(part, stored=False) for part in layer.parts))
        for layer in layers[own:]
    )
    return (*layers[:own], *read_only)


def _predicting(keys: Keys, row: Mapping[str, Any], kinds: list[str]) -> tuple[Layer, ...] | None:
    """Return the layers that predict further tokens; None of a kind that nobody says.

    Their kind is what a list has beyond the last layer, the type's own, or that of all layers. One
    with an indexer has its own, whatever the others share.
    """
    counts = (keys.whole_or(name, 0, least=0) for name in PREDICTING)
    if not (n := min(next(filter(None, counts), 0), MOST_PREDICTING)):
        return ()
    own = keys.having(indexer_types=None, index_topk_pattern=None, index_topk_freq=None)
    if not (found := schedule.beyond(keys, row)[:n]):
        kind = row.get("mtp") or (kinds[0] if len(set(kinds)) == 1 else None)
        found = [kind] * n if kind else []
    return tuple(_layer(own, row, kind, 0) for kind in found) if len(found) == n else None


def _unknown(config: Mapping[str, Any]) -> UncountedError:
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
    if any("mamba" in str(key) for key in keys):
        return Phrase("like_mamba")
    heads, groups = keys.get("num_attention_heads"), keys.get("num_key_value_heads")
    others = set(guard.smelling(keys)) - {"num_key_value_heads", "head_dim"}
    if others or (heads is None and groups is None):
        return Phrase("like_nothing")
    return Phrase("like_heads") if groups in (None, heads) else Phrase("like_groups")
