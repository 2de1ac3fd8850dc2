"""Statements of the worked example, against exact arithmetic on its own inputs."""

import torch

from mla_engine import worked_example
from mla_engine.claims.caches import held_elements
from mla_engine.claims.claim import Check, Figure, Verdict, judge, listed
from mla_engine.config import RopeConfig
from mla_engine.grouped import GroupedConfig
from mla_engine.latent import LatentConfig
from mla_engine.ops import softmax
from mla_engine.worked_example import Step


def _step(variant: str, key: str) -> Step:
    return next(step for step in worked_example.steps(variant) if step.key == key)


def odd_rotation(d_rope: int = 1) -> Verdict:
    """C10: whether a layer of the example's sizes with a rotation can be built."""
    sizes = {"d_model": 4, "n_heads": 2, "d_head": 2, "d_latent_kv": 2}
    answer = ""
    try:
        LatentConfig(d_rope=d_rope, rope=RopeConfig(), **sizes)
    except ValueError as error:
        answer = str(error)
    figures = (Figure("d_rope", d_rope), Figure("answer", answer or "accepted"))
    return Verdict(judge(not answer), figures)


def _follows(variant: str, inputs: dict[str, worked_example.Rows] | None) -> Verdict:
    """How many printed figures the inputs give; at least half would be true in part."""
    follow, printed = worked_example.printed_count(worked_example.steps(variant, inputs))
    figures = (Figure("follow", follow, "figures"), Figure("printed", printed, "figures"))
    return Verdict(judge(follow == printed, in_part=2 * follow >= printed), figures)


def mla_numbers(inputs: dict[str, worked_example.Rows] | None = None) -> Verdict:
    """C11: exact arithmetic on the MLA example."""
    return _follows("mla", inputs)


def mha_numbers(inputs: dict[str, worked_example.Rows] | None = None) -> Verdict:
    """C12: exact arithmetic on the MHA example, and figures it shares with the MLA example."""
    found = _follows("mha", inputs)
    pairs = (("q", "q_C"), ("k", "k_C"), ("v", "v_C"))
    alike = [
        _step("mha", plain).published == _step("mla", latent).published for plain, latent in pairs
    ]
    return Verdict(found.verdict, (*found.evidence, Figure("alike", sum(alike), "vectors")))


def example_cache(d_rope: int = 1, tokens: int = 2) -> Verdict:
    """C13: what real caches of the example's sizes hold, against the printed figures."""
    sizes = {"d_model": 4, "n_heads": 2, "d_head": 2}
    full = held_elements(GroupedConfig(n_kv_heads=2, **sizes), tokens)
    latent = LatentConfig(d_latent_kv=2, d_latent_q=2, d_rope=d_rope, rope=None, **sizes)
    small = held_elements(latent, tokens)
    keys = ("cache_mha", "cache_mla", "cache_ratio")
    printed = [float(_step("mla", key).printed(0, 0)) for key in keys]
    figures = (
        Figure("mha", full, "elements"),
        Figure("mla", small, "elements"),
        Figure("times", full / small, "times"),
        Figure("printed", listed(f"{figure:g}" for figure in printed)),
    )
    return Verdict(judge([full, small, full / small] == printed), figures)


def softmax_of_one(variant: str = "mla_completed") -> Verdict:
    """C14: weights of one key, whatever its score, and of the tokens that the example announces."""
    alone = softmax(torch.tensor([[-30.0], [0.021], [30.0]], dtype=torch.float64))
    rows = _step(variant, "attention").result.rows
    weights = [max(row) for row in rows]
    figures = (
        Figure("one_key", float(alone.min())),
        Figure("smallest", float(min(weights))),
        Figure("rows", len(rows)),
    )
    one_key = bool((alone == 1).all())
    return Verdict(judge(all(w == 1 for w in weights), in_part=one_key), figures)


CHECKS: dict[str, Check] = {
    "C10": odd_rotation,
    "C11": mla_numbers,
    "C12": mha_numbers,
    "C13": example_cache,
    "C14": softmax_of_one,
}
