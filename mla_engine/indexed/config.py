"""The sizes and options of MLA with a lightning indexer."""

from dataclasses import dataclass, field

from kvcount import checks
from kvcount.refusals import RefusedError
from mla_engine.config import PAIRINGS
from mla_engine.latent.config import LatentConfig


@dataclass(frozen=True, kw_only=True)
class IndexedConfig(LatentConfig):
    """DeepSeek Sparse Attention (report of DeepSeek-V3.2-Exp, section 1) over MLA.

    Each query attends to the `index_topk` causal keys of the highest index score, which
    `n_index_heads` small heads of width `d_index` give. The first d_rope of an index query and key
    are rotated as MLA's own, by `index_pairing`: in halves in DeepSeek-V3.2 ("the input tensor to
    RoPE in the indexer module requires a non-interleaved layout, whereas RoPE in the MLA module
    expects an interleaved layout", README of DeepSeek-V3.2-Exp, 2025-11-17), interleaved in GLM-5.
    An `index_shared` layer has no indexer and takes the choice of an earlier one (IndexShare,
    arXiv 2603.12201; 57 of GLM-5.2's 78 layers). Without query compression the index queries come
    from h, as the content queries do; no published model has that.

    Raises:
        ValueError: a size, a number or a combination that no layer can have, with the fix.
    """

    n_index_heads: int = field()
    d_index: int = field()
    index_topk: int = field()
    index_pairing: str = "half"
    index_shared: bool = False
    chooses_keys = True
    reads_all = False

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("n_index_heads", self.n_index_heads, most=4096)
        checks.whole("d_index", self.d_index)
        checks.whole("index_topk", self.index_topk)
        checks.choice("index_pairing", self.index_pairing, PAIRINGS)
        checks.flag("index_shared", self.index_shared)
        if self.rotation is not None and self.d_index < self.d_rope:
            raise RefusedError("index_width", d_index=self.d_index, d_rope=self.d_rope)
