"""Questions on what is cached of every token."""

from dataclasses import replace
from random import Random

from mla_engine import costs
from mla_engine.claims.claim import MILLION, Figure
from mla_engine.grouped import GroupedConfig
from mla_engine.latent import LatentConfig
from mla_engine.presets import PRESETS
from mla_engine.quiz.question import Generator, Question, amounts, words

MODELS = (
    "deepseek-v2-lite",
    "deepseek-v2",
    "deepseek-v3",
    "kimi-k2",
    "minicpm3-4b",
    "glm-4.7-flash",
    "moonlight-16b-a3b",
    "mistral-small-4-119b",
)
BF16_BYTES = 2
GIB = 2**30


def sizes(preset: str) -> tuple[Figure, ...]:
    """Return a model's name and widths, as facts."""
    config = PRESETS[preset].config
    names = ("n_heads", "d_head", "d_value", "d_latent_kv", "d_rope")
    model = Figure("model", PRESETS[preset].name.split(" (")[0])
    return model, *(Figure(name, vars(config)[name]) for name in names)


def elements(rng: Random) -> Question:
    """Ask for the numbers per token and layer of an MLA model."""
    preset = rng.choice(MODELS)
    config = PRESETS[preset].config
    wrong = {
        "without_rope": config.d_latent_kv,
        "all_heads": costs.mha_cache_elements(config),
        "rope_per_head": config.d_latent_kv + config.n_heads * config.d_rope,
        "key_and_value": 2 * costs.cache_elements(config),
    }
    mixed = amounts(rng, costs.cache_elements(config), "latent_and_rope", wrong)
    return Question("elements", facts=sizes(preset), unit="elements", preset=preset, **mixed)


def own_heads(rng: Random) -> Question:
    """Ask for the numbers per token and layer if expanded keys and values are cached."""
    preset = rng.choice(MODELS)
    config = PRESETS[preset].config
    wrong = {
        "latent_and_rope": costs.cache_elements(config),
        "all_heads_without_rope": costs.mha_cache_elements(config),
        "key_alone": config.n_heads * (config.d_head + config.d_rope),
    }
    mixed = amounts(rng, costs.cache_elements(config, "kv"), "expanded_heads", wrong)
    return Question("own_heads", facts=sizes(preset), unit="elements", preset=preset, **mixed)


def whole_model(rng: Random) -> Question:
    """Ask for the bytes of all layers' caches at a context length."""
    preset, context = rng.choice(MODELS), rng.choice((8192, 32_768, 131_072))
    model = PRESETS[preset]
    per_token = costs.cache_bytes_per_token(model.config, BF16_BYTES)
    right = per_token * model.n_caches * context
    wrong = {
        "one_layer": per_token * context,
        "key_and_value": 2 * right,
        "all_heads": costs.mha_cache_elements(model.config)
        * BF16_BYTES * model.n_caches * context,
        "one_byte": right / 2,
    }  # fmt: skip
    facts = (*sizes(preset), Figure("layers", model.n_caches), Figure("context", context))
    mixed = amounts(rng, right, "latent_and_rope", wrong)
    return Question("whole_model", facts=facts, unit="bytes", preset=preset, **mixed)


def ratio(rng: Random) -> Question:
    """Ask how many times smaller the cache is than that of MHA with the same heads."""
    preset = rng.choice(MODELS)
    config = PRESETS[preset].config
    held = costs.cache_elements(config)
    wrong = {
        "without_rope": costs.mha_cache_elements(config) / config.d_latent_kv,
        "against_own_heads": costs.cache_elements(config, "kv") / held,
        "number_of_heads": config.n_heads,
        "key_alone": config.n_heads * config.d_head / held,
    }
    mixed = amounts(rng, costs.mha_cache_elements(config) / held, "latent_and_rope", wrong)
    return Question("ratio", facts=sizes(preset), unit="times", preset=preset, **mixed)


def grouped(rng: Random) -> Question:
    """Ask for the numbers per token of a GQA layer."""
    n_heads, d_head = rng.choice((32, 64, 96)), rng.choice((64, 128))
    groups = rng.choice((2, 4, 8))
    config = GroupedConfig(
        d_model=n_heads * d_head, n_heads=n_heads, n_kv_heads=groups, d_head=d_head
    )
    wrong = {
        "all_heads": costs.mha_cache_elements(config),
        "key_alone": groups * d_head,
        "one_head": 2 * d_head,
        "heads_of_a_group": 2 * n_heads // groups * d_head,
    }
    facts = (Figure("n_heads", n_heads), Figure("groups", groups), Figure("d_head", d_head))
    mixed = amounts(rng, costs.cache_elements(config), "kv_heads", wrong)
    return Question("grouped", facts=facts, unit="elements", **mixed)


def equivalent(rng: Random) -> Question:
    """Ask for the KV heads of a GQA layer with as large a cache."""
    preset = rng.choice(MODELS)
    config = PRESETS[preset].config
    right = costs.equivalent_kv_heads(config)
    wrong = {
        "number_of_heads": float(config.n_heads),
        "one_shared": 1.0,
        "key_alone": costs.cache_elements(config) / config.d_head,
        "eight_groups": 8.0,
    }
    mixed = amounts(rng, right, "half_for_values", wrong)
    return Question("equivalent", facts=sizes(preset), unit="heads", preset=preset, **mixed)


def rope_per_head(rng: Random) -> Question:
    """Ask for the cache if every head had a rotary key of its own."""
    preset = rng.choice(MODELS)
    config = PRESETS[preset].config
    latent = costs.cache_elements(replace(config, d_rope=0))
    wrong = {
        "latent_and_rope": costs.cache_elements(config),
        "without_rope": latent,
        "rope_twice": latent + 2 * config.d_rope,
        "expanded_heads": costs.cache_elements(config, "kv"),
    }
    mixed = amounts(rng, latent + config.n_heads * config.d_rope, "rope_per_head", wrong)
    return Question("rope_per_head", facts=sizes(preset), unit="elements", preset=preset, **mixed)


def per_gpu(rng: Random) -> Question:
    """Ask for the numbers that each GPU keeps of a token if several share the heads."""
    preset = rng.choice(MODELS)
    config = PRESETS[preset].config
    gpus = rng.choice([n for n in (2, 4, 8) if config.n_heads % n == 0])
    held = range(config.n_heads // gpus)
    wrong = {
        "split_latent": costs.cache_elements(config) / gpus,
        "split_heads": costs.mha_cache_elements(config) // gpus,
        "split_latent_alone": config.d_latent_kv // gpus + config.d_rope,
    }
    mixed = amounts(rng, costs.cache_elements(config, heads=held), "same_on_each", wrong)
    facts = (*sizes(preset), Figure("gpus", gpus))
    return Question("per_gpu", facts=facts, unit="elements", preset=preset, **mixed)


def longest(rng: Random) -> Question:
    """Ask for the tokens of context that a given memory holds."""
    preset, memory_gib = rng.choice(MODELS), rng.choice((4, 8, 16, 24))
    model = PRESETS[preset]
    per_token = costs.cache_bytes_per_token(model.config, BF16_BYTES) * model.n_caches
    mha = costs.mha_cache_elements(model.config) * BF16_BYTES * model.n_caches
    right, *others = (
        int(memory_gib * GIB // held)
        for held in (per_token, mha, per_token / model.n_caches, per_token / 2, 2 * per_token)
    )
    ways = ("all_heads", "one_layer", "one_byte", "key_and_value")
    wrong = dict(zip(ways, others, strict=True))
    facts = (*sizes(preset), Figure("memory", memory_gib * GIB, "bytes"))
    facts += (Figure("layers", model.n_caches), Figure("per_token", per_token, "bytes"))
    mixed = amounts(rng, right, "latent_and_rope", wrong)
    return Question("longest", facts=facts, unit="tokens", preset=preset, **mixed)


def query_latent(rng: Random) -> Question:
    """Ask what becomes of the cache if the query is compressed."""
    d_latent_q = rng.choice((768, 1024, 1536))
    plain = PRESETS["deepseek-v2-lite"].config
    configs = plain, replace(plain, d_latent_q=d_latent_q)
    before, after = map(costs.cache_elements, configs)
    weights = [_query_weights(config) / MILLION for config in configs]
    right = "smaller" if after < before else "larger" if after > before else "the_same"
    facts = (Figure("d_latent_q", d_latent_q), Figure("before", before), Figure("after", after))
    facts += (Figure("weights_before", weights[0], "M"), Figure("weights_after", weights[1], "M"))
    return Question(
        "query_latent",
        facts=facts,
        preset="deepseek-v2-lite",
        case="saves" if weights[1] < weights[0] else "costs",
        **words(("smaller", "the_same", "larger"), right),
    )


def _query_weights(config: LatentConfig) -> int:
    held = costs.weight_elements(config)
    return sum(held.get(name, 0) for name in ("W_DQ", "W_UQ", "W_QR"))


KINDS: tuple[Generator, ...] = (
    elements,
    own_heads,
    whole_model,
    ratio,
    grouped,
    equivalent,
    rope_per_head,
    per_gpu,
    longest,
    query_latent,
)
