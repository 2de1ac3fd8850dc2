"""Every intermediate of MLA with an indexer over pooled keys, in each of its two forms.

The traces are those of MLA with a lightning indexer, with another indexer in its place.
"""

from dataclasses import dataclass

from mla_engine.indexed.trace import IndexedAbsorbedTrace, IndexedTrace, ScoresOverChoice
from mla_engine.latent.trace import (
    AbsorbedQueries,
    Attention,
    ContentQueries,
    HeadKeys,
    KVLatents,
    LatentAttention,
    Output,
    RotaryKeys,
    RotaryQueries,
)
from mla_engine.pooled_index.indexer import Index
from mla_engine.trace import Trace


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledIndexTrace(
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
    """Expanded form: keys and values of every head stand in full."""

    form = "pooled_index"
    as_in = IndexedTrace


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledIndexAbsorbedTrace(
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
    """Absorbed form: queries move into latent space, no k_C and no v_C."""

    form = "pooled_index_absorbed"
    as_in = IndexedAbsorbedTrace
