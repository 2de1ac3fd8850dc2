"""Questions on parameters, multiply-adds and bytes read."""

from random import Random

from mla_engine import costs
from mla_engine.claims.claim import MILLION, Figure
from mla_engine.presets import PRESETS
from mla_engine.quiz.caches import MODELS, sizes
from mla_engine.quiz.question import Generator, Question, amounts, words

# form and cache of one decoding step
WAYS = {
    "absorbed": ("absorbed", "latent"),
    "latent_expanded": ("expanded", "latent"),
    "expanded_heads": ("expanded", "kv"),
}
COMPRESSED = tuple(key for key in MODELS if PRESETS[key].config.d_latent_q)


def _steps(preset: str, context: int) -> dict[str, costs.Cost]:
    config = PRESETS[preset].config
    return {
        way: costs.decode(config, context, form, cache=cache) for way, (form, cache) in WAYS.items()
    }


def bytes_read(rng: Random) -> Question:
    """Ask which way of decoding moves the fewest bytes."""
    preset, context = rng.choice(MODELS), rng.choice((4096, 32_768, 131_072))
    moved = {way: cost.total_bytes for way, cost in _steps(preset, context).items()}
    facts = (*sizes(preset), Figure("context", context))
    facts += tuple(Figure(way, amount, "bytes") for way, amount in moved.items())
    mixed = words(tuple(rng.sample(tuple(WAYS), len(WAYS))), min(moved, key=moved.get))
    return Question("bytes_read", facts=facts, preset=preset, **mixed)


def flops_of_a_step(rng: Random) -> Question:
    """Ask which way of decoding computes the most."""
    preset, context = rng.choice(MODELS), rng.choice((1024, 8192, 65_536))
    done = {way: cost.total_flops / 1e9 for way, cost in _steps(preset, context).items()}
    facts = (*sizes(preset), Figure("context", context))
    facts += tuple(Figure(way, amount, "GFLOP") for way, amount in done.items())
    mixed = words(tuple(rng.sample(tuple(WAYS), len(WAYS))), max(done, key=done.get))
    return Question("flops_of_a_step", facts=facts, preset=preset, **mixed)


def prefill_form(rng: Random) -> Question:
    """Ask which form computes less over a whole prompt."""
    preset, tokens = rng.choice(MODELS), rng.choice((1024, 4096, 16_384))
    config = PRESETS[preset].config
    done = {
        f"{form}_form": costs.prefill(config, tokens, form).total_flops / 1e12
        for form in ("expanded", "absorbed")
    }
    facts = (*sizes(preset), Figure("tokens", tokens))
    facts += tuple(Figure(form, amount, "TFLOP") for form, amount in done.items())
    mixed = words(tuple(done), min(done, key=done.get))
    return Question("prefill_form", facts=facts, preset=preset, **mixed)


def crossover(rng: Random) -> Question:
    """Ask up to how many queries the absorbed form computes less over a long context."""
    preset = rng.choice(MODELS)
    config = PRESETS[preset].config
    wrong = {
        "one_token": 1,
        "width_of_latent": config.d_latent_kv,
        "number_of_heads": config.n_heads,
        "ten_times": 10 * round(costs.crossover_queries(config)),
    }
    mixed = amounts(rng, round(costs.crossover_queries(config)), "balance", wrong)
    return Question("crossover", facts=sizes(preset), unit="tokens", preset=preset, **mixed)


def intensity(rng: Random) -> Question:
    """Ask for the FLOP per byte of the absorbed attention over a long cache."""
    preset = rng.choice(MODELS)
    config, context = PRESETS[preset].config, 131_072
    cost = costs.decode(config, context)
    right = cost.attention_flops / (cost.cache_read_bytes + cost.cache_written_bytes)
    wrong = {
        "one_shared": right / config.n_heads,
        "one_byte": 2 * right,
        "forgot_values": right * (config.d_latent_kv + config.d_rope)
        / (2 * config.d_latent_kv + config.d_rope),
        "number_of_heads": 4 * config.n_heads,
    }  # fmt: skip
    mixed = amounts(rng, right, "heads_share_a_read", wrong)
    return Question("intensity", facts=sizes(preset), unit="FLOP/byte", preset=preset, **mixed)


def weights(rng: Random) -> Question:
    """Ask for the largest matrix of an attention layer."""
    preset = rng.choice(COMPRESSED)
    held = costs.weight_elements(PRESETS[preset].config)
    matrices = {n: size for n, size in held.items() if n.startswith("W_")}
    options = ("W_DKV", "W_UK", "W_UQ", "W_O")
    facts = (*sizes(preset), Figure("total", sum(held.values()) / MILLION, "M"))
    facts += tuple(Figure(name, matrices[name] / MILLION, "M") for name in options)
    mixed = words(options, max(options, key=matrices.get))
    return Question("weights", facts=facts, preset=preset, **mixed)


def merged(rng: Random) -> Question:
    """Ask for the entries of the merged score matrices against those of their two factors."""
    preset = rng.choice(COMPRESSED)
    config = PRESETS[preset].config
    held = costs.weight_elements(config)
    factors = held["W_UQ"] + held["W_UK"]
    entries = config.n_heads * config.d_latent_q * config.d_latent_kv
    wrong = {
        "one_matrix_for_all": entries / config.n_heads / factors,
        "as_many": 1.0,
        "number_of_heads": float(config.n_heads),
        "half_as_many": 0.5,
    }
    facts = (*sizes(preset), Figure("d_latent_q", config.d_latent_q))
    facts += (Figure("entries", entries / MILLION, "M"), Figure("factors", factors / MILLION, "M"))
    mixed = amounts(rng, entries / factors, "one_per_head", wrong)
    return Question("merged", facts=facts, unit="times", preset=preset, **mixed)


KINDS: tuple[Generator, ...] = (
    bytes_read,
    flops_of_a_step,
    prefill_form,
    crossover,
    intensity,
    weights,
    merged,
)
