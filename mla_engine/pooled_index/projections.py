"""The parameters of MLA with an indexer over pooled keys."""

from mla_engine.indexed import IndexedLatentAttention
from mla_engine.pooled_index.config import PooledIndexConfig
from mla_engine.pooled_index.indexer import PoolingWeights
from mla_engine.weights import Weights


class PooledIndexProjections(IndexedLatentAttention):
    """DSA's parameters, and those of the gates: W_IZ [a,x,d] and b_IZ [a,m,x], a = 1.

    A shared layer has none of an indexer: they are None.
    """

    config_type = PooledIndexConfig

    def _build(self, weights: Weights) -> None:
        super()._build(weights)
        c = self.config
        self.W_IZ = self.b_IZ = None
        if not c.index_shared:
            gates, places = (1, c.d_index, c.d_model), (1, c.pooling, c.d_index)
            self.W_IZ = weights.shared("W_IZ", *gates, fan_in=c.d_model)
            self.b_IZ = weights.shared("b_IZ", *places, fan_in=c.d_model)

    def pooling(self) -> PoolingWeights:
        """What the formulas of the indexer read."""
        return PoolingWeights(self.indexer(), self.W_IZ, self.b_IZ)
