"""What the two forms of MLA share: the weights, and everything up to queries and latents."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor, einsum

from mla_engine.config import LatentConfig
from mla_engine.layer import AttentionLayer, position_numbers
from mla_engine.ops import rms_norm
from mla_engine.rope import Turn, rotate, rotation
from mla_engine.weights import Weights


class Queries(NamedTuple):
    """The query side of a trace."""

    c_Q_pre: Tensor | None
    c_Q: Tensor | None
    q_C: Tensor
    q_R_pre: Tensor | None
    q_R: Tensor | None


class Latents(NamedTuple):
    """The latents of a trace: c_KV and k_R are what a cache keeps."""

    c_KV_pre: Tensor | None
    c_KV: Tensor
    k_R_pre: Tensor | None
    k_R: Tensor | None


class HeadWeights(NamedTuple):
    """The per-head weights of the chosen heads."""

    W_UQ: Tensor
    W_QR: Tensor | None
    W_UK: Tensor
    W_UV: Tensor
    W_O: Tensor


class LatentProjections(AttentionLayer):
    """The parameters of MLA, and the way from h to queries and latents.

    Parameters, as the paper writes them, [out, in], per head [h, out, in]: W_DKV [c,d],
    W_KR [r,d], W_UK [h,k,c], W_UV [h,v,c], W_DQ [l,d], W_UQ [h,k,l], W_QR [h,r,l], W_O [d,h,v],
    norms c_KV_norm [c], c_Q_norm [l], biases b_DQ [l], b_DKV [c], b_KR [r], b_O [d]. Without query
    compression there is no W_DQ, and W_UQ is [h,k,d], W_QR [h,r,d]. What a configuration has not
    is None.
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
        if c.bias:
            self.b_DKV = shared("b_DKV", c.d_latent_kv, fan_in=c.d_model)
            self.b_O = shared("b_O", c.d_model, fan_in=d_out)
            self.b_DQ = shared("b_DQ", c.d_latent_q, fan_in=c.d_model) if c.d_latent_q else None
            self.b_KR = shared("b_KR", c.d_rope, fan_in=c.d_model) if c.d_rope else None

    def _positions(
        self, positions: Tensor | Sequence[int] | None, h: Tensor, start: int = 0
    ) -> Tensor:
        """`position_numbers`, none of them at or beyond the configuration's limit."""
        numbers = position_numbers(positions, h, start)
        limit = self.config.position_limit
        if limit is not None and numbers.max() >= limit:
            raise ValueError(
                f"positions reach {int(numbers.max())}, but from position_limit ({limit}) on the "
                "model does what this layer does not: give earlier positions"
            )
        return numbers

    def _queries(self, h: Tensor, turn: Turn | None, weights: HeadWeights) -> Queries:
        scale = self.config.q_latent_scale
        c_Q_pre = c_Q = q_R_pre = q_R = None
        if self.W_DQ is not None:
            c_Q_pre = _plus(einsum("btd,ld->btl", h, self.W_DQ), self.b_DQ)
            c_Q = self._normed(c_Q_pre, self.c_Q_norm)
        source = h if c_Q is None else c_Q  # without query compression l stands for d below
        q_C = _times(einsum("btl,hkl->bthk", source, weights.W_UQ), scale)
        if weights.W_QR is not None:
            q_R_pre = _times(einsum("btl,hrl->bthr", source, weights.W_QR), scale)
            q_R = self._rotated(q_R_pre, turn)
        return Queries(c_Q_pre, c_Q, q_C, q_R_pre, q_R)

    def _latents(self, h: Tensor, turn: Turn | None) -> Latents:
        k_R_pre = k_R = None
        c_KV_pre = _plus(einsum("bsd,cd->bsc", h, self.W_DKV), self.b_DKV)
        c_KV = _times(self._normed(c_KV_pre, self.c_KV_norm), self.config.kv_latent_scale)
        if self.W_KR is not None:
            k_R_pre = _plus(einsum("bsd,rd->bsr", h, self.W_KR), self.b_KR)
            k_R = self._rotated(k_R_pre, turn)
        return Latents(c_KV_pre, c_KV, k_R_pre, k_R)

    def _normed(self, latent: Tensor, weight: Tensor | None) -> Tensor:
        return latent if weight is None else rms_norm(latent, weight, self.config.norm_eps)

    def _turn(self, positions: Tensor) -> Turn | None:
        rope = self.config.rotation
        return rope and rotation(rope, self.config.d_rope, positions)

    def _rotated(self, x: Tensor, turn: Turn | None) -> Tensor:
        return x if turn is None else rotate(x, *turn, self.config.rotation.pairing)

    def _of_heads(self, local: slice | list[int]) -> HeadWeights:
        W_QR = None if self.W_QR is None else self.W_QR[local]
        W_UQ, W_UK, W_UV = self.W_UQ[local], self.W_UK[local], self.W_UV[local]
        return HeadWeights(W_UQ, W_QR, W_UK, W_UV, self.W_O[:, local])


def _plus(x: Tensor, bias: Tensor | None) -> Tensor:
    return x if bias is None else x + bias


def _times(x: Tensor, scale: float) -> Tensor:
    return x if scale == 1 else x * scale
