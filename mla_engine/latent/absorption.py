"""The merged matrices of the absorbed form, one pair a head, with their rank and size.

They are larger than their factors (DeepSeek-V3: 100.7 M entries against 33.6 M for W_QK), so
inference engines keep the factors and only change the order of multiplication.
"""

from dataclasses import dataclass, field
from typing import Self

import torch
from torch import Tensor, einsum

from kvcount.refusals import RefusedError
from mla_engine.latent.config import LatentConfig


@dataclass(frozen=True, kw_only=True, eq=False)
class AbsorbedMatrices:
    """score_C = c_Q^T W_QK c_KV and u = sum over heads of W_VO (attention c_KV).

    The latent scales of a configuration are not in them. Without query compression l is d.
    """

    W_QK: Tensor  # [h,l,c]
    W_VO: Tensor  # [h,d,c]
    factors_QK: tuple[Tensor, Tensor] = field(repr=False)  # W_UQ^T [h,l,k], W_UK [h,k,c]
    factors_VO: tuple[Tensor, Tensor] = field(repr=False)  # W_O [h,d,v], W_UV [h,v,c]

    @classmethod
    def of(cls, W_UQ: Tensor, W_UK: Tensor, W_UV: Tensor, W_O: Tensor) -> Self:
        """Merge [h,k,l] with [h,k,c], and [d,h,v] with [h,v,c]."""
        return cls(
            W_QK=einsum("hkl,hkc->hlc", W_UQ, W_UK),
            W_VO=einsum("dhv,hvc->hdc", W_O, W_UV),
            factors_QK=(W_UQ.mT, W_UK),
            factors_VO=(W_O.transpose(0, 1), W_UV),
        )

    @property
    def merged_elements(self) -> tuple[int, int]:
        """Entries of W_QK and of W_VO over these heads."""
        return self.W_QK.numel(), self.W_VO.numel()

    @property
    def factor_elements(self) -> tuple[int, int]:
        """Entries of W_UQ and W_UK, and of W_UV and W_O, over these heads."""
        pairs = self.factors_QK, self.factors_VO
        return tuple(sum(factor.numel() for factor in pair) for pair in pairs)

    def rank_QK(self) -> Tensor:
        """Return the numerical rank of each head's W_QK, at most min(l,k,c) [h]."""
        return _rank(self.factors_QK, self.W_QK)

    def rank_VO(self) -> Tensor:
        """Return the numerical rank of each head's W_VO, at most min(d,v,c) [h]."""
        return _rank(self.factors_VO, self.W_VO)


def require_no_gate(config: LatentConfig) -> None:
    """Raise ValueError for an output gate: W_O and W_UV, which it parts, cannot be merged."""
    if config.output_gate is not None:
        raise RefusedError("gated_merge", output_gate=config.output_gate)


def _rank(factors: tuple[Tensor, Tensor], matrix: Tensor) -> Tensor:
    values = singular_values_of_product(*factors)
    tolerance = max(matrix.shape[1:]) * torch.finfo(matrix.dtype).eps  # as numpy, Matlab do
    return (values > tolerance * values[:, :1]).sum(-1)


def singular_values_of_product(left: Tensor, right: Tensor) -> Tensor:
    """Return the singular values of left @ right, falling [h, min(m,k,n)], float64.

    By way of their small triangular factors; the product itself is never made.
    """
    triangle = torch.linalg.qr(left.double(), mode="r").R
    lower = torch.linalg.qr(right.double().mT, mode="r").R
    return torch.linalg.svdvals(triangle @ lower.mT)
