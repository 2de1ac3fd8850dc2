"""Kimi Delta Attention (Kimi Linear, arXiv 2510.26692): linear attention with a delta rule.

Every head keeps one matrix, the state. A token lets each of its rows decay, takes back what the
state holds along the token's key, writes its value there, and reads along its query. Nothing grows
with the context, and no key is seen again: there are no scores over keys and no mask.
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from kvcount import checks
from mla_engine.delta import forms
from mla_engine.delta.cache import DeltaCache
from mla_engine.delta.forms import ChunkedTrace, RecurrentTrace
from mla_engine.delta.projections import DeltaProjections
from mla_engine.layer import position_numbers

FORMS = {"recurrent": forms.recurrent, "chunked": forms.chunked}


class DeltaAttention(DeltaProjections):
    """KDA with real weights; every call returns its whole trace and keeps nothing."""

    def forward(
        self,
        h: Tensor,
        positions: Tensor | Sequence[int] | None = None,
        heads: Iterable[int] | None = None,
    ) -> ChunkedTrace:
        """Run a whole sequence from an empty state, in chunks of 64 tokens.

        Args:
            h: hidden states [b,t,d].
            positions: [t] or [b,t]; they are checked, and change nothing: nothing is rotated.
            heads: global numbers of the heads to compute; u is the sum over these.

        Returns:
            Every intermediate; the state is that after the last token.

        Raises:
            ValueError: an argument that does not fit, named with its value.
            MemoryBudgetError: the run would hold more than the memory budget.
        """
        return self._over(forms.chunked, h, positions, heads)

    def forward_recurrent(
        self,
        h: Tensor,
        positions: Tensor | Sequence[int] | None = None,
        heads: Iterable[int] | None = None,
    ) -> RecurrentTrace:
        """Compute the same token by token; arguments and errors as `forward`."""
        return self._over(forms.recurrent, h, positions, heads)

    def decode(
        self,
        h_next: Tensor,
        cache: DeltaCache,
        form: str | None = None,
        positions: Tensor | Sequence[int] | None = None,
    ) -> tuple[RecurrentTrace | ChunkedTrace, DeltaCache]:
        """Run new tokens [b,t,d] after those whose state the cache holds.

        Args:
            h_next: hidden states of one or many new tokens.
            cache: what earlier calls returned; it stays valid for its own length.
            form: "recurrent" (default) or "chunked".
            positions: as of `forward`.

        Returns:
            The trace of the new tokens, and the cache behind them, which is no larger.

        Raises:
            ValueError: a cache of another kind, batch or dtype.
            MemoryBudgetError: the step would hold more than the memory budget.
        """
        self._check_hidden(h_next)
        checks.kind("cache", cache, DeltaCache)
        form = form or "recurrent"
        checks.choice("form", form, FORMS)
        self._check_cache(cache, h_next)
        positions = position_numbers(positions, h_next, cache.length)
        return self._step(forms.decode, h_next, cache, positions, FORMS[form])

    def states(
        self, trace: RecurrentTrace | ChunkedTrace, head: int, before: DeltaCache | None = None
    ) -> Tensor:
        """Return the state of one head after each token of a trace of all heads [b,t,k,v].

        Args:
            trace: of this layer, with all its heads.
            head: its global number.
            before: the cache that the trace began with; None is an empty one.

        Raises:
            ValueError: a head that was not built.
            MemoryBudgetError: the states would hold more than the memory budget.
        """
        place = self._local([head])
        k, a, written = (x[:, :, place].squeeze(2) for x in (trace.k_D, trace.a, trace.written))
        S = torch.zeros_like(trace.S) if before is None else before.S
        return self._run(forms.states, k, a, written, S[:, place].squeeze(1))

    def _over(
        self,
        form: Callable,
        h: Tensor,
        positions: Tensor | Sequence[int] | None,
        heads: Iterable[int] | None,
    ) -> RecurrentTrace | ChunkedTrace:
        self._check_hidden(h)
        positions = position_numbers(positions, h, 0)
        return self._run(forms.prefill, h, positions, self._local(heads), form)
