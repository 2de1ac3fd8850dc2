"""The parameters of MLA with a lightning indexer."""

from mla_engine.indexed.config import IndexedConfig
from mla_engine.indexed.indexer import IndexerWeights
from mla_engine.latent import MultiHeadLatentAttention
from mla_engine.weights import Weights


class IndexedProjections(MultiHeadLatentAttention):
    """MLA's parameters, and the indexer's, which no attention head owns.

    Parameters: W_IQ [j,x,l], W_IK [x,d], W_IW [j,d], and of the LayerNorm k_I_norm [x], b_IK [x].
    Without query compression W_IQ is [j,x,d]. A shared layer has none of them: they are None.
    """

    config_type = IndexedConfig

    def _build(self, weights: Weights) -> None:
        super()._build(weights)
        c, shared = self.config, weights.shared
        self.W_IQ = self.W_IK = self.W_IW = self.k_I_norm = self.b_IK = None
        if c.index_shared:
            return
        d_query = c.d_latent_q or c.d_model
        self.W_IQ = shared("W_IQ", c.n_index_heads, c.d_index, d_query, fan_in=d_query)
        self.W_IK = shared("W_IK", c.d_index, c.d_model, fan_in=c.d_model)
        self.W_IW = shared("W_IW", c.n_index_heads, c.d_model, fan_in=c.d_model)
        self.k_I_norm = weights.ones(c.d_index)
        self.b_IK = shared("b_IK", c.d_index, fan_in=c.d_model)

    def indexer(self) -> IndexerWeights:
        """What the indexer's formulas read."""
        return IndexerWeights(
            config=self.config,
            W_IQ=self.W_IQ,
            W_IK=self.W_IK,
            W_IW=self.W_IW,
            k_I_norm=self.k_I_norm,
            b_IK=self.b_IK,
        )
