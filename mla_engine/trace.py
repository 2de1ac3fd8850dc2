"""Frozen containers of every intermediate; the fields stand in the order of computation.

What a configuration does not have is None and absent from `steps`. Axes: b batch, t query,
s key, h head, g KV head, d model, k content, r rope, v value, c KV latent, l query latent.
"""

from dataclasses import fields


class Trace:
    """What all traces share; a mechanism's are frozen dataclasses of tensors."""

    form: str  # which formulas of SYMBOLS hold: "expanded", "absorbed", "grouped", ...

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of the tensors that this run computed, in order; the mask is no step."""
        names = (field.name for field in fields(self))
        return tuple(n for n in names if n != "mask" and getattr(self, n) is not None)
