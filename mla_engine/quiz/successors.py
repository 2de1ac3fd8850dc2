"""Questions on what came after MLA: an indexer, layers with a state, pooled entries."""

from math import isqrt
from random import Random

from kvcount import MODELS, Layer, Published, numbers_per_token
from mla_engine import costs
from mla_engine.claims.claim import Figure
from mla_engine.presets import PRESETS
from mla_engine.quiz.caches import BF16_BYTES, sizes
from mla_engine.quiz.question import Generator, Question, amounts

INDEXED = ("deepseek-v3.2-exp", "glm-5")
OF_BLOCKS = ("glm-5.3-flash",)
HYBRID = ("kimi-k3", "kimi-linear-48b-a3b")
POOLED = "deepseek-v4-flash"
CONTEXTS = (1024, 4096, 32_768, 131_072)


def index_keys(rng: Random) -> Question:
    """Ask for the numbers per token and layer of MLA with an indexer."""
    preset = rng.choice(INDEXED)
    config = PRESETS[preset].config
    right, latent = costs.cache_elements(config), config.d_latent_kv + config.d_rope
    wrong = {
        "without_index": latent,
        "index_per_head": latent + config.n_index_heads * config.d_index,
        "key_and_value": 2 * right,
    }
    facts = (*sizes(preset), Figure("n_index_heads", config.n_index_heads))
    facts += (Figure("d_index", config.d_index),)
    mixed = amounts(rng, right, "latent_and_index", wrong)
    return Question("index_keys", facts=facts, unit="elements", preset=preset, **mixed)


def chosen_keys(rng: Random) -> Question:
    """Ask for the tokens whose latents attention reads, at a context."""
    preset, context = rng.choice(INDEXED), rng.choice(CONTEXTS)
    topk = PRESETS[preset].config.index_topk
    short = context <= topk
    wrong = {"topk": topk, "half_of_them": context // 2} if short else {
        "all_of_them": context, "half_of_them": context // 2, "those_left_out": context - topk,
    }  # fmt: skip
    mixed = amounts(rng, min(context, topk), "all_there_are" if short else "chosen_ones", wrong)
    facts = (*sizes(preset), Figure("context", context), Figure("topk", topk))
    case = "short" if short else "long"
    return Question("chosen_keys", facts=facts, unit="tokens", preset=preset, case=case, **mixed)


def hybrid(rng: Random) -> Question:
    """Ask for the bytes that a further token adds where most layers keep a state."""
    preset = rng.choice(HYBRID)
    model = PRESETS[preset]
    per_layer = costs.cache_bytes_per_token(model.config, BF16_BYTES)
    right = per_layer * model.n_caches
    wrong = {
        "every_layer": per_layer * model.n_layers,
        "one_layer": per_layer,
        "one_byte": right / 2,
        "key_and_value": 2 * right,
    }
    facts = (*sizes(preset), Figure("layers", model.n_layers), Figure("caches", model.n_caches))
    mixed = amounts(rng, right, "layers_with_latents", wrong)
    return Question("hybrid", facts=facts, unit="bytes", preset=preset, **mixed)


def pooled(rng: Random) -> Question:
    """Ask for the numbers that a token adds to a layer of pooled entries with index keys."""
    layer = _layer(MODELS[POOLED], "csa")
    entry, tokens = _entry(layer)
    index = next(part.numbers for part in layer.parts if part.name == "index")
    right = float(numbers_per_token(layer))
    wrong = {
        "not_pooled": entry + index,
        "entries_alone": entry / tokens,
        "key_and_value": 2 * right,
    }
    facts = (Figure("model", MODELS[POOLED].name), Figure("pooling", tokens))
    facts += (Figure("entry", entry), Figure("index", index))
    mixed = amounts(rng, right, "share_of_an_entry", wrong)
    return Question("pooled", facts=facts, unit="elements", **mixed)


def heavily_pooled(rng: Random) -> Question:
    """Ask for the numbers that a token adds to a layer of few pooled entries, all read."""
    entry, few = _entry(_layer(MODELS[POOLED], "hca"))
    _, many = _entry(_layer(MODELS[POOLED], "csa"))
    wrong = {"not_pooled": entry, "pooled_as_csa": entry / many, "key_and_value": 2 * entry / few}
    facts = (Figure("model", MODELS[POOLED].name), Figure("pooling", few), Figure("entry", entry))
    mixed = amounts(rng, entry / few, "share_of_entry", wrong)
    return Question("heavily_pooled", facts=facts, unit="elements", **mixed)


def _layer(model: Published, kind: str) -> Layer:
    """Return the first layer of a kind."""
    return next(one for one in model.model().layers if one.kind == kind)


def _entry(layer: Layer) -> tuple[int, int]:
    """Return the numbers of a pooled entry, in all its parts, and the tokens that it stands for."""
    parts = [part for part in layer.parts if part.growth == "grows" and part.name != "index"]
    return sum(part.numbers for part in parts), parts[0].length


def state(rng: Random) -> Question:
    """Ask for the numbers of the states of a layer that keeps nothing else of a text."""
    model, context = MODELS[rng.choice(HYBRID)], rng.choice(CONTEXTS)
    held = next(part for part in _layer(model, "kda").parts if part.name == "state")
    heads, width = held.heads, isqrt(held.numbers // held.heads)
    wrong = {
        "one_state": width * width,
        "a_vector_a_head": heads * width,
        "every_token": 2 * heads * width * context,
    }
    facts = (Figure("model", model.name), Figure("heads", heads), Figure("width", width))
    facts += (Figure("context", context),)
    mixed = amounts(rng, held.numbers, "matrix_a_head", wrong)
    return Question("state", facts=facts, unit="elements", **mixed)


def block_index(rng: Random) -> Question:
    """Ask for the numbers per token of MLA with an index key for each block of tokens."""
    preset = rng.choice(OF_BLOCKS)
    config = PRESETS[preset].config
    right, latent = costs.cache_elements(config), config.d_latent_kv + config.d_rope
    wrong = {
        "without_index": latent,
        "index_per_token": latent + config.d_index,
        "all_pooled": (latent + config.d_index) / config.pooling,
        "key_and_value": 2 * right,
    }
    facts = (*sizes(preset), Figure("d_index", config.d_index))
    facts += (Figure("pooling", config.pooling),)
    mixed = amounts(rng, right, "latent_and_share", wrong)
    return Question("block_index", facts=facts, unit="elements", preset=preset, **mixed)


# As they were added, one after another.
ADDED: tuple[tuple[Generator, ...], ...] = (
    (index_keys, chosen_keys, hybrid, pooled),
    (heavily_pooled, state),
    (block_index,),
)
