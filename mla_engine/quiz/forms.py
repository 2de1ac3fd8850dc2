"""Questions that a run of a small layer answers."""

from dataclasses import replace
from random import Random

import torch
from torch import einsum

from mla_engine import claims
from mla_engine.claims.claim import Figure
from mla_engine.claims.layers import GQA, MLA, NORMED, TOLERANCE, deviation, hidden, layer
from mla_engine.presets import PRESETS
from mla_engine.quiz.caches import MODELS, sizes
from mla_engine.quiz.question import Generator, Question, amounts, words

TENSORS = ("q_R", "k_R", "scores_R", "attention", "u")


def absorbed_width(rng: Random) -> Question:
    """Ask for the numbers in the absorbed query of one head, read off a run without data."""
    preset = rng.choice(MODELS)
    config = PRESETS[preset].config
    h = torch.empty(1, 2, config.d_model, dtype=torch.float64, device="meta")
    trace = layer(replace(config, n_heads=1), "meta").forward_absorbed(h)
    wrong = {
        "expanded_width": config.d_head + config.d_rope,
        "without_rope": config.d_latent_kv,
        "latent_twice": 2 * config.d_latent_kv,
    }
    right = trace.q_C_absorbed.shape[-1] + trace.q_R.shape[-1]
    mixed = amounts(rng, right, "absorbed_width", wrong)
    return Question("absorbed_width", facts=sizes(preset), unit="elements", preset=preset, **mixed)


def scale(rng: Random) -> Question:
    """Ask what the absorbed form divides its scores by, in a model without YaRN."""
    preset = rng.choice(MODELS)
    config = PRESETS[preset].config
    config = replace(config, softmax_scale=None, rope=replace(config.rope, scaling=None))
    wrong = {
        "width_of_absorbed": (config.d_latent_kv + config.d_rope) ** 0.5,
        "width_of_latent": config.d_latent_kv**0.5,
        "without_rope": config.d_head**0.5,
    }
    mixed = amounts(rng, 1 / config.scale, "expanded_width", wrong)
    return Question("scale", facts=sizes(preset), preset=preset, **mixed)


def shifted(rng: Random) -> Question:
    """Ask what changes if all positions move on by as much."""
    shift, tokens = rng.randint(3, 500), 6
    mla, h = layer(MLA), hidden(MLA, tokens)
    here, there = (mla(h, positions=range(start, start + tokens)) for start in (0, shift))
    change = {n: deviation(getattr(there, n), getattr(here, n)) for n in TENSORS}
    moved = tuple(n for n, by in change.items() if by > 1e3 * TOLERANCE)
    outcomes = {(): "nothing", ("q_R", "k_R"): "rotary_parts", TENSORS: "everything"}
    facts = (
        Figure("shift", shift),
        *(Figure(name, by, "difference") for name, by in change.items()),
    )
    options = ("nothing", "rotary_parts", "scores_too", "everything")
    mixed = words(options, outcomes.get(moved, "scores_too"))
    return Question("shifted", facts=facts, **mixed)


def stacked_heads(rng: Random) -> Question:
    """Ask what one matrix W_UQ^T W_UK over all heads gives in place of each head's scores."""
    n_heads = rng.choice((2, 3, 4, 8))
    config = replace(MLA, n_heads=n_heads)
    mla = layer(config)
    trace = mla(hidden(config))
    one_matrix = mla.W_UQ.flatten(0, 1).T @ mla.W_UK.flatten(0, 1)
    given = einsum("btl,lc,bsc->bts", trace.c_Q, one_matrix, trace.c_KV)
    each = einsum("bthk,bshk->bhts", trace.q_C, trace.k_C)
    off = {
        "each": min(deviation(given, each[:, head]) for head in range(n_heads)),
        "mean": deviation(given, each.mean(1)),
        "sum": deviation(given, each.sum(1)),
        "largest": deviation(given, each.amax(1)),
    }
    facts = (
        Figure("n_heads", n_heads),
        *(Figure(name, by, "difference") for name, by in off.items()),
    )
    return Question(
        "stacked_heads",
        facts=facts,
        **words(tuple(rng.sample(tuple(off), len(off))), min(off, key=off.get)),
    )


def norm_between(rng: Random) -> Question:
    """Ask whether W_UK W_DKV can be multiplied beforehand, with the norm or without."""
    normed = rng.choice((True, False))
    config = replace(NORMED, latent_norm=normed, n_heads=rng.choice((2, 4)))
    mla, h = layer(config), hidden(config)
    straight = einsum("bsd,hkc,cd->bshk", h, mla.W_UK, mla.W_DKV)
    off = deviation(straight, mla(h).k_C)
    norm = "with_norm" if normed else "without_norm"
    facts = (Figure("norm", norm, "word"), Figure("off", off, "difference"))
    right = "equal_keys" if off < TOLERANCE else "other_keys"
    mixed = words(("equal_keys", "other_keys"), right)
    return Question("norm_between", facts=facts, case=norm, **mixed)


def head_of_group(rng: Random) -> Question:
    """Ask which query heads read the same keys, found by changing one key head."""
    n_heads, groups = rng.choice(((8, 2), (8, 4), (6, 3), (12, 4), (12, 3)))
    config = replace(GQA, n_heads=n_heads, n_kv_heads=groups)
    head = rng.randrange(n_heads)
    gqa, h = layer(config), hidden(config)
    before = gqa(h).o
    gqa.W_V[head // config.group_size] += 1
    moved = (gqa(h).o - before).abs().amax((0, 1, 3)) > 0
    right = ", ".join(str(i) for i in range(n_heads) if moved[i])
    per_group = n_heads // groups
    wrong = {
        ", ".join(str(i) for i in range(head % groups, n_heads, groups)),
        str(head),
        ", ".join(map(str, range(n_heads))),
    } - {right}
    options = tuple(sorted({right, *wrong}, key=lambda option: (len(option), option)))
    facts = (Figure("n_heads", n_heads), Figure("groups", groups), Figure("head", head))
    facts += (Figure("per_group", per_group),)
    return Question("head_of_group", facts=facts, **words(options, right) | {"unit": "text"})


def kept(rng: Random) -> Question:
    """Ask which tensors the latent cache holds, compared with a trace."""
    tokens = rng.randint(3, 9)
    mla, h = layer(NORMED), hidden(NORMED, tokens)
    trace, cache = mla(h), mla.compress(h)
    latent = "c_KV" if torch.equal(cache.c_KV, trace.c_KV) else "c_KV_pre"
    key = "k_R" if torch.equal(cache.k_R, trace.k_R) else "k_R_pre"
    options = ("c_KV_pre, k_R_pre", "c_KV_pre, k_R", "c_KV, k_R_pre", "c_KV, k_R")
    off = deviation(trace.c_KV_pre, trace.c_KV), deviation(trace.k_R_pre, trace.k_R)
    facts = (
        Figure("tokens", tokens),
        Figure("by_norm", off[0], "difference"),
        Figure("by_rotation", off[1], "difference"),
    )
    mixed = words(tuple(rng.sample(options, len(options))), f"{latent}, {key}")
    return Question("kept", facts=facts, **mixed | {"unit": "tensors"})


def forms_agree(rng: Random) -> Question:
    """Ask how far the two forms' outputs differ."""
    config = replace(MLA, n_heads=rng.choice((2, 4, 6)), d_latent_kv=rng.choice((8, 12)))
    mla, h = layer(config), hidden(config)
    off = deviation(mla.forward_absorbed(h).u, mla(h).u)
    right = "by_rounding" if off < TOLERANCE else "visibly"
    facts = (Figure("off", off, "difference"), Figure("n_heads", config.n_heads))
    options = ("bit_for_bit", "by_rounding", "visibly")
    return Question(
        "forms_agree", facts=facts, **words(options, "bit_for_bit" if not off else right)
    )


def example_ratio(rng: Random) -> Question:
    """Ask for the cache of the published worked example, counted."""
    tokens = rng.choice((2, 3, 4))
    counted = claims.check("C13", tokens=tokens)
    full, held = counted.value("mha"), counted.value("mla")
    wrong = {"without_rope": full / (2 * tokens), "key_alone": full / 2 / held, "as_many": 1.0}
    facts = (Figure("tokens", tokens), Figure("mha", full), Figure("mla", held))
    facts += (Figure("printed", counted.value("printed").split(", ")[-1]),)
    mixed = amounts(rng, counted.value("times"), "latent_and_rope", wrong)
    return Question("example_ratio", facts=facts, unit="times", **mixed)


def statement(rng: Random) -> Question:
    """Ask for the verdict on a statement of a source."""
    claim = rng.choice(sorted(claims.CLAIMS))
    verdict = claims.check(claim).verdict.replace(" ", "_")
    options = tuple(v.replace(" ", "_") for v in claims.VERDICTS)
    facts = (Figure("claim", claim),)
    return Question("statement", facts=facts, **words(options, verdict) | {"unit": "verdict"})


KINDS: tuple[Generator, ...] = (
    absorbed_width,
    scale,
    shifted,
    stacked_heads,
    norm_between,
    head_of_group,
    kept,
    forms_agree,
    example_ratio,
    statement,
)
