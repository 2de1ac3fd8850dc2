r"""Grouped-query attention: MHA, GQA and MQA are one layer, told apart by n_kv_heads.

Query head h reads KV head h // group_size, so neighbours share one (repeat_interleave, not tile).

    MHA  q q q q     GQA  q q q q     MQA  q q q q
         | | | |          \|  \|            \ \|/
         k k k k           k   k              k
"""

from collections.abc import Iterable, Sequence

from torch import Tensor

from kvcount import checks
from mla_engine.cache import KVCache
from mla_engine.grouped import forms
from mla_engine.grouped.forms import GroupedTrace
from mla_engine.grouped.projections import GroupedProjections
from mla_engine.layer import position_numbers, query_rows


class GroupedQueryAttention(GroupedProjections):
    """MHA (n_kv_heads = n_heads), GQA, and MQA (n_kv_heads = 1), with their whole trace."""

    def forward(
        self,
        h: Tensor,
        positions: Tensor | Sequence[int] | None = None,
        heads: Iterable[int] | None = None,
        queries: slice | None = None,
    ) -> GroupedTrace:
        """Attend causally.

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
        positions = position_numbers(positions, h)
        return self._run(forms.prefill, h, positions, self._local(heads), rows)

    def decode(
        self,
        h_next: Tensor,
        cache: KVCache,
        positions: Tensor | Sequence[int] | None = None,
        *,
        form: str | None = None,
    ) -> tuple[GroupedTrace, KVCache]:
        """Attend from new tokens [b,t,d] to themselves and to all that the cache holds.

        Args:
            h_next: hidden states of one or many new tokens.
            cache: what earlier calls returned; it stays valid for its own length.
            positions: [t] or [b,t], by default they continue from the cache.
            form: "expanded", the only one that there is.

        Returns:
            The trace, whose k and v cover all tokens, and the longer cache; the old stays valid.

        Raises:
            ValueError: a cache of another kind, batch or dtype.
            MemoryBudgetError: the step would hold more than the memory budget.
        """
        self._check_hidden(h_next)
        checks.kind("cache", cache, KVCache)
        checks.choice("form", form or "expanded", ("expanded",))
        self._check_cache(cache, h_next)
        positions = position_numbers(positions, h_next, start=cache.length)
        return self._step(forms.decode, h_next, cache, positions)
