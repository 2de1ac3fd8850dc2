"""The weights of grouped-query attention, and the way from h to queries, keys and values."""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from mla_engine.grouped.config import GroupedConfig
from mla_engine.layer import AttentionLayer, Places, places
from mla_engine.ops import product, rms_norm
from mla_engine.rope import Turn, rotate, rotation
from mla_engine.weights import Weights


class GroupedWeights(NamedTuple):
    """The weights of the chosen heads, and of the KV heads that these use."""

    config: GroupedConfig
    shared_by: Places  # for each head the place of its KV head
    W_Q: Tensor
    W_K: Tensor
    W_V: Tensor
    W_O: Tensor
    b_Q: Tensor | None
    b_K: Tensor | None
    b_V: Tensor | None
    b_O: Tensor | None
    q_norm: Tensor | None
    k_norm: Tensor | None
    sink: Tensor | None


class Keys(NamedTuple):
    """The key side of a trace: k and v are what a cache keeps."""

    k_pre: Tensor
    k: Tensor
    v: Tensor


def queries(w: GroupedWeights, h: Tensor, turn: Turn | None) -> tuple[Tensor, Tensor]:
    """Return q_pre and, normed and rotated, q [b,t,h,k]."""
    q_pre = product("btd,hkd->bthk", h, w.W_Q)
    if w.b_Q is not None:
        q_pre = q_pre + w.b_Q
    return q_pre, placed(w.config, q_pre, w.q_norm, turn)


def keys(w: GroupedWeights, h: Tensor, turn: Turn | None) -> Keys:
    """Return k_pre, the normed and rotated k [b,s,g,k], and v [b,s,g,v]."""
    k_pre = product("bsd,gkd->bsgk", h, w.W_K)
    v = product("bsd,gvd->bsgv", h, w.W_V)
    return finished(w, k_pre, v, turn)


def finished(w: GroupedWeights, k_pre: Tensor, v: Tensor, turn: Turn | None) -> Keys:
    """Finish keys and values from products of weights and h: add biases, norm and rotate."""
    if w.b_K is not None:
        k_pre, v = k_pre + w.b_K, v + w.b_V
    return Keys(k_pre, placed(w.config, k_pre, w.k_norm, turn), v)


def turn_of(config: GroupedConfig, positions: Tensor) -> Turn | None:
    """Return the cosines and sines at these positions; None where nothing rotates."""
    return config.rope and rotation(config.rope, config.d_rotated or config.d_head, positions)


def placed(config: GroupedConfig, x: Tensor, norm: Tensor | None, turn: Turn | None) -> Tensor:
    """Norm, then rotate, queries or keys [b,t,h,k]."""
    if norm is not None:
        x = rms_norm(x, norm, config.norm_eps)
    if turn is None:
        return x
    if config.d_rotated is None:
        return rotate(x, *turn, config.rope.pairing)
    first, still = x[..., : config.d_rotated], x[..., config.d_rotated :]
    return torch.cat((rotate(first, *turn, config.rope.pairing), still), dim=-1)


def kv_heads_of(config: GroupedConfig, heads: Iterable[int]) -> tuple[int, ...]:
    """Return the KV heads that these heads read, in order of first use."""
    group_size = config.group_size
    return tuple(dict.fromkeys([head // group_size for head in heads]))


def shared_places(config: GroupedConfig, heads: Iterable[int]) -> Places:
    """Return the place of each head's KV head among theirs; where each has its own, a slice."""
    return places([head // config.group_size for head in heads], kv_heads_of(config, heads))


class GroupedProjections(AttentionLayer):
    """The parameters of grouped-query attention.

    Parameters: W_Q [h,k,d], W_K [g,k,d], W_V [g,v,d], W_O [d,h,v]; biases b_Q [h,k], b_K [g,k],
    b_V [g,v], b_O [d]; QK norms q_norm, k_norm [k]; the sinks' logits sink [h]. What a
    configuration has not is None. A layer of some heads has the KV heads that these use,
    `kv_heads`, in order of first use.
    """

    config_type = GroupedConfig

    def _build(self, weights: Weights) -> None:
        c, heads = self.config, self.heads
        kv_heads = self.kv_heads
        per_head, d_out = weights.per_head, c.n_heads * c.d_value
        self.W_Q = per_head("W_Q", heads, c.d_head, c.d_model, fan_in=c.d_model)
        self.W_K = per_head("W_K", kv_heads, c.d_head, c.d_model, fan_in=c.d_model)
        self.W_V = per_head("W_V", kv_heads, c.d_value, c.d_model, fan_in=c.d_model)
        self.W_O = per_head("W_O", heads, c.d_model, c.d_value, fan_in=d_out, axis=1)
        self.b_Q = self.b_K = self.b_V = self.b_O = self.q_norm = self.k_norm = None
        if c.bias:
            self.b_Q = per_head("b_Q", heads, c.d_head, fan_in=c.d_model)
            self.b_K = per_head("b_K", kv_heads, c.d_head, fan_in=c.d_model)
            self.b_V = per_head("b_V", kv_heads, c.d_value, fan_in=c.d_model)
            self.b_O = weights.shared("b_O", c.d_model, fan_in=d_out)
        if c.qk_norm:
            self.q_norm, self.k_norm = weights.ones(c.d_head), weights.ones(c.d_head)
        self.sink = weights.zeros(len(heads)) if c.sinks else None

    @property
    def kv_heads(self) -> tuple[int, ...]:
        """The KV heads that these heads use, in order of first use."""
        return kv_heads_of(self.config, self.heads)

    def weights(self, heads: Places = slice(None)) -> GroupedWeights:
        """Return the weights of the heads at these places among those built."""
        chosen = self._global(heads)
        kv = places(kv_heads_of(self.config, chosen), among=self.kv_heads)
        b_Q, b_K, b_V = self.b_Q, self.b_K, self.b_V
        if self.config.bias:
            b_Q, b_K, b_V = b_Q[heads], b_K[kv], b_V[kv]
        return GroupedWeights(
            config=self.config,
            shared_by=shared_places(self.config, chosen),
            W_Q=self.W_Q[heads],
            W_K=self.W_K[kv],
            W_V=self.W_V[kv],
            W_O=self.W_O[:, heads],
            b_Q=b_Q,
            b_K=b_K,
            b_V=b_V,
            b_O=self.b_O,
            q_norm=self.q_norm,
            k_norm=self.k_norm,
            sink=None if self.sink is None else self.sink[heads],
        )
