"""The sizes and options of attention over a window and pooled entries."""

from dataclasses import dataclass, field

from kvcount import checks
from kvcount.refusals import RefusedError
from mla_engine.config import (
    AttentionConfig,
    LongRopeScaling,
    RopeConfig,
    check_common,
    effective_scale,
)

PLAIN_ROPE = RopeConfig()


@dataclass(frozen=True, kw_only=True)
class PooledConfig(AttentionConfig):
    """Compressed attention (DeepSeek-V4, section 2.3): one vector a token is key and value.

    A query sees the last `window` tokens, a learned sink, and entries that each pool `pooling`
    tokens; with pooling 0 there are none (V4's layers of only a window). With `overlap` an entry
    also pools the block of tokens before its own. `index_topk` lets an indexer of `n_index_heads`
    heads of width `d_index` choose that many entries for a query; without it all are read. CSA has
    both, HCA neither. Of each head of width `d_head` the last `d_rope` are rotated. The heads'
    outputs go through `n_output_groups` latents of width `d_latent_o`.

    Raises:
        ValueError: a size, a number or a combination that no layer can have, with the fix.
    """

    d_model: int
    n_heads: int
    d_head: int
    d_latent_q: int = field()
    d_latent_o: int
    n_output_groups: int
    window: int = field()
    d_rope: int = 0
    pooling: int = 0
    overlap: bool = False
    index_topk: int | None = None
    n_index_heads: int | None = None
    d_index: int | None = None
    norm_eps: float = 1e-6
    rope: RopeConfig | None = PLAIN_ROPE
    softmax_scale: float | None = None
    bias = False  # no projection has one
    has_entries = True
    sinks = True

    def __post_init__(self) -> None:
        check_common(self, ("d_model", "d_head", "d_latent_q", "d_latent_o", "window"))
        checks.whole("n_output_groups", self.n_output_groups, most=4096)
        checks.multiple("n_heads", self.n_heads, "n_output_groups", self.n_output_groups)
        for name in ("d_rope", "pooling"):
            checks.whole(name, getattr(self, name), least=0)
        checks.flag("overlap", self.overlap)
        self._check_indexer()
        for name in ("d_head", "d_index"):
            width = getattr(self, name)
            if width is not None and self.d_rope > width:
                raise RefusedError("rotated_width", name=name, width=width, d_rope=self.d_rope)
        if self.rotation is not None:
            self.rotation.check_width("d_rope", self.d_rope)
            if self.pooling and isinstance(self.rotation.scaling, LongRopeScaling):
                raise RefusedError("pooled_longrope")

    def _check_indexer(self) -> None:
        if not self.pooling and (self.overlap or self.index_topk is not None):
            raise RefusedError("no_pooling")
        for name, most in (("index_topk", 2**20), ("n_index_heads", 4096), ("d_index", 2**20)):
            size = getattr(self, name)
            if (size is None) != (self.index_topk is None):
                raise RefusedError("part_of_indexer", name=name, value=size)
            if size is not None:
                checks.whole(name, size, most=most)

    @property
    def chooses(self) -> bool:
        """True if an indexer chooses among the entries."""
        return self.index_topk is not None

    @property
    def d_value(self) -> int:
        """The value is the key."""
        return self.d_head

    @property
    def d_latent_kv(self) -> int:
        """The width of what is kept of a token: that of a head."""
        return self.d_head

    @property
    def n_series(self) -> int:
        """Into how many entries a token goes: its own, and with overlap the next one."""
        return 1 + self.overlap

    @property
    def n_slots(self) -> int:
        """Tokens that an entry pools."""
        return self.n_series * self.pooling

    @property
    def group_size(self) -> int:
        """Heads whose outputs share a latent."""
        return self.n_heads // self.n_output_groups

    @property
    def rotation(self) -> RopeConfig | None:
        """The rotation that takes place: none without rotary dimensions."""
        return self.rope if self.d_rope else None

    @property
    def scale(self) -> float:
        """The effective softmax scale: d_head^-1/2, times YaRN's magnitude squared."""
        return effective_scale(self.d_head, self.rotation, self.softmax_scale)
