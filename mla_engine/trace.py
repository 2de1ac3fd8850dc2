"""Frozen containers of every intermediate; the fields stand in the order of computation.

What a configuration does not have is None and absent from `steps`. Axes: b batch, t query,
s key, h head, g KV head, d model, k content, r rope, v value, c KV latent, l query latent.
"""

from dataclasses import fields
from typing import Any

from torch import Tensor

from mla_engine import tree


class Trace:
    """The base of all traces; a mechanism's are frozen dataclasses of tensors."""

    form: str  # which formulas of SYMBOLS hold: "expanded", "absorbed", "grouped", ...
    as_in: "type[Trace] | None" = None  # whose formulas hold where SYMBOLS says none of this form

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        tree.register(cls, lambda trace: (vars(trace), None), lambda parts, _: cls(**parts))

    @property
    def visible(self) -> Tensor:
        """True where a query attends to a key: bool, broadcast to the attention [b,h,t,s]."""
        return self.mask

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of the tensors that this run computed, in order; the mask is no step."""
        names = (field.name for field in fields(self))
        return tuple(n for n in names if n != "mask" and getattr(self, n) is not None)
