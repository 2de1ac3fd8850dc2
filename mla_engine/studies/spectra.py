"""Norms, singular values and effective rank of a layer's matrices, head by head.

Two ranks are given: the numerical one counts the singular values above rounding, the effective one
(Roy and Vetterli 2007, here on squared singular values) says over how many directions the matrix
spreads its energy: exp(H(p)) with p_i = sigma_i^2 / sum sigma^2, which is 1 where one direction has
all and the number of directions where they are equal.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from mla_engine import checks
from mla_engine.latent import MultiHeadLatentAttention
from mla_engine.latent.absorption import singular_values_of_product

__all__ = ["Spectrum", "spectra"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Spectrum:
    """The singular values of one matrix a head."""

    shape: tuple[int, int]  # of each matrix
    singular_values: Tensor  # falling [h, n], float64
    dtype: torch.dtype  # of the weights: what counts as rounding

    @property
    def norm(self) -> Tensor:
        """Frobenius norm, (sum of sigma^2)^1/2 [h]."""
        return self.singular_values.norm(dim=-1)

    @property
    def effective_rank(self) -> Tensor:
        """exp(entropy of sigma^2 / sum sigma^2) [h]; NaN for a matrix of zeros."""
        energy = self.singular_values.square()
        share = energy / energy.sum(-1, keepdim=True)
        return torch.special.entr(share).sum(-1).exp()

    @property
    def numerical_rank(self) -> Tensor:
        """How many singular values are above the rounding of the weights' dtype [h]."""
        tolerance = max(self.shape) * torch.finfo(self.dtype).eps
        return (self.singular_values > tolerance * self.singular_values[:, :1]).sum(-1)


def spectra(
    mla: MultiHeadLatentAttention, heads: Iterable[int] | None = None
) -> dict[str, Spectrum]:
    """Spectra of W_UK [k,c], W_UV [v,c] and W_QK = W_UQ^T W_UK [l,c] of each head.

    W_QK is never built: its singular values come from triangular factors of W_UQ and W_UK. Without
    query compression l is d. Norm weights and latent scales are not in them.

    Args:
        mla: the layer.
        heads: global numbers of the heads, all by default, in the order of the result.

    Returns:
        {"W_UK": Spectrum, "W_UV": Spectrum, "W_QK": Spectrum}.

    Raises:
        ValueError: another kind of layer, or an unknown head.
    """
    checks.kind("mla", mla, MultiHeadLatentAttention)
    places = slice(None) if heads is None else [_place(head, mla) for head in heads]
    W_UQ, W_UK, W_UV = (W[places] for W in (mla.W_UQ, mla.W_UK, mla.W_UV))
    (k, c), v, query = W_UK.shape[1:], W_UV.shape[1], W_UQ.shape[2]
    found = {
        "W_UK": ((k, c), _singular_values(W_UK)),
        "W_UV": ((v, c), _singular_values(W_UV)),
        "W_QK": ((query, c), singular_values_of_product(W_UQ.mT, W_UK)),
    }
    return {
        name: Spectrum(shape=shape, singular_values=values.cpu(), dtype=mla.dtype)
        for name, (shape, values) in found.items()
    }


def _place(head: int, mla: MultiHeadLatentAttention) -> int:
    checks.choice("heads", head, mla.heads)
    return mla.heads.index(head)


def _singular_values(matrices: Tensor) -> Tensor:
    """Of [h,m,n], by the triangle of the longer side."""
    tall = matrices if matrices.shape[1] >= matrices.shape[2] else matrices.mT
    return torch.linalg.svdvals(torch.linalg.qr(tall.double(), mode="r").R)
