"""The part that both forms of MLA share: weights, and everything up to queries and latents."""

from typing import NamedTuple

from torch import Tensor

from mla_engine.latent.config import LatentConfig
from mla_engine.layer import AttentionLayer, Places
from mla_engine.ops import product, rms_norm, sigmoid
from mla_engine.rope import Turn, rotate, rotation
from mla_engine.weights import Weights


class Queries(NamedTuple):
    """The query side of a trace."""

    c_Q_pre: Tensor | None
    c_Q: Tensor | None
    q_C: Tensor
    q_R_pre: Tensor | None
    q_R: Tensor | None
    gate: Tensor | None


class Latents(NamedTuple):
    """The latents of a trace: c_KV and k_R are what a cache keeps."""

    c_KV_pre: Tensor | None
    c_KV: Tensor
    k_R_pre: Tensor | None
    k_R: Tensor | None


class LatentWeights(NamedTuple):
    """The weights that all heads share, and those of the chosen heads."""

    config: LatentConfig
    W_DQ: Tensor | None
    W_UQ: Tensor
    W_QR: Tensor | None
    W_DKV: Tensor
    W_KR: Tensor | None
    W_UK: Tensor
    W_UV: Tensor
    W_O: Tensor
    c_Q_norm: Tensor | None
    c_KV_norm: Tensor | None
    b_DQ: Tensor | None
    b_DKV: Tensor | None
    b_KR: Tensor | None
    b_O: Tensor | None
    W_OG: Tensor | None
    w_OG: Tensor | None


def queries_of(w: LatentWeights, h: Tensor, turn: Turn | None) -> Queries:
    """Make q_C, the rotated q_R, and the output gate of h [b,t,d]."""
    scale = w.config.q_latent_scale
    c_Q_pre = c_Q = q_R_pre = q_R = None
    if w.W_DQ is not None:
        c_Q_pre = _plus(product("btd,ld->btl", h, w.W_DQ), w.b_DQ)
        c_Q = normed(w.config, c_Q_pre, w.c_Q_norm)
    source = h if c_Q is None else c_Q  # without query compression l stands for d below
    q_C = _times(product("btl,hkl->bthk", source, w.W_UQ), scale)
    if w.W_QR is not None:
        q_R_pre = _times(product("btl,hrl->bthr", source, w.W_QR), scale)
        q_R = rotated(w.config, q_R_pre, turn)
    return Queries(c_Q_pre, c_Q, q_C, q_R_pre, q_R, gate_of(w, h))


def gate_of(w: LatentWeights, h: Tensor) -> Tensor | None:
    """Return the gate of each channel [b,t,h,v]; one a head is repeated for its channels."""
    if w.W_OG is not None:
        return sigmoid(product("btd,hvd->bthv", h, w.W_OG))
    if w.w_OG is not None:
        gate = sigmoid(product("btd,hd->bth", h, w.w_OG))
        return gate.unsqueeze(-1).expand(-1, -1, -1, w.config.d_value)
    return None


def latents_of(w: LatentWeights, h: Tensor, turn: Turn | None) -> Latents:
    """Make c_KV and the rotated k_R of h [b,s,d]."""
    k_R_pre = k_R = None
    c_KV_pre = _plus(product("bsd,cd->bsc", h, w.W_DKV), w.b_DKV)
    c_KV = _times(normed(w.config, c_KV_pre, w.c_KV_norm), w.config.kv_latent_scale)
    if w.W_KR is not None:
        k_R_pre = _plus(product("bsd,rd->bsr", h, w.W_KR), w.b_KR)
        k_R = rotated(w.config, k_R_pre, turn)
    return Latents(c_KV_pre, c_KV, k_R_pre, k_R)


def normed(config: LatentConfig, latent: Tensor, weight: Tensor | None) -> Tensor:
    """Return the RMSNorm of a latent, or the latent itself where the configuration has no norms."""
    return latent if weight is None else rms_norm(latent, weight, config.norm_eps)


def turn_of(config: LatentConfig, positions: Tensor) -> Turn | None:
    """Return the cosines and sines at these positions; None where nothing rotates."""
    rope = config.rotation
    return rope and rotation(rope, config.d_rope, positions)


def rotated(config: LatentConfig, x: Tensor, turn: Turn | None) -> Tensor:
    """Return a rotary query or key, turned."""
    return x if turn is None else rotate(x, *turn, config.rotation.pairing)


def _plus(x: Tensor, bias: Tensor | None) -> Tensor:
    return x if bias is None else x + bias


def _times(x: Tensor, scale: float) -> Tensor:
    return x if scale == 1 else x * scale


class LatentProjections(AttentionLayer):
    """The parameters of MLA.

    Parameters, as the paper writes them, [out, in], per head [h, out, in]: W_DKV [c,d],
    W_KR [r,d], W_UK [h,k,c], W_UV [h,v,c], W_DQ [l,d], W_UQ [h,k,l], W_QR [h,r,l], W_O [d,h,v],
    norms c_KV_norm [c], c_Q_norm [l], biases b_DQ [l], b_DKV [c], b_KR [r], b_O [d], and of an
    output gate W_OG [h,v,d] or w_OG [h,d]. Without query compression there is no W_DQ, and W_UQ is
    [h,k,d], W_QR [h,r,d]. What a configuration has not is None.
    """

    config_type = LatentConfig

    def _build(self, weights: Weights) -> None:
        c, heads = self.config, self.heads
        d_query = c.d_latent_q or c.d_model
        shared, per_head = weights.shared, weights.per_head
        self.W_DQ = self.W_QR = self.W_KR = None
        self.c_Q_norm = self.c_KV_norm = None
        self.b_DQ = self.b_DKV = self.b_KR = self.b_O = None
        if c.d_latent_q:
            self.W_DQ = shared("W_DQ", c.d_latent_q, c.d_model, fan_in=c.d_model)
        self.W_UQ = per_head("W_UQ", heads, c.d_head, d_query, fan_in=d_query)
        self.W_DKV = shared("W_DKV", c.d_latent_kv, c.d_model, fan_in=c.d_model)
        self.W_UK = per_head("W_UK", heads, c.d_head, c.d_latent_kv, fan_in=c.d_latent_kv)
        self.W_UV = per_head("W_UV", heads, c.d_value, c.d_latent_kv, fan_in=c.d_latent_kv)
        if c.d_rope:
            self.W_QR = per_head("W_QR", heads, c.d_rope, d_query, fan_in=d_query)
            self.W_KR = shared("W_KR", c.d_rope, c.d_model, fan_in=c.d_model)
        d_out = c.n_heads * c.d_value
        self.W_O = per_head("W_O", heads, c.d_model, c.d_value, fan_in=d_out, axis=1)
        if c.latent_norm:
            self.c_KV_norm = weights.ones(c.d_latent_kv)
            self.c_Q_norm = weights.ones(c.d_latent_q) if c.d_latent_q else None
        self.W_OG = self.w_OG = None
        if c.output_gate == "channel":
            self.W_OG = per_head("W_OG", heads, c.d_value, c.d_model, fan_in=c.d_model)
        elif c.output_gate == "head":
            self.w_OG = per_head("w_OG", heads, c.d_model, fan_in=c.d_model)
        if c.bias:
            self.b_DKV = shared("b_DKV", c.d_latent_kv, fan_in=c.d_model)
            self.b_O = shared("b_O", c.d_model, fan_in=d_out)
            self.b_DQ = shared("b_DQ", c.d_latent_q, fan_in=c.d_model) if c.d_latent_q else None
            self.b_KR = shared("b_KR", c.d_rope, fan_in=c.d_model) if c.d_rope else None

    def weights(self, heads: Places = slice(None)) -> LatentWeights:
        """Return the weights of the heads at these places among those built."""
        held = {name: getattr(self, name) for name in LatentWeights._fields}
        for name in ("W_UQ", "W_QR", "W_UK", "W_UV", "W_OG", "w_OG"):
            held[name] = None if held[name] is None else held[name][heads]
        return LatentWeights(**held | {"W_O": self.W_O[:, heads]})
