"""The sizes and options of Multi-head Latent Attention."""

from dataclasses import dataclass, field

from kvcount import checks
from mla_engine.config import KeysInFull, RopeConfig, check_common, effective_scale

PLAIN_ROPE = RopeConfig()
OUTPUT_GATES = (None, "channel", "head")


@dataclass(frozen=True, kw_only=True)
class LatentConfig(KeysInFull):
    """Multi-head Latent Attention (DeepSeek-V2, arXiv 2405.04434, section 2.1).

    `d_head` is the content width (qk_nope_head_dim), `d_rope` the rotary width beside it;
    `d_latent_q` None projects the queries straight from h (V2-Lite). `bias` is on W_DQ, W_DKV,
    W_KR and W_O. `q_latent_scale` multiplies q_C and q_R, `kv_latent_scale` c_KV after its norm
    and before caching (LongCat). With d_rope = 0 `rope` is ignored; with rope None and d_rope > 0
    the shared part exists and is not rotated (Kimi-Linear). Positions from `position_limit` on are
    refused: there the model does what this layer does not (Mistral 4 raises its softmax scale).
    With `output_gate` each "channel" (Kimi-K3) or each "head" (Ling-3.0) of the heads' outputs is
    multiplied by a sigmoid of h before W_O.

    Raises:
        ValueError: a size, a number or a combination that no layer can have, with the fix.
    """

    d_model: int
    n_heads: int
    d_head: int
    d_latent_kv: int = field()
    d_rope: int = 0
    d_value: int | None = None
    d_latent_q: int | None = None
    latent_norm: bool = False
    norm_eps: float = 1e-6
    rope: RopeConfig | None = PLAIN_ROPE
    softmax_scale: float | None = None
    q_latent_scale: float = 1.0
    kv_latent_scale: float = 1.0
    bias: bool = False
    position_limit: int | None = None
    output_gate: str | None = None
    has_latent = True
    reads_all = True

    def __post_init__(self) -> None:
        if self.d_value is None:
            object.__setattr__(self, "d_value", self.d_head)
        check_common(self, ("d_model", "d_head", "d_latent_kv", "d_value"))
        checks.whole("d_rope", self.d_rope, least=0)
        if self.d_latent_q is not None:
            checks.whole("d_latent_q", self.d_latent_q)
        if self.position_limit is not None:
            checks.whole("position_limit", self.position_limit, most=2**40)
        checks.flag("latent_norm", self.latent_norm)
        checks.choice("output_gate", self.output_gate, OUTPUT_GATES)
        for name in ("q_latent_scale", "kv_latent_scale"):
            checks.positive(name, getattr(self, name))
        if self.rotation is not None:
            self.rotation.check_width("d_rope", self.d_rope)

    @property
    def rotation(self) -> RopeConfig | None:
        """The rotation that takes place: none without rotary dimensions."""
        return self.rope if self.d_rope else None

    @property
    def scale(self) -> float:
        """The effective softmax scale: (d_head + d_rope)^-1/2, times YaRN's magnitude squared."""
        return effective_scale(self.d_key, self.rotation, self.softmax_scale)

    @property
    def d_key(self) -> int:
        """The width of a query and a key: content, and the rotary part beside it."""
        return self.d_head + self.d_rope

    @property
    def kv_shape(self) -> tuple[int, int, int]:
        """Up-projected, every head has a key [k_C; k_R] and a value."""
        return self.n_heads, self.d_key, self.d_value
