"""The layer with tied keys and values."""

from collections.abc import Iterable, Sequence

from mla_engine.toy import forms
from mla_engine.toy.cache import TiedCache
from mla_engine.toy.config import TiedConfig
from mla_engine.toy.trace import TiedTrace
from torch import Tensor

from kvcount import checks
from mla_engine.layer import AttentionLayer, Places, position_numbers, query_rows
from mla_engine.weights import Weights


class TiedAttention(AttentionLayer):
    """Parameters: W_Q [h,k,d], W_KV [h,k,d], W_O [d,h,k]."""

    config_type = TiedConfig

    def _build(self, weights: Weights) -> None:
        c, per_head = self.config, weights.per_head
        self.W_Q = per_head("W_Q", self.heads, c.d_head, c.d_model, fan_in=c.d_model)
        self.W_KV = per_head("W_KV", self.heads, c.d_head, c.d_model, fan_in=c.d_model)
        d_out = c.n_heads * c.d_head
        self.W_O = per_head("W_O", self.heads, c.d_model, c.d_head, fan_in=d_out, axis=1)

    def weights(self, heads: Places = slice(None)) -> forms.TiedWeights:
        """Return what the formulas read, of the heads at these places among those built."""
        W_Q, W_KV, W_O = self.W_Q[heads], self.W_KV[heads], self.W_O[:, heads]
        return forms.TiedWeights(self.config, W_Q, W_KV, W_O)

    def forward(
        self,
        h: Tensor,
        positions: Tensor | Sequence[int] | None = None,
        heads: Iterable[int] | None = None,
        queries: slice | None = None,
    ) -> TiedTrace:
        """Causal attention; `heads` and `queries` as of the other layers."""
        self._check_hidden(h)
        rows, positions = query_rows(queries, h.shape[1]), position_numbers(positions, h)
        return self._run(forms.prefill, h, positions, self._local(heads), rows)

    def decode(
        self,
        h_next: Tensor,
        cache: TiedCache,
        positions: Tensor | Sequence[int] | None = None,
        *,
        form: str | None = None,
    ) -> tuple[TiedTrace, TiedCache]:
        """Attention of new tokens [b,t,d] to themselves and to all that the cache holds."""
        self._check_hidden(h_next)
        checks.kind("cache", cache, TiedCache, "a TiedCache")
        checks.choice("form", form or "tied", ("tied",))
        self._check_cache(cache, h_next)
        positions = position_numbers(positions, h_next, start=cache.length)
        return self._run(forms.decode, h_next, cache, positions)
