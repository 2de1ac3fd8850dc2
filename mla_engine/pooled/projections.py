"""The weights of attention over a window and pooled entries, and the way to queries and keys."""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mla_engine.layer import AttentionLayer, Places, places
from mla_engine.ops import product, rms_norm
from mla_engine.pooled.config import PooledConfig
from mla_engine.pooled.pooling import PoolWeights
from mla_engine.rope import Turn, rotate, rotation
from mla_engine.weights import Weights


class PooledWeights(NamedTuple):
    """The weights that all heads share, and those of the chosen heads."""

    config: PooledConfig
    groups: tuple[Places, ...]  # where the heads of each of their output groups stand
    W_DQ: Tensor
    c_Q_norm: Tensor
    W_UQ: Tensor
    W_T: Tensor
    kv_T_norm: Tensor
    sink: Tensor
    W_DO: Tensor
    W_UO: Tensor


class Queries(NamedTuple):
    """The query side of a trace."""

    c_Q_pre: Tensor
    c_Q: Tensor
    q_pre: Tensor
    q_normed: Tensor
    q: Tensor


class Tokens(NamedTuple):
    """Each token as the queries of the window see it: kv_T is key and value in one."""

    kv_T_pre: Tensor
    kv_T_normed: Tensor
    kv_T: Tensor


def groups_of(config: PooledConfig, heads: Iterable[int]) -> tuple[int, ...]:
    """Return the output groups that heads belong to, each once, in order."""
    return tuple(sorted({head // config.group_size for head in heads}))


def queries_of(w: PooledWeights, h: Tensor, turn: Turn | None) -> Queries:
    """Make q [b,t,h,k] of h [b,t,d], normed per head without a weight, its last part rotated."""
    c_Q_pre = product("btd,ld->btl", h, w.W_DQ)
    c_Q = rms_norm(c_Q_pre, w.c_Q_norm, w.config.norm_eps)
    q_pre = product("btl,hkl->bthk", c_Q, w.W_UQ)
    q_normed = rms_norm(q_pre, q_pre.new_ones(()), w.config.norm_eps)
    return Queries(c_Q_pre, c_Q, q_pre, q_normed, last_rotated(w.config, q_normed, turn))


def tokens_of(w: PooledWeights, h: Tensor, turn: Turn | None) -> Tokens:
    """Make kv_T [b,s,k] of h [b,s,d], one for all heads."""
    pre = product("bsd,kd->bsk", h, w.W_T)
    normed = rms_norm(pre, w.kv_T_norm, w.config.norm_eps)
    return Tokens(pre, normed, last_rotated(w.config, normed, turn))


def turn_of(config: PooledConfig, positions: Tensor) -> Turn | None:
    """Return the cosines and sines at these positions; None where nothing rotates."""
    rope = config.rotation
    return rope and rotation(rope, config.d_rope, positions)


def last_rotated(config: PooledConfig, x: Tensor, turn: Turn | None) -> Tensor:
    """Return the last d_rope of each vector turned, the rest as it is."""
    if turn is None:
        return x
    still, last = x.tensor_split((x.shape[-1] - config.d_rope,), dim=-1)
    return torch.cat((still, rotate(last, *turn, config.rope.pairing)), dim=-1)


def turned_back(config: PooledConfig, x: Tensor, turn: Turn | None) -> Tensor:
    """Return the last d_rope of each vector turned the other way."""
    return last_rotated(config, x, turn and (turn[0], -turn[1]))


class PooledProjections(AttentionLayer):
    """The parameters of attention over a window and pooled entries.

    Parameters: W_DQ [l,d], c_Q_norm [l], W_UQ [h,k,l]; W_T [k,d], kv_T_norm [k]; sink [h];
    W_DO [h,z,v], W_UO [d,y,z] of the groups that the heads belong to. Where tokens are pooled: W_E
    and W_Z [a,k,d], b_Z [a,m,k], kv_E_norm [k]. Where an indexer chooses: W_IQ [j,x,l], W_IW [j,d],
    W_IE and W_IZ [a,x,d], b_IZ [a,m,x], k_E_norm [x]. What a configuration has not is None.
    """

    config_type = PooledConfig

    def _build(self, weights: Weights) -> None:
        c, heads, shared = self.config, self.heads, weights.shared
        self.W_DQ = shared("W_DQ", c.d_latent_q, c.d_model, fan_in=c.d_model)
        self.c_Q_norm = weights.ones(c.d_latent_q)
        self.W_UQ = weights.per_head("W_UQ", heads, c.d_head, c.d_latent_q, fan_in=c.d_latent_q)
        self.W_T = shared("W_T", c.d_head, c.d_model, fan_in=c.d_model)
        self.kv_T_norm = weights.ones(c.d_head)
        self.sink = weights.zeros(len(heads))
        of_group = c.group_size * c.d_head
        self.W_DO = weights.per_head("W_DO", heads, c.d_latent_o, c.d_head, fan_in=of_group)
        self.W_UO = weights.per_head(
            "W_UO",
            self.output_groups,
            c.d_model,
            c.d_latent_o,
            fan_in=c.n_output_groups * c.d_latent_o,
            axis=1,
        )
        of_keys = self._pool(weights, "", c.d_head) if c.pooling else (None,) * 4
        self.W_E, self.W_Z, self.b_Z, self.kv_E_norm = of_keys
        of_index = self._pool(weights, "I", c.d_index) if c.chooses else (None,) * 4
        self.W_IE, self.W_IZ, self.b_IZ, self.k_E_norm = of_index
        self.W_IQ = self.W_IW = None
        if c.chooses:
            j = c.n_index_heads
            self.W_IQ = shared("W_IQ", j, c.d_index, c.d_latent_q, fan_in=c.d_latent_q)
            self.W_IW = shared("W_IW", j, c.d_model, fan_in=c.d_model)

    def _pool(self, weights: Weights, of: str, width: int) -> tuple[nn.Parameter, ...]:
        """Return the weights that make entries of this width."""
        c = self.config
        shape, bias = (c.n_series, width, c.d_model), (c.n_series, c.pooling, width)
        W_E, W_Z = (weights.shared(f"W_{of}{x}", *shape, fan_in=c.d_model) for x in "EZ")
        return W_E, W_Z, weights.shared(f"b_{of}Z", *bias, fan_in=c.d_model), weights.ones(width)

    @property
    def dtype(self) -> torch.dtype:
        """Type of the weights as they are now."""
        return self.W_UO.dtype

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.W_UO.device

    @property
    def output_groups(self) -> tuple[int, ...]:
        """The groups that the heads belong to, in order: W_UO has a latent of each."""
        return groups_of(self.config, self.heads)

    def weights(self, heads: Places = slice(None)) -> PooledWeights:
        """Return the weights of the heads at these places among those built."""
        chosen, groups = self._global(heads), {}
        for place, head in enumerate(chosen):
            groups.setdefault(head // self.config.group_size, []).append(place)
        every = range(len(chosen))
        return PooledWeights(
            config=self.config,
            groups=tuple(places(of, among=every) for of in groups.values()),
            W_DQ=self.W_DQ,
            c_Q_norm=self.c_Q_norm,
            W_UQ=self.W_UQ[heads],
            W_T=self.W_T,
            kv_T_norm=self.kv_T_norm,
            sink=self.sink[heads],
            W_DO=self.W_DO[heads],
            W_UO=self.W_UO[:, places(list(groups), among=self.output_groups)],
        )

    def pooling(self) -> PoolWeights:
        """Return the weights that make the entries of keys and values."""
        return PoolWeights(self.W_E, self.W_Z, self.b_Z, self.kv_E_norm, self.config.norm_eps)

    def index_pooling(self) -> PoolWeights:
        """Return the weights that make the entries that the indexer scores."""
        return PoolWeights(self.W_IE, self.W_IZ, self.b_IZ, self.k_E_norm, self.config.norm_eps)
