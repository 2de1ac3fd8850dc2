"""Multi-head Latent Attention (DeepSeek-V2, arXiv 2405.04434, section 2.1).

Two forms over the same weights. Expanded ("MHA mode") builds keys and values of every head from
the latent; absorbed ("MQA mode") brings the queries into latent space and never builds them. They
differ by the order of multiplication alone. The rotary key comes from h, not from the latent, has
no norm, and is one for all heads; the scale never follows the width of an absorbed query.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch
from torch import Tensor, einsum

from mla_engine import checks
from mla_engine.absorption import AbsorbedMatrices
from mla_engine.cache import KVCache, LatentCache
from mla_engine.layer import query_rows
from mla_engine.ops import causal_mask, softmax
from mla_engine.projections import HeadWeights, LatentProjections, Latents, Queries
from mla_engine.rope import per_head
from mla_engine.trace import AbsorbedTrace, LatentTrace, masked_sum


class MultiHeadLatentAttention(LatentProjections):
    """MLA with real weights; every call returns its whole trace and keeps nothing."""

    def forward(
        self,
        h: Tensor,
        positions: Tensor | Sequence[int] | None = None,
        heads: Iterable[int] | None = None,
        queries: slice | None = None,
        latents: LatentCache | None = None,
    ) -> LatentTrace:
        """Causal attention in expanded form.

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
        return self._forward("expanded", h, positions, heads, queries, latents)

    def forward_absorbed(
        self,
        h: Tensor,
        positions: Tensor | Sequence[int] | None = None,
        heads: Iterable[int] | None = None,
        queries: slice | None = None,
        latents: LatentCache | None = None,
    ) -> AbsorbedTrace:
        """The same attention in absorbed form; arguments and errors as `forward`."""
        return self._forward("absorbed", h, positions, heads, queries, latents)

    def compress(self, h: Tensor, positions: Tensor | Sequence[int] | None = None) -> LatentCache:
        """The part that no head owns, c_KV and k_R, to be used again with other heads or queries.

        Raises:
            ValueError, MemoryBudgetError: as `forward`.
        """
        self._check_hidden(h)
        return self._run("_compressed", h, self._positions(positions, h))

    def decode(
        self,
        h_next: Tensor,
        cache: LatentCache | KVCache,
        form: str | None = None,
        positions: Tensor | Sequence[int] | None = None,
    ) -> tuple[LatentTrace | AbsorbedTrace, LatentCache | KVCache]:
        """Attention of new tokens [b,t,d] to themselves and to all that the cache holds.

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
        checks.kind("cache", cache, (LatentCache, KVCache), "a LatentCache or a KVCache")
        in_full = isinstance(cache, KVCache)
        if form is None:
            form = "expanded" if in_full else "absorbed"
        checks.choice("form", form, ("absorbed", "expanded"))
        if in_full and form == "absorbed":
            raise ValueError("form 'absorbed' needs the latents: give a LatentCache, not a KVCache")
        self._check_cache(cache, h_next, n_kv_heads=len(self.heads) if in_full else None)
        positions = self._positions(positions, h_next, start=cache.length)
        if in_full:
            return self._run("_decode_in_full", h_next, cache, positions)
        return self._run("_decode_latent", form, h_next, cache, positions)

    def absorbed_matrices(self, heads: Iterable[int] | None = None) -> AbsorbedMatrices:
        """W_QK = W_UQ^T W_UK [h,l,c] and W_VO = W_O W_UV [h,d,c] of each head, merged.

        Raises:
            ValueError: an unknown head.
            MemoryBudgetError: the merged matrices are beyond the memory budget.
        """
        return self._run("_merged", self._local(heads))

    def _forward(
        self,
        form: str,
        h: Tensor,
        positions: Tensor | Sequence[int] | None,
        heads: Iterable[int] | None,
        queries: slice | None,
        latents: LatentCache | None,
    ) -> LatentTrace | AbsorbedTrace:
        self._check_hidden(h)
        if latents is not None:
            positions = self._check_latents(latents, h, positions)
        rows = query_rows(queries, h.shape[1])
        positions = self._positions(positions, h)
        return self._run("_prefill", form, h, positions, self._local(heads), rows, latents)

    def _check_latents(
        self, latents: LatentCache, h: Tensor, positions: Tensor | Sequence[int] | None
    ) -> Tensor | Sequence[int] | None:
        """The positions to use: those that the latents were made at."""
        checks.kind("latents", latents, LatentCache, "what compress() returned")
        self._check_cache(latents, h)
        if latents.length != h.shape[1]:
            raise ValueError(
                f"latents hold {latents.length} tokens and h {h.shape[1]}: compress this h"
            )
        if positions is None or latents.positions is None:
            return latents.positions if positions is None else positions
        given = self._positions(positions, h)
        if (given != latents.positions).any():
            raise ValueError(
                f"positions ({given.tolist()!r:.60}) are not those of the latents "
                f"({latents.positions.tolist()!r:.60}): leave them out, or compress again"
            )
        return given

    # From here on arguments are valid and fit the memory: only the formulas are left.

    def _prefill(
        self,
        form: str,
        h: Tensor,
        positions: Tensor,
        heads: slice | list[int],
        rows: slice,
        known: LatentCache | None,
    ) -> LatentTrace | AbsorbedTrace:
        weights, turn = self._of_heads(heads), self._turn(positions)
        queries = self._queries(h[:, rows], per_head(turn, rows), weights)
        if known is None:
            latents = self._latents(h, turn)
        else:
            latents = Latents(None, known.c_KV, None, known.k_R)
        mask = causal_mask(h.shape[1], h.shape[1], rows, device=h.device)
        attend = self._expanded if form == "expanded" else self._absorbed
        return attend(weights, h, queries, latents, mask)

    def _compressed(self, h: Tensor, positions: Tensor) -> LatentCache:
        latents = self._latents(h, self._turn(positions))
        empty = LatentCache.empty(self.config, h.shape[0], self.dtype, h.device)
        return replace(empty.append(latents.c_KV, latents.k_R), positions=positions)

    def _decode_latent(
        self, form: str, h: Tensor, cache: LatentCache, positions: Tensor
    ) -> tuple[LatentTrace | AbsorbedTrace, LatentCache]:
        weights, turn = self._of_heads(slice(None)), self._turn(positions)
        queries = self._queries(h, per_head(turn), weights)
        new = self._latents(h, turn)
        cache = cache.append(new.c_KV, new.k_R)
        latents = new._replace(c_KV=cache.c_KV, k_R=cache.k_R)
        mask = causal_mask(cache.length, h.shape[1], device=h.device)
        attend = self._expanded if form == "expanded" else self._absorbed
        return attend(weights, h, queries, latents, mask), cache

    def _decode_in_full(
        self, h: Tensor, cache: KVCache, positions: Tensor
    ) -> tuple[LatentTrace, KVCache]:
        weights, turn = self._of_heads(slice(None)), self._turn(positions)
        queries = self._queries(h, per_head(turn), weights)
        latents = self._latents(h, turn)
        k, v_C = self._up_projected(latents.c_KV, weights)
        if latents.k_R is not None:  # k = [k_C; k_R], the shared part once for every head
            k = torch.cat((k, latents.k_R.unsqueeze(2).expand(-1, -1, k.shape[2], -1)), dim=-1)
        cache = cache.append(k, v_C)
        k_C, k_R = cache.k.split((self.config.d_head, self.config.d_rope), dim=-1)
        mask = causal_mask(cache.length, h.shape[1], device=h.device)
        return self._attend(weights, h, queries, latents, (k_C, k_R, cache.v), mask), cache

    def _up_projected(self, c_KV: Tensor, weights: HeadWeights) -> tuple[Tensor, Tensor]:
        k_C = einsum("bsc,hkc->bshk", c_KV, weights.W_UK)
        v_C = einsum("bsc,hvc->bshv", c_KV, weights.W_UV)
        return k_C, v_C

    def _expanded(
        self,
        weights: HeadWeights,
        h: Tensor,
        queries: Queries,
        latents: Latents,
        mask: Tensor,
    ) -> LatentTrace:
        k_C, v_C = self._up_projected(latents.c_KV, weights)
        return self._attend(weights, h, queries, latents, (k_C, latents.k_R, v_C), mask)

    def _attend(
        self,
        weights: HeadWeights,
        h: Tensor,
        queries: Queries,
        latents: Latents,
        keys: tuple[Tensor, Tensor | None, Tensor],
        mask: Tensor,
    ) -> LatentTrace:
        k_C, k_R, v_C = keys
        scores_C = einsum("bthk,bshk->bhts", queries.q_C, k_C).mul_(self.config.scale)
        scores_R = self._position_scores(queries.q_R, k_R)
        attention = softmax(masked_sum(scores_C, scores_R, mask))
        o = einsum("bhts,bshv->bthv", attention, v_C)
        u = self._output(o, weights.W_O)
        return LatentTrace(
            h=h,
            **queries._asdict(),
            **latents._asdict(),
            k_C=k_C,
            v_C=v_C,
            scores_C=scores_C,
            scores_R=scores_R,
            mask=mask,
            attention=attention,
            o=o,
            u=u,
        )

    def _absorbed(
        self,
        weights: HeadWeights,
        h: Tensor,
        queries: Queries,
        latents: Latents,
        mask: Tensor,
    ) -> AbsorbedTrace:
        q_C_absorbed = einsum("bthk,hkc->bthc", queries.q_C, weights.W_UK)
        scores_C = einsum("bthc,bsc->bhts", q_C_absorbed, latents.c_KV).mul_(self.config.scale)
        scores_R = self._position_scores(queries.q_R, latents.k_R)
        attention = softmax(masked_sum(scores_C, scores_R, mask))
        o_latent = einsum("bhts,bsc->bthc", attention, latents.c_KV)
        o = einsum("bthc,hvc->bthv", o_latent, weights.W_UV)
        u = self._output(o, weights.W_O)
        return AbsorbedTrace(
            h=h,
            **queries._asdict(),
            **latents._asdict(),
            q_C_absorbed=q_C_absorbed,
            scores_C=scores_C,
            scores_R=scores_R,
            mask=mask,
            attention=attention,
            o_latent=o_latent,
            o=o,
            u=u,
        )

    def _position_scores(self, q_R: Tensor | None, k_R: Tensor | None) -> Tensor | None:
        if q_R is None:
            return None
        # one key for all heads, or the copies of it that a KVCache holds
        equation = "bthr,bsr->bhts" if k_R.ndim == 3 else "bthr,bshr->bhts"
        return einsum(equation, q_R, k_R).mul_(self.config.scale)

    def _merged(self, local: slice | list[int]) -> AbsorbedMatrices:
        weights = self._of_heads(local)
        return AbsorbedMatrices.of(weights.W_UQ, weights.W_UK, weights.W_UV, weights.W_O)
