"""Attention over a short window and pooled entries (DeepSeek-V4, section 2.3).

One vector a token is key and value for all heads. Beyond the last tokens a query sees entries
that each stand for a block of tokens: a few tokens each, of which an indexer chooses (CSA), or
many tokens each and all of them (HCA). A sink in each head's softmax takes what nothing deserves.
"""

from collections.abc import Iterable, Sequence

from torch import Tensor

from kvcount import checks
from mla_engine.layer import position_numbers, query_rows
from mla_engine.pooled import forms
from mla_engine.pooled.cache import PooledCache
from mla_engine.pooled.forms import PooledTrace
from mla_engine.pooled.projections import PooledProjections


class PooledAttention(PooledProjections):
    """CSA, HCA or only a window, with their whole trace."""

    def forward(
        self,
        h: Tensor,
        positions: Tensor | Sequence[int] | None = None,
        heads: Iterable[int] | None = None,
        queries: slice | None = None,
    ) -> PooledTrace:
        """Attend causally.

        Args:
            h: hidden states [b,t,d]; the first token begins a block.
            positions: [t] or [b,t], 0, 1, 2, ... by default.
            heads: global numbers of the heads to compute; u is the sum over these.
            queries: rows of h to compute as queries; keys and entries stay complete.

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
        cache: PooledCache,
        positions: Tensor | Sequence[int] | None = None,
        *,
        form: str | None = None,
    ) -> tuple[PooledTrace, PooledCache]:
        """Attend from new tokens [b,t,d] to themselves and to what the cache holds.

        Args:
            h_next: hidden states of one or many new tokens.
            cache: what earlier calls returned; it stays valid for its own length.
            positions: [t] or [b,t], by default they continue from the cache.
            form: "pooled", the only one that there is.

        Returns:
            The trace, whose kv_T are those of the window and the new tokens and whose kv_E are
            all entries, and the longer cache.

        Raises:
            ValueError: a cache of another kind, batch or dtype.
            MemoryBudgetError: the step would hold more than the memory budget.
        """
        self._check_hidden(h_next)
        checks.kind("cache", cache, PooledCache)
        checks.choice("form", form or "pooled", ("pooled",))
        self._check_cache(cache, h_next)
        cache.check_capacity(h_next.shape[1])
        positions = position_numbers(positions, h_next, start=cache.length)
        return self._step(forms.after, h_next, cache, positions)
