"""Every intermediate of MLA with a lightning indexer, in each of its two forms.

The traces are MLA's with the indexer between rotary keys and up-projection, and with what its
choice leaves out.
"""

from dataclasses import dataclass

from torch import Tensor

from mla_engine.indexed.indexer import Index
from mla_engine.latent.trace import (
    AbsorbedQueries,
    AbsorbedTrace,
    Attention,
    ContentQueries,
    HeadKeys,
    KVLatents,
    LatentAttention,
    LatentTrace,
    Output,
    RotaryKeys,
    RotaryQueries,
    Scores,
)
from mla_engine.trace import Trace


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoresOverChoice(Scores):
    """Logits of all keys, of which those that are chosen enter the softmax."""

    left_out: Tensor  # [b,h,t], what dense attention gives to the keys that are not chosen

    @property
    def visible(self) -> Tensor:
        """Where a query attends: to the chosen keys [b,1,t,s]."""
        return self.chosen.unsqueeze(1)


@dataclass(frozen=True, kw_only=True, eq=False)
class IndexedTrace(
    Output,
    Attention,
    ScoresOverChoice,
    HeadKeys,
    Index,
    RotaryKeys,
    KVLatents,
    RotaryQueries,
    ContentQueries,
    Trace,
):
    """MLA with an indexer, expanded form: keys and values of every head stand in full."""

    form = "indexed"
    as_in = LatentTrace


@dataclass(frozen=True, kw_only=True, eq=False)
class IndexedAbsorbedTrace(
    Output,
    LatentAttention,
    ScoresOverChoice,
    Index,
    RotaryKeys,
    KVLatents,
    RotaryQueries,
    AbsorbedQueries,
    Trace,
):
    """MLA with an indexer, absorbed form: queries move into latent space, no k_C and no v_C."""

    form = "indexed_absorbed"
    as_in = AbsorbedTrace
