r"""Grouped-query attention: MHA, GQA and MQA are one layer, told apart by n_kv_heads.

Query head h reads KV head h // group_size, so neighbours share one (repeat_interleave, not tile).

    MHA  q q q q     GQA  q q q q     MQA  q q q q
         | | | |          \|  \|            \ \|/
         k k k k           k   k              k
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, einsum

from mla_engine import checks
from mla_engine.cache import KVCache
from mla_engine.config import GroupedConfig
from mla_engine.layer import AttentionLayer, position_numbers, query_rows
from mla_engine.ops import causal_mask, rms_norm, softmax
from mla_engine.rope import Turn, per_head, rotate, rotation
from mla_engine.trace import GroupedTrace
from mla_engine.weights import Weights


class _Keys(NamedTuple):
    k_pre: Tensor
    k: Tensor
    v: Tensor


class GroupedQueryAttention(AttentionLayer):
    """MHA (n_kv_heads = n_heads), GQA, and MQA (n_kv_heads = 1), with their whole trace.

    Parameters: W_Q [h,k,d], W_K [g,k,d], W_V [g,v,d], W_O [d,h,v]; biases b_Q [h,k], b_K [g,k],
    b_V [g,v], b_O [d]; QK norms q_norm, k_norm [k]. What a configuration has not is None. A layer
    of some heads has the KV heads that these use, `kv_heads`, in order of first use.
    """

    config_type = GroupedConfig

    def _build(self, weights: Weights) -> None:
        c, heads = self.config, self.heads
        self.kv_heads = kv_heads = self._kv_heads_of(heads)
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

    def forward(
        self,
        h: Tensor,
        positions: Tensor | Sequence[int] | None = None,
        heads: Iterable[int] | None = None,
        queries: slice | None = None,
    ) -> GroupedTrace:
        """Causal attention.

        Args:
            h: hidden states [b,t,d].
            positions: [t] or [b,t], 0, 1, 2, ... by default.
            heads: global numbers of the heads to compute; u is the sum over these.
            queries: rows of h to compute as queries; the keys stay complete.

        Returns:
            Every intermediate; attention is [b, len(heads), len(queries), s].

        Raises:
            ValueError: an argument that does not fit, named with its value.
            MemoryBudgetError: the run would hold more than the memory budget.
        """
        self._check_hidden(h)
        rows = query_rows(queries, h.shape[1])
        return self._run("_prefill", h, position_numbers(positions, h), self._local(heads), rows)

    def decode(
        self,
        h_next: Tensor,
        cache: KVCache,
        positions: Tensor | Sequence[int] | None = None,
    ) -> tuple[GroupedTrace, KVCache]:
        """Attention of new tokens [b,t,d] to themselves and to all that the cache holds.

        Returns:
            The trace, whose k and v cover all tokens, and the longer cache; the old stays valid.

        Raises:
            ValueError: a cache of another kind, batch or dtype.
            MemoryBudgetError: the step would hold more than the memory budget.
        """
        self._check_hidden(h_next)
        checks.kind("cache", cache, KVCache, "a KVCache")
        self._check_cache(cache, h_next, n_kv_heads=len(self.kv_heads))
        positions = position_numbers(positions, h_next, start=cache.length)
        return self._run("_decode", h_next, cache, positions)

    # From here on arguments are valid and fit the memory: only the formulas are left.

    def _prefill(
        self, h: Tensor, positions: Tensor, heads: slice | list[int], rows: slice
    ) -> GroupedTrace:
        chosen = self._kv_heads_of(self._global(heads))
        turn = self._turn(positions)
        keys = self._keys(h, per_head(turn), [self.kv_heads.index(g) for g in chosen])
        mask = causal_mask(h.shape[1], h.shape[1], rows, self.config.sliding_window, h.device)
        return self._attend(h, h[:, rows], per_head(turn, rows), heads, keys, mask)

    def _decode(self, h: Tensor, cache: KVCache, positions: Tensor) -> tuple[GroupedTrace, KVCache]:
        turn = per_head(self._turn(positions))
        new = self._keys(h, turn, slice(None))
        cache = cache.append(new.k, new.v)
        keys = new._replace(k=cache.k, v=cache.v)
        mask = causal_mask(
            cache.length, h.shape[1], window=self.config.sliding_window, device=h.device
        )
        return self._attend(h, h, turn, slice(None), keys, mask), cache

    def _keys(self, h: Tensor, turn: Turn | None, kv_heads: slice | list[int]) -> _Keys:
        k_pre = einsum("bsd,gkd->bsgk", h, self.W_K[kv_heads])
        v = einsum("bsd,gvd->bsgv", h, self.W_V[kv_heads])
        if self.b_K is not None:
            k_pre, v = k_pre + self.b_K[kv_heads], v + self.b_V[kv_heads]
        return _Keys(k_pre, self._placed(k_pre, self.k_norm, turn), v)

    def _attend(
        self,
        h: Tensor,
        h_queries: Tensor,
        turn: Turn | None,
        heads: slice | list[int],
        keys: _Keys,
        mask: Tensor,
    ) -> GroupedTrace:
        q_pre = einsum("btd,hkd->bthk", h_queries, self.W_Q[heads])
        if self.b_Q is not None:
            q_pre = q_pre + self.b_Q[heads]
        q = self._placed(q_pre, self.q_norm, turn)
        shared_by = self._groups(heads)
        scores = einsum("bthk,bshk->bhts", q, keys.k[:, :, shared_by]).mul_(self.config.scale)
        if self.config.logit_softcap is not None:
            scores.div_(self.config.logit_softcap).tanh_().mul_(self.config.logit_softcap)
        scores.masked_fill_(~mask, -torch.inf)
        attention = softmax(scores)
        o = einsum("bhts,bshv->bthv", attention, keys.v[:, :, shared_by])
        u = self._output(o, self.W_O[:, heads])
        return GroupedTrace(
            h=h,
            q_pre=q_pre,
            q=q,
            **keys._asdict(),
            scores=scores,
            mask=mask,
            attention=attention,
            o=o,
            u=u,
        )

    def _turn(self, positions: Tensor) -> Turn | None:
        return self.config.rope and rotation(self.config.rope, self.config.d_head, positions)

    def _placed(self, x: Tensor, norm: Tensor | None, turn: Turn | None) -> Tensor:
        """Norm, then rotation, of queries or keys [b,t,h,k]."""
        if norm is not None:
            x = rms_norm(x, norm, self.config.norm_eps)
        return x if turn is None else rotate(x, *turn, self.config.rope.pairing)

    def _kv_heads_of(self, heads: Iterable[int]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(head // self.config.group_size for head in heads))

    def _groups(self, heads: slice | list[int]) -> slice | list[int]:
        """For each chosen head the place of its KV head among theirs; all of them as a view."""
        chosen = self._global(heads)
        kv_heads = self._kv_heads_of(chosen)
        places = [kv_heads.index(head // self.config.group_size) for head in chosen]
        return slice(None) if places == list(range(len(kv_heads))) else places
