"""The matrix products of a call: by the trace field that each makes, their sizes.

A product's multiply-adds for one sequence are the product of its sizes, contracted ones included.
Letters as in the einsum strings: t queries, s keys, h heads, g KV heads, d model, k head, r rope,
v value, c and l the latents.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields

from mla_engine import checks
from mla_engine.config import GroupedConfig, LatentConfig
from mla_engine.costs.sizes import Config, heads_held
from mla_engine.trace import AbsorbedTrace, GroupedTrace, LatentTrace

FORMS = ("expanded", "absorbed")
Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Sequences; tokens of each that are queries, that enter the cache, that are keys."""

    batch: int
    queries: int
    new: int
    keys: int


def products(
    config: Config, form: str, cache: str, heads: Iterable[int] | None, sizes: Sizes
) -> Shapes:
    """Trace field -> sizes of the product that makes it, in order of computation.

    Raises:
        ValueError: an unknown form, or "absorbed" without latents.
    """
    checks.choice("form", form, FORMS)
    if form == "absorbed" and cache == "kv":
        raise ValueError("form 'absorbed' needs the latents, which a 'kv' cache does not hold")
    n_heads, n_kv_heads = heads_held(config, heads)
    if isinstance(config, GroupedConfig):
        trace, made = GroupedTrace, _grouped(config, n_heads, n_kv_heads, sizes)
    elif form == "absorbed":
        trace = AbsorbedTrace
        made = _shared(config, n_heads, sizes) | _absorbed(config, n_heads, sizes)
    else:
        trace, up_projected = LatentTrace, sizes.keys if cache == "latent" else sizes.new
        made = _shared(config, n_heads, sizes) | _expanded(config, n_heads, sizes, up_projected)
    order = [field.name for field in fields(trace)]
    return {name: made[name] for name in order if math.prod(made.get(name, (0,)))}


def _grouped(config: GroupedConfig, h: int, g: int, sizes: Sizes) -> Shapes:
    t, s, new, d = sizes.queries, sizes.keys, sizes.new, config.d_model
    k, v = config.d_head, config.d_value
    return {
        "q_pre": (t, h, k, d),
        "k_pre": (new, g, k, d),
        "v": (new, g, v, d),
        "scores": (h, t, s, k),
        "o": (h, t, s, v),
        "u": (t, d, h, v),
    }


def _shared(config: LatentConfig, h: int, sizes: Sizes) -> Shapes:
    """Queries and latents: what both forms of MLA have in common."""
    t, new, d = sizes.queries, sizes.new, config.d_model
    source = config.d_latent_q or d
    return {
        "c_Q_pre": (t, config.d_latent_q or 0, d),
        "q_C": (t, h, config.d_head, source),
        "q_R_pre": (t, h, config.d_rope, source),
        "c_KV_pre": (new, config.d_latent_kv, d),
        "k_R_pre": (new, config.d_rope, d),
    }


def _expanded(config: LatentConfig, h: int, sizes: Sizes, up_projected: int) -> Shapes:
    t, s, c, v = sizes.queries, sizes.keys, config.d_latent_kv, config.d_value
    return {
        "k_C": (up_projected, h, config.d_head, c),
        "v_C": (up_projected, h, v, c),
        "scores_C": (h, t, s, config.d_head),
        "scores_R": (h, t, s, config.d_rope),
        "o": (h, t, s, v),
        "u": (t, config.d_model, h, v),
    }


def _absorbed(config: LatentConfig, h: int, sizes: Sizes) -> Shapes:
    t, s, c, v = sizes.queries, sizes.keys, config.d_latent_kv, config.d_value
    return {
        "q_C_absorbed": (t, h, config.d_head, c),
        "scores_C": (h, t, s, c),
        "scores_R": (h, t, s, config.d_rope),
        "o_latent": (h, t, s, c),
        "o": (t, h, v, c),
        "u": (t, config.d_model, h, v),
    }
