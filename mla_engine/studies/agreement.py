"""The distance of the two forms of MLA from each other and from float64, in every format.

Over the same weights both forms compute the same function; what differs is the rounding.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from kvcount import checks
from kvcount.refusals import Phrase
from mla_engine.latent import MultiHeadLatentAttention

__all__ = ["DTYPES", "Agreement", "agreement_of", "relative_error"]

DTYPES = (torch.float64, torch.float32, torch.bfloat16)


@dataclass(frozen=True, kw_only=True, eq=False)
class Agreement:
    """The outputs of both forms in one format, float64 copies [b,t,d]."""

    expanded: Tensor
    absorbed: Tensor
    exact: Tensor  # the expanded form in float64

    @property
    def difference(self) -> Tensor:
        """absorbed - expanded [b,t,d]."""
        return self.absorbed - self.expanded

    @property
    def between(self) -> float:
        """Relative RMS difference of the two forms."""
        return relative_error(self.absorbed, self.expanded)

    @property
    def errors(self) -> tuple[float, float]:
        """Relative RMS error of the expanded and of the absorbed form against float64."""
        return tuple(relative_error(u, self.exact) for u in (self.expanded, self.absorbed))


def relative_error(got: Tensor, wanted: Tensor) -> float:
    """Return |got - wanted| / |wanted| over all elements, in float64; 0 where both are zero."""
    got, wanted = got.double(), wanted.double()
    off = float(torch.linalg.vector_norm(got - wanted))
    return off / float(torch.linalg.vector_norm(wanted)) if off else 0.0


def agreement_of(
    layer_in: Callable[[torch.dtype], MultiHeadLatentAttention], h: Tensor
) -> dict[torch.dtype, Agreement]:
    """Run both forms in float64, float32 and bfloat16 over the same weights and inputs.

    Args:
        layer_in: gives the layer in a format.
        h: hidden states [b,t,d]; each format gets them rounded to itself.

    Raises:
        ValueError, MemoryBudgetError: as the layer does.
    """
    checks.kind("h", h, Tensor, Phrase("hidden_states"))
    found: dict[torch.dtype, Agreement] = {}
    for dtype in DTYPES:  # the layer of one format after another
        mla = layer_in(dtype)
        own = h.to(mla.device, dtype)
        expanded, absorbed = mla(own).u.double(), mla.forward_absorbed(own).u.double()
        exact = found[torch.float64].exact if found else expanded
        found[dtype] = Agreement(expanded=expanded, absorbed=absorbed, exact=exact)
    return found
