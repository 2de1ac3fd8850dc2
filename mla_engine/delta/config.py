"""The sizes and options of Kimi Delta Attention."""

from dataclasses import dataclass
from typing import ClassVar

from kvcount import checks
from kvcount.refusals import RefusedError
from mla_engine.config import AttentionConfig


@dataclass(frozen=True, kw_only=True)
class DeltaConfig(AttentionConfig):
    """Kimi Delta Attention (Kimi Linear, arXiv 2510.26692, section 3).

    `d_head` is the width of queries and keys, `d_value` that of values. `conv_width` tokens enter
    each short convolution. `d_decay` and `d_gate` are the ranks of the projections to the decay and
    to the output gate; None is one full matrix (Ling-3.0; of the gate Kimi-K3, too). With
    `decay_floor` the decay is floor x sigmoid(exp(A_log) x), in log space, so that no channel loses
    more a token (GLM-5.3, Ling-3.0: -5); without it -exp(A_log) softplus(x). There is no rotation:
    the order of the tokens is in the decay and the convolutions.

    Raises:
        ValueError: a size or a number that no layer can have, with the fix.
    """

    d_model: int
    n_heads: int
    d_head: int
    d_value: int | None = None
    conv_width: int = 4
    d_decay: int | None = None
    d_gate: int | None = None
    decay_floor: float | None = None
    norm_eps: float = 1e-5
    rope: ClassVar[None] = None
    has_state: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.d_value is None:
            object.__setattr__(self, "d_value", self.d_head)
        checks.whole("n_heads", self.n_heads, most=4096)
        for name in ("d_model", "d_head", "d_value"):
            checks.whole(name, getattr(self, name))
        checks.whole("conv_width", self.conv_width, most=64)
        for name in ("d_decay", "d_gate"):
            if getattr(self, name) is not None:
                checks.whole(name, getattr(self, name))
        checks.positive("norm_eps", self.norm_eps)
        if self.decay_floor is not None:
            self._check_floor()

    def _check_floor(self) -> None:
        try:
            checks.positive("decay_floor", -self.decay_floor)
        except (TypeError, ValueError) as error:
            raise RefusedError("decay_floor", value=self.decay_floor) from error

    @property
    def n_kv_heads(self) -> int:
        """Every head has a key and a value of its own."""
        return self.n_heads

    @property
    def scale(self) -> float:
        """The scale of what a query reads from the state: d_head^-1/2."""
        return self.d_head**-0.5
