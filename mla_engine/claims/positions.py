"""Statements on rotations and on the part of MLA that carries the position."""

from collections.abc import Iterable
from dataclasses import replace

from torch import Tensor

from mla_engine.claims.claim import Check, Figure, Verdict, judge, listed
from mla_engine.claims.layers import (
    NARROW_V3,
    PLAIN_QUERY_NO_ROPE,
    TOLERANCE,
    deviation,
    hidden,
    layer,
    turn,
)
from mla_engine.config import PAIRINGS, RopeConfig
from mla_engine.latent import LatentConfig

ROPE = RopeConfig()


def rotation_between(
    offsets: Iterable[int] = range(1, 9),
    rope: RopeConfig = ROPE,
    config: LatentConfig = PLAIN_QUERY_NO_ROPE,
) -> Verdict:
    """N3: W_q R_t (W_k R_i)^T of one head at several offsets t - i, each at two positions."""
    mla, width = layer(config), config.d_head

    def merged(t: int, i: int) -> Tensor:
        rotated_query = mla.W_UQ[0].T @ turn(rope, width, t)
        return rotated_query @ (mla.W_UK[0].T @ turn(rope, width, i)).T

    unrotated = merged(0, 0)
    changes = [deviation(merged(i, 0), unrotated) for i in offsets]
    moved = max(deviation(merged(i + 5, 5), merged(i, 0)) for i in offsets)
    figures = (
        Figure("smallest_change", min(changes)),
        Figure("largest_change", max(changes)),
        Figure("same_offset", moved),
    )
    return Verdict(judge(min(changes) > 1e-6 and moved < TOLERANCE), figures)


def rotated_dimensions(config: LatentConfig = NARROW_V3, shift: int = 9) -> Verdict:
    """T7: which of the dimensions of q and k change when all positions move on."""
    mla, h = layer(config), hidden(config)
    here, there = (mla(h, positions=range(start, start + h.shape[1])) for start in (0, shift))
    counts = {}
    for name in ("q_C", "k_C", "q_R", "k_R"):
        moved = getattr(here, name) != getattr(there, name)
        counts[name] = int(moved.flatten(0, -2).any(0).sum())
    plain = counts["q_C"] + counts["k_C"]
    figures = (
        Figure("plain_changed", plain),
        Figure("query_rotated", counts["q_R"]),
        Figure("key_rotated", counts["k_R"]),
    )
    return Verdict(judge(plain == 0 and counts["q_R"] == counts["k_R"] == 64), figures)


def relative_rotation(
    scaling: object = None, positions: Iterable[tuple[int, int]] = ((3, 1), (2, 7), (11, 4), (0, 9))
) -> Verdict:
    """S6: R_m R_n^T against R_(m-n), both pairings."""
    largest = 0.0
    for pairing in PAIRINGS:
        rope = RopeConfig(pairing=pairing, scaling=scaling)
        for m, n in positions:
            product = turn(rope, 8, m) @ turn(rope, 8, n).T
            largest = max(largest, deviation(product, turn(rope, 8, m - n)))
    figures = (Figure("largest", largest), Figure("pairings", listed(PAIRINGS)))
    return Verdict(judge(largest < TOLERANCE), figures)


def decoupled_rope(config: LatentConfig = NARROW_V3, tokens: int = 3) -> Verdict:
    """S7: shapes of the rotary parts, what they add to a real cache, and the published sizes."""
    h, plain = hidden(config, tokens), replace(config, d_rope=0)
    trace = layer(config)(h)
    held = [layer(c).compress(h).nbytes / h.itemsize / tokens for c in (config, plain)]
    sizes = (config.d_rope, config.d_head / 2, config.d_latent_kv)
    shared = trace.k_R.shape == (1, tokens, config.d_rope)
    per_head = trace.q_R.shape == (1, tokens, config.n_heads, config.d_rope)
    added = held[0] - held[1]
    holds = shared and per_head and added == config.d_rope and sizes == (64, 64, 512)
    figures = (
        Figure("d_rope", config.d_rope),
        Figure("d_head", config.d_head),
        Figure("d_latent_kv", config.d_latent_kv),
        Figure("added", int(added), "elements"),
        Figure("key_shape", listed(trace.k_R.shape)),
    )
    return Verdict(judge(holds), figures)


CHECKS: dict[str, Check] = {
    "N3": rotation_between,
    "T7": rotated_dimensions,
    "S6": relative_rotation,
    "S7": decoupled_rope,
}
