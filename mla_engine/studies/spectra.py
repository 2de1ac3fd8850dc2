"""Norms, singular values and effective rank of a layer's matrices, head by head.

Two ranks are given: the numerical one counts the singular values above rounding, the effective one
(Roy and Vetterli 2007, here on squared singular values) says over how many directions the matrix
spreads its energy: exp(H(p)) with p_i = sigma_i^2 / sum sigma^2, which is 1 where one direction has
all and the number of directions where they are equal.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from kvcount import checks
from mla_engine.delta import DeltaAttention
from mla_engine.latent import MultiHeadLatentAttention
from mla_engine.latent.absorption import singular_values_of_product
from mla_engine.layer import AttentionLayer
from mla_engine.pooled import PooledAttention


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
        """The number of singular values above the rounding of the weights' dtype [h]."""
        tolerance = max(self.shape) * torch.finfo(self.dtype).eps
        return (self.singular_values > tolerance * self.singular_values[:, :1]).sum(-1)


Factors = tuple[Tensor, ...]  # one matrix a head [h,m,n], or two whose product it is


def spectra(layer: AttentionLayer) -> dict[str, Spectrum]:
    """Return the spectra of each head's matrices, and of products that are a constant matrix.

    Of MLA W_UK [k,c], W_UV [v,c] and W_QK = W_UQ^T W_UK [l,c], where without query compression l is
    d. Of pooled entries W_UQ [k,l], W_DO [z,v] and W_VO = W_UO W_DO [d,v]: nothing stands between
    these two, while a norm and a rotation part queries from keys, and key and value are one for all
    heads. Of delta attention W_Q and W_K [k,d], W_V [v,d], W_O [d,v], which a convolution, a norm
    or a gate part from one another, and W_A = W_UA W_DA [k,d], which makes the decay.

    A product is never built: its singular values come from triangular factors. Norm weights and
    latent scales are not in them.

    Returns:
        Name of a matrix -> its spectrum.

    Raises:
        ValueError: another kind of layer.
    """
    checks.kind("layer", layer, tuple(MATRICES))
    matrices = next(of for kind, of in MATRICES.items() if isinstance(layer, kind))
    return {name: _spectrum(made, layer.dtype) for name, made in matrices(layer).items()}


def _of_latents(mla: MultiHeadLatentAttention) -> dict[str, Factors]:
    return {"W_UK": (mla.W_UK,), "W_UV": (mla.W_UV,), "W_QK": (mla.W_UQ.mT, mla.W_UK)}


def _of_entries(pooled: PooledAttention) -> dict[str, Factors]:
    group_size, groups = pooled.config.group_size, pooled.output_groups
    of_heads = [groups.index(head // group_size) for head in pooled.heads]
    W_UO = pooled.W_UO[:, of_heads].transpose(0, 1)
    return {"W_UQ": (pooled.W_UQ,), "W_DO": (pooled.W_DO,), "W_VO": (W_UO, pooled.W_DO)}


def _of_state(delta: DeltaAttention) -> dict[str, Factors]:
    single = {name: (delta.get_parameter(name),) for name in ("W_Q", "W_K", "W_V")}
    shared = () if delta.W_DA is None else (delta.W_DA.expand(len(delta.W_UA), -1, -1),)
    return single | {"W_O": (delta.W_O.transpose(0, 1),), "W_A": (delta.W_UA, *shared)}


MATRICES: Mapping[type[AttentionLayer], Callable[..., dict[str, Factors]]] = {
    MultiHeadLatentAttention: _of_latents,
    PooledAttention: _of_entries,
    DeltaAttention: _of_state,
}


def _spectrum(factors: Factors, dtype: torch.dtype) -> Spectrum:
    values = (_singular_values if len(factors) == 1 else singular_values_of_product)(*factors)
    shape = factors[0].shape[1], factors[-1].shape[2]
    return Spectrum(shape=shape, singular_values=values.cpu(), dtype=dtype)


def _singular_values(matrices: Tensor) -> Tensor:
    """Return the singular values of [h,m,n], by the triangle of the longer side."""
    tall = matrices if matrices.shape[1] >= matrices.shape[2] else matrices.mT
    return torch.linalg.svdvals(torch.linalg.qr(tall.double(), mode="r").R)
