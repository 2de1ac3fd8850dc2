"""MLA with a lightning indexer: DeepSeek Sparse Attention (DeepSeek-V3.2-Exp).

A small attention without values scores every key for every query; MLA then attends to the keys of
only the highest scores. Up to index_topk tokens that is dense MLA. Layers of one model may share a
choice: then `chosen` of an earlier layer's trace is given to the next ones.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from torch import Tensor

from kvcount import checks
from kvcount.refusals import Phrase, RefusedError
from mla_engine.indexed import forms
from mla_engine.indexed.cache import IndexedCache
from mla_engine.indexed.forms import IndexedAbsorbedTrace, IndexedTrace
from mla_engine.indexed.indexer import IndexedProjections
from mla_engine.latent import AbsorbedTrace, LatentTrace
from mla_engine.latent import forms as latent
from mla_engine.layer import query_rows

FORMS = {"expanded": latent.expanded, "absorbed": latent.absorbed}


class IndexedLatentAttention(IndexedProjections):
    """DSA with real weights; every call returns its whole trace and keeps nothing."""

    _prefill, _compressed = staticmethod(forms.prefill), staticmethod(forms.compressed)
    _unknown = (None, None, None)
    cache_type = IndexedCache
    traces: Mapping = {LatentTrace: IndexedTrace, AbsorbedTrace: IndexedAbsorbedTrace}

    def forward(
        self,
        h: Tensor,
        positions: Tensor | Sequence[int] | None = None,
        heads: Iterable[int] | None = None,
        queries: slice | None = None,
        latents: IndexedCache | None = None,
        chosen: Tensor | None = None,
    ) -> IndexedTrace:
        """Attend causally to the chosen keys, in expanded form.

        Args:
            h: hidden states [b,t,d].
            positions: [t] or [b,t]; by default those of the latents, or 0, 1, 2, ...
            heads: global numbers of the heads to compute; the choice is made for all of them.
            queries: rows of h to compute as queries; the keys stay complete.
            latents: what `compress` returned for this h and these positions.
            chosen: of a layer that shares its choice, and of no other: bool [b,t,s], True where a
                query attends to a key, as the trace of the layer that chose has it.

        Returns:
            Every intermediate; attention is [b, len(heads), len(queries), s].

        Raises:
            ValueError: an argument that does not fit, named with its value.
            MemoryBudgetError: the run would hold more than the memory budget.
        """
        return self._over(latent.expanded, h, positions, heads, queries, latents, chosen)

    def forward_absorbed(
        self,
        h: Tensor,
        positions: Tensor | Sequence[int] | None = None,
        heads: Iterable[int] | None = None,
        queries: slice | None = None,
        latents: IndexedCache | None = None,
        chosen: Tensor | None = None,
    ) -> IndexedAbsorbedTrace:
        """Compute the same in absorbed form; arguments and errors as `forward`."""
        return self._over(latent.absorbed, h, positions, heads, queries, latents, chosen)

    def decode(
        self,
        h_next: Tensor,
        cache: IndexedCache,
        form: str | None = None,
        positions: Tensor | Sequence[int] | None = None,
        chosen: Tensor | None = None,
    ) -> tuple[IndexedTrace | IndexedAbsorbedTrace, IndexedCache]:
        """Attend from new tokens [b,t,d] to the keys that they choose among cache and themselves.

        Args:
            h_next: hidden states of one or many new tokens.
            cache: what earlier calls returned; it stays valid for its own length.
            form: "absorbed" (default) or "expanded", which up-projects every cached latent.
            positions: [t] or [b,t], by default they continue from the cache.
            chosen: as of `forward`; s counts the cached tokens, too.

        Returns:
            The trace, whose keys cover all tokens, and the longer cache.

        Raises:
            ValueError: a cache of another kind, batch or dtype.
            MemoryBudgetError: the step would hold more than the memory budget.
        """
        self._check_hidden(h_next)
        checks.kind("cache", cache, self.cache_type)
        form = form or "absorbed"
        checks.choice("form", form, FORMS)
        self._check_cache(cache, h_next)
        self._check_chosen(chosen, h_next, h_next.shape[1], cache.length)
        positions = self._positions(positions, h_next, start=cache.length)
        return self._step(forms.decode, h_next, cache, positions, chosen, FORMS[form])

    def _over(
        self,
        form: Callable,
        h: Tensor,
        positions: Tensor | Sequence[int] | None,
        heads: Iterable[int] | None,
        queries: slice | None,
        latents: IndexedCache | None,
        chosen: Tensor | None,
    ) -> IndexedTrace | IndexedAbsorbedTrace:
        self._check_hidden(h)
        rows = range(h.shape[1])[query_rows(queries, h.shape[1])]
        self._check_chosen(chosen, h, len(rows), held=0)
        return self._forward(form, h, positions, heads, queries, latents, chosen)

    def _check_chosen(self, chosen: Tensor | None, h: Tensor, rows: int, held: int) -> None:
        """Raise ValueError unless a shared layer, and no other, gets a choice of these sizes."""
        if not self.config.index_shared:
            if chosen is not None:
                raise RefusedError("choice_given")
            return
        if chosen is None:
            raise RefusedError("no_choice")
        checks.kind("chosen", chosen, Tensor, Phrase("a_choice"))
        wanted = [h.shape[0], rows, held + h.shape[1]]
        if chosen.dtype != torch.bool or list(chosen.shape) != wanted:
            shape, dtype = list(chosen.shape), chosen.dtype
            raise RefusedError("choice_shape", shape=shape, dtype=dtype, wanted=wanted)
