"""The sizes and options of MHA, GQA and MQA."""

from dataclasses import dataclass, field

from kvcount import checks
from mla_engine.config import KeysInFull, RopeConfig, check_common, effective_scale


@dataclass(frozen=True, kw_only=True)
class GroupedConfig(KeysInFull):
    """MHA (n_kv_heads = n_heads), GQA, and MQA (n_kv_heads = 1); head h reads KV head h g // n_h.

    `bias` is on q, k, v and the output; `qk_norm` an RMSNorm over d_head before the rotation;
    `logit_softcap` x bounds the scaled logits to x tanh(logit / x); `sliding_window` w lets a
    query see itself and the w - 1 tokens before; `d_rotated` turns the first dimensions of each
    head only (GPT-J, GLM), where it is not all of them; with `sinks` each head has a learnt logit
    that takes part in every row's softmax and has no value (gpt-oss).

    Raises:
        ValueError: a size, a number or a combination that no layer can have, with the fix.
    """

    d_model: int
    n_heads: int
    n_kv_heads: int = field()
    d_head: int
    d_value: int | None = None
    rope: RopeConfig | None = None
    softmax_scale: float | None = None
    bias: bool = False
    qk_norm: bool = False
    norm_eps: float = 1e-6
    logit_softcap: float | None = None
    sliding_window: int | None = None
    d_rotated: int | None = None
    sinks: bool = False
    reads_all = True
    can_slide = True

    def __post_init__(self) -> None:
        if self.d_value is None:
            object.__setattr__(self, "d_value", self.d_head)
        check_common(self, ("d_model", "n_kv_heads", "d_head", "d_value"))
        checks.multiple("n_heads", self.n_heads, "n_kv_heads", self.n_kv_heads)
        checks.flag("qk_norm", self.qk_norm)
        checks.flag("sinks", self.sinks)
        if self.logit_softcap is not None:
            checks.positive("logit_softcap", self.logit_softcap)
        if self.sliding_window is not None:
            checks.whole("sliding_window", self.sliding_window)
        if self.d_rotated is not None:
            checks.whole("d_rotated", self.d_rotated, most=self.d_head)
        if self.rope is not None:
            name = "d_head" if self.d_rotated is None else "d_rotated"
            self.rope.check_width(name, getattr(self, name))

    @property
    def scale(self) -> float:
        """The effective softmax scale: d_head^-1/2, times YaRN's magnitude squared."""
        return effective_scale(self.d_head, self.rope, self.softmax_scale)

    @property
    def window(self) -> int | None:
        """The tokens that a query sees."""
        return self.sliding_window

    @property
    def d_rotated_key(self) -> int:
        """The rotated dimensions of a query and a key: all of them, or the first."""
        return (self.d_rotated or self.d_head) if self.rope else 0

    @property
    def group_size(self) -> int:
        """Query heads that share one KV head."""
        return self.n_heads // self.n_kv_heads

    @property
    def kv_shape(self) -> tuple[int, int, int]:
        """Every KV head keeps a key and a value."""
        return self.n_kv_heads, self.d_head, self.d_value
