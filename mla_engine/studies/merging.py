"""Merging too much: all heads into one matrix, or an up-projection with its down-projection.

The first forgets that each head has attention of its own; the second that an RMSNorm stands
between the two, whose divisor depends on the token, so that no constant matrix holds it.
"""

from dataclasses import dataclass

from torch import Tensor, einsum

from kvcount import checks
from mla_engine.grouped import GroupedConfig, GroupedQueryAttention
from mla_engine.latent import LatentConfig, MultiHeadLatentAttention
from mla_engine.latent.absorption import require_no_gate
from mla_engine.studies.agreement import relative_error

__all__ = [
    "HeadsInOne",
    "PastTheNorm",
    "content_attention",
    "content_config",
    "heads_in_one",
    "past_the_norm",
]


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadsInOne:
    """The scores and outputs of one matrix for all heads, beside those of each head."""

    scores: Tensor  # scaled content logits of each head [b,h,t,s]
    scores_one: Tensor  # the only ones that W_UQ^T W_UK over all heads can give [b,t,s]
    u: Tensor  # [b,t,d]
    u_one: Tensor  # W_O W_UV over all heads, on the latents as head h mixes them [b,h,t,d]

    @property
    def scores_error(self) -> float:
        """Relative RMS error, the one map in the place of every head's."""
        return relative_error(self.scores_one.unsqueeze(1).expand_as(self.scores), self.scores)

    @property
    def sum_error(self) -> float:
        """Relative RMS distance of the one map from the sum of all heads' maps."""
        return relative_error(self.scores_one, self.scores.sum(1))

    @property
    def u_errors(self) -> list[float]:
        """Relative RMS error of the output, for each head whose mixing is taken."""
        return [relative_error(u, self.u) for u in self.u_one.unbind(1)]


def heads_in_one(mla: MultiHeadLatentAttention, h: Tensor) -> HeadsInOne:
    """Merge all heads of a layer into one W_QK [l,c] and one W_VO [d,c].

    Args:
        mla: the layer, with the heads it was built with.
        h: hidden states [b,t,d].

    Raises:
        ValueError, MemoryBudgetError: as the layer's call; an output gate between W_O and W_UV.
    """
    checks.kind("mla", mla, MultiHeadLatentAttention)
    require_no_gate(mla.config)
    trace, config = mla(h), mla.config
    source = h if trace.c_Q is None else trace.c_Q
    for_scores = mla.W_UQ.flatten(0, 1).T @ mla.W_UK.flatten(0, 1)
    for_output = mla.W_O.flatten(1) @ mla.W_UV.flatten(0, 1)
    scores_one = einsum("btl,lc,bsc->bts", source, for_scores, trace.c_KV)
    mixed = einsum("bhts,bsc->bhtc", trace.attention, trace.c_KV)
    return HeadsInOne(
        scores=trace.scores_C,
        scores_one=scores_one * (config.scale * config.q_latent_scale),
        u=trace.u,
        u_one=einsum("bhtc,dc->bhtd", mixed, for_output),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class PastTheNorm:
    """Keys and queries from one constant matrix, beside the right ones."""

    keys: Tensor  # k_C [b,s,h,k]
    keys_merged: Tensor  # (W_UK W_DKV) h [b,s,h,k]
    queries: Tensor  # q_C [b,t,h,k]
    queries_merged: Tensor | None  # (W_UQ W_DQ) h [b,t,h,k], None without query compression

    @property
    def key_error(self) -> float:
        """Relative RMS error of the keys."""
        return relative_error(self.keys_merged, self.keys)

    @property
    def query_error(self) -> float | None:
        """Relative RMS error of the queries."""
        merged = self.queries_merged
        return None if merged is None else relative_error(merged, self.queries)


def past_the_norm(mla: MultiHeadLatentAttention, h: Tensor) -> PastTheNorm:
    """Go from h to keys by W_UK W_DKV and to queries by W_UQ W_DQ, the norm left out.

    All that is constant is merged: the norm's weight and the latent scales too.

    Args:
        mla: the layer, with the heads it was built with.
        h: hidden states [b,t,d].

    Raises:
        ValueError, MemoryBudgetError: as the layer's call.
    """
    checks.kind("mla", mla, MultiHeadLatentAttention)
    trace, config = mla(h), mla.config
    keys = _straight(h, mla.W_UK, mla.c_KV_norm, mla.W_DKV, mla.b_DKV) * config.kv_latent_scale
    queries = None
    if mla.W_DQ is not None:
        queries = _straight(h, mla.W_UQ, mla.c_Q_norm, mla.W_DQ, mla.b_DQ) * config.q_latent_scale
    return PastTheNorm(keys=trace.k_C, keys_merged=keys, queries=trace.q_C, queries_merged=queries)


def _straight(
    h: Tensor, up: Tensor, norm: Tensor | None, down: Tensor, bias: Tensor | None
) -> Tensor:
    """Return (up diag(norm) down) h + up diag(norm) bias."""
    straight = einsum("btd,hkd->bthk", h, _through(up, norm, down))
    return straight if bias is None else straight + _through(up, norm, bias)


def _through(up: Tensor, norm: Tensor | None, down: Tensor) -> Tensor:
    """Return up diag(norm) down [h,k,d]; of a bias [c] in the place of down [h,k]."""
    return (up if norm is None else up * norm) @ down


def content_config(config: LatentConfig) -> GroupedConfig:
    """Return the MHA of `content_attention`: of the same heads, width and scale, not rotated."""
    names = ("d_model", "n_heads", "d_head", "d_value", "norm_eps", "bias")
    sizes = {name: getattr(config, name) for name in names}
    return GroupedConfig(**sizes, n_kv_heads=config.n_heads, softmax_scale=config.scale)


def content_attention(mla: MultiHeadLatentAttention) -> GroupedQueryAttention:
    """Build the MHA whose keys and values a layer's latents stand for, without norm and rotation.

    W_K is W_UK W_DKV and W_V is W_UV W_DKV, so that both have rank d_latent_kv together; what is
    constant is merged as in `past_the_norm`. Norms, rotary part and output gate are left out. It
    has the heads that the layer was built with.

    Raises:
        ValueError: not an MLA.
    """
    checks.kind("mla", mla, MultiHeadLatentAttention)
    config, kv = mla.config, mla.config.kv_latent_scale
    weights = {"W_Q": mla.W_UQ * config.q_latent_scale, "W_O": mla.W_O}
    if mla.W_DQ is not None:
        weights["W_Q"] = _through(weights["W_Q"], mla.c_Q_norm, mla.W_DQ)
    for name, up in (("W_K", mla.W_UK), ("W_V", mla.W_UV)):
        weights[name] = _through(up, mla.c_KV_norm, mla.W_DKV) * kv
    if config.bias:
        weights |= _content_biases(mla)
    placed = {"heads": mla.heads, "dtype": mla.dtype, "device": mla.device}
    return GroupedQueryAttention.of_weights(content_config(config), weights, **placed)


def _content_biases(mla: MultiHeadLatentAttention) -> dict[str, Tensor]:
    kv, biases = mla.config.kv_latent_scale, {"b_O": mla.b_O}
    for name, up in (("b_K", mla.W_UK), ("b_V", mla.W_UV)):
        biases[name] = _through(up, mla.c_KV_norm, mla.b_DKV) * kv
    biases["b_Q"] = mla.W_UQ.new_zeros(mla.W_UQ.shape[:2])
    if mla.b_DQ is not None:
        biases["b_Q"] = _through(mla.W_UQ, mla.c_Q_norm, mla.b_DQ) * mla.config.q_latent_scale
    return biases
