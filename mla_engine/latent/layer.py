"""Multi-head Latent Attention (DeepSeek-V2, arXiv 2405.04434, section 2.1), in two `forms`.

The rotary key comes from h, not from the latent, has no norm, and is one for all heads; the scale
never follows the width of an absorbed query.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from kvcount import checks
from kvcount.refusals import Phrase, RefusedError
from mla_engine.cache import Cache, KVCache
from mla_engine.latent import forms
from mla_engine.latent.absorption import AbsorbedMatrices
from mla_engine.latent.cache import LatentCache
from mla_engine.latent.projections import LatentProjections
from mla_engine.latent.trace import AbsorbedTrace, LatentTrace
from mla_engine.layer import position_numbers, query_rows


class MultiHeadLatentAttention(LatentProjections):
    """MLA with real weights; every call returns its whole trace and keeps nothing."""

    _prefill, _compressed = staticmethod(forms.prefill), staticmethod(forms.compressed)
    _unknown = (None, None)  # of `LatentCache.parts`, where no latents are handed in
    cache_type: type[Cache] = LatentCache

    def forward(
        self,
        h: Tensor,
        positions: Tensor | Sequence[int] | None = None,
        heads: Iterable[int] | None = None,
        queries: slice | None = None,
        latents: LatentCache | None = None,
    ) -> LatentTrace:
        """Attend causally, in expanded form.

        Args:
            h: hidden states [b,t,d].
            positions: [t] or [b,t]; by default those of the latents, or 0, 1, 2, ...
            heads: global numbers of the heads to compute; u is the sum over these.
            queries: rows of h to compute as queries; the keys stay complete.
            latents: what `compress` returned for this h and these positions.

        Returns:
            Every intermediate; attention is [b, len(heads), len(queries), s].

        Raises:
            ValueError: an argument that does not fit, named with its value.
            MemoryBudgetError: the run would hold more than the memory budget.
        """
        return self._forward(forms.expanded, h, positions, heads, queries, latents)

    def forward_absorbed(
        self,
        h: Tensor,
        positions: Tensor | Sequence[int] | None = None,
        heads: Iterable[int] | None = None,
        queries: slice | None = None,
        latents: LatentCache | None = None,
    ) -> AbsorbedTrace:
        """Attend causally, in absorbed form; arguments and errors as `forward`."""
        return self._forward(forms.absorbed, h, positions, heads, queries, latents)

    def compress(self, h: Tensor, positions: Tensor | Sequence[int] | None = None) -> LatentCache:
        """Return c_KV and k_R, which no head owns, to be used again with other heads or queries.

        Raises:
            ValueError, MemoryBudgetError: as `forward`.
        """
        self._check_hidden(h)
        positions = self._positions(positions, h)
        latents = self._run(self._compressed, h, positions)
        return replace(latents, factors=self._factors(latents, positions))

    def decode(
        self,
        h_next: Tensor,
        cache: LatentCache | KVCache,
        form: str | None = None,
        positions: Tensor | Sequence[int] | None = None,
    ) -> tuple[LatentTrace | AbsorbedTrace, LatentCache | KVCache]:
        """Attend from new tokens [b,t,d] to themselves and to all that the cache holds.

        Args:
            h_next: hidden states of one or many new tokens.
            cache: what earlier calls returned; it stays valid for its own length.
            form: "absorbed" (default with a LatentCache) or "expanded" (the only one with a
                KVCache; with a LatentCache every cached latent is up-projected in each step).
            positions: [t] or [b,t], by default they continue from the cache.

        Returns:
            The trace, whose keys cover all tokens, and the longer cache.

        Raises:
            ValueError: a cache of another kind, batch or dtype; "absorbed" with a KVCache.
            MemoryBudgetError: the step would hold more than the memory budget.
        """
        self._check_hidden(h_next)
        checks.kind("cache", cache, (LatentCache, KVCache))
        in_full = isinstance(cache, KVCache)
        if form is None:
            form = "expanded" if in_full else "absorbed"
        checks.choice("form", form, ("absorbed", "expanded"))
        if in_full and form == "absorbed":
            raise RefusedError("needs_latents")
        self._check_cache(cache, h_next)
        positions = self._positions(positions, h_next, start=cache.length)
        if in_full:
            return self._step(forms.decode_in_full, h_next, cache, positions)
        formulas = forms.expanded if form == "expanded" else forms.absorbed
        return self._step(forms.decode_latent, h_next, cache, positions, formulas)

    def absorbed_matrices(self, heads: Iterable[int] | None = None) -> AbsorbedMatrices:
        """Return W_QK = W_UQ^T W_UK [h,l,c] and W_VO = W_O W_UV [h,d,c] of each head, merged.

        Raises:
            ValueError: an unknown head, or an output gate between W_O and W_UV.
            MemoryBudgetError: the merged matrices are beyond the memory budget.
        """
        return self._run(forms.merged, self._local(heads))

    def _forward(
        self,
        form: Callable,
        h: Tensor,
        positions: Tensor | Sequence[int] | None,
        heads: Iterable[int] | None,
        queries: slice | None,
        latents: LatentCache | None,
        *more: object,
    ) -> LatentTrace | AbsorbedTrace:
        self._check_hidden(h)
        if latents is not None:
            positions = self._check_latents(latents, h, positions)
        rows = query_rows(queries, h.shape[1])
        positions = self._positions(positions, h)
        known = self._unknown if latents is None else latents.parts
        if latents is not None:
            self._factors(latents, positions)
        chosen_heads = self._local(heads)
        return self._run(self._prefill, h, positions, chosen_heads, rows, *known, *more, form)

    def _positions(
        self, positions: Tensor | Sequence[int] | None, h: Tensor, start: int = 0
    ) -> Tensor:
        """Return `position_numbers`, none of them at or beyond the configuration's limit."""
        numbers = position_numbers(positions, h, start)
        limit = self.config.position_limit
        if limit is None or torch.compiler.is_compiling():
            return numbers
        if numbers.max() >= limit:
            raise RefusedError("position_limit", position=int(numbers.max()), limit=limit)
        return numbers

    def _check_latents(
        self, latents: LatentCache, h: Tensor, positions: Tensor | Sequence[int] | None
    ) -> Tensor | Sequence[int] | None:
        """Return the positions to use: those that the latents were made at."""
        checks.kind("latents", latents, self.cache_type, Phrase("compressed"))
        self._check_cache(latents, h)
        if latents.length != h.shape[1]:
            raise RefusedError("other_latents", held=latents.length, given=h.shape[1])
        if positions is None or latents.positions is None:
            return latents.positions if positions is None else positions
        given = self._positions(positions, h)
        if not torch.compiler.is_compiling() and (given != latents.positions).any():
            raise RefusedError(
                "other_positions", given=given.tolist(), held=latents.positions.tolist()
            )
        return given
