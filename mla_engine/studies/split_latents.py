"""MLA with a latent a group of heads, which GPUs can share out: GLA (arXiv 2505.21487).

MLA's one latent is read by every head, so that each GPU of a group that shares out the heads keeps
all of it. In GLA with n latents each belongs to n_heads / n heads and is kept where these are
computed; k_R is on every GPU in both. Here an MLA layer is brought to such latents after its
training: each group keeps the leading principal components of what its heads read of c_KV.
"""

from dataclasses import dataclass, replace
from math import ceil

import torch
from torch import Tensor

from kvcount import checks
from kvcount.refusals import RefusedError
from mla_engine.latent import LatentCache, LatentConfig, MultiHeadLatentAttention
from mla_engine.studies.agreement import relative_error


def group_config(config: LatentConfig, latents: int) -> LatentConfig:
    """Return the MLA of one group's heads and its latent; `latents` groups make up the cache.

    Raises:
        ValueError: heads or a latent that cannot be shared out equally.
    """
    checks.whole("latents", latents)
    checks.multiple("n_heads", config.n_heads, "latents", latents)
    checks.multiple("d_latent_kv", config.d_latent_kv, "latents", latents)
    n_heads, d_latent_kv = config.n_heads // latents, config.d_latent_kv // latents
    return replace(config, n_heads=n_heads, d_latent_kv=d_latent_kv)


def cached_on_each_gpu(config: LatentConfig, latents: int, gpus: int) -> int:
    """Count the numbers per token and layer that a GPU keeps of those that share out the heads.

    With fewer GPUs than latents a GPU has several; with more, several GPUs have the same one.

    Raises:
        ValueError: as `group_config`; no GPU.
    """
    checks.whole("gpus", gpus)
    return ceil(latents / gpus) * group_config(config, latents).d_latent_kv + config.d_rope


@dataclass(frozen=True, eq=False)
class SplitLatents:
    """A layer whose groups of heads have a latent each."""

    source: MultiHeadLatentAttention
    downs: tuple[Tensor, ...]  # from c_KV to a group's latent, each [c / n, c]
    groups: tuple[MultiHeadLatentAttention, ...]  # each as a GPU has it

    def latents(self, h: Tensor) -> list[LatentCache]:
        """Return the cache of each group for h [b,t,d].

        The norm of c_KV is over all of it, before the split.
        """
        whole = self.source.compress(h)
        return [
            group.empty_cache(LatentCache, len(h)).append(whole.c_KV @ down.mT, whole.k_R)
            for group, down in zip(self.groups, self.downs, strict=True)
        ]

    def u(self, h: Tensor) -> Tensor:
        """Return the output for h [b,t,d]: the sum over the groups, as over GPUs [b,t,d]."""
        pairs = zip(self.groups, self.latents(h), strict=True)
        return sum(group(h, latents=latents).u for group, latents in pairs)

    def error(self, h: Tensor) -> float:
        """Return the relative RMS difference to the layer with one latent."""
        return relative_error(self.u(h), self.source(h).u)


def split(mla: MultiHeadLatentAttention, h: Tensor, latents: int) -> SplitLatents:
    """Bring an MLA layer to so many latents that together are as long as its own.

    Args:
        mla: the layer with all heads; it stays as it is.
        h: hidden states [b,t,d] on which what the heads read is to be kept.
        latents: how many.

    Raises:
        ValueError, MemoryBudgetError: as `group_config` and `mla.compress`; a layer of some heads;
            a latent with more numbers than all that the heads make of it.
    """
    config = group_config(mla.config, latents)
    if len(mla.heads) < mla.config.n_heads:
        raise RefusedError("all_heads", built=len(mla.heads), n_heads=mla.config.n_heads)
    rows = mla.config.n_heads * (mla.config.d_head + mla.config.d_value)
    if mla.config.d_latent_kv > rows:
        raise RefusedError("latent_beyond_rows", latent=mla.config.d_latent_kv, rows=rows)
    c_KV = mla.compress(h).c_KV.flatten(0, 1).double()
    parts = [
        _group(mla, config, c_KV, slice(first, first + config.n_heads))
        for first in range(0, mla.config.n_heads, config.n_heads)
    ]
    return SplitLatents(mla, *zip(*parts, strict=True))


def _group(
    mla: MultiHeadLatentAttention, config: LatentConfig, c_KV: Tensor, heads: slice
) -> tuple[Tensor, MultiHeadLatentAttention]:
    W_UK, W_UV = mla.W_UK[heads].double(), mla.W_UV[heads].double()
    ups = torch.cat((W_UK.flatten(0, 1), W_UV.flatten(0, 1)))
    read = c_KV @ ups.mT
    kept = torch.linalg.eigh(read.mT @ read).eigenvectors.flip(1)[:, : config.d_latent_kv]
    of_keys, of_values = kept.split([W_UK[..., 0].numel(), W_UV[..., 0].numel()])
    weights = dict(mla.named_parameters()) | {
        "W_UQ": mla.W_UQ[heads],
        "W_UK": of_keys.unflatten(0, W_UK.shape[:2]),
        "W_UV": of_values.unflatten(0, W_UV.shape[:2]),
        "W_O": mla.W_O[:, heads],
        "W_DKV": kept.mT @ ups @ mla.W_DKV.double(),  # what it is without a norm in between
    }
    if mla.W_QR is not None:
        weights["W_QR"] = mla.W_QR[heads]
    if mla.b_DKV is not None:
        weights["b_DKV"] = kept.mT @ ups @ mla.b_DKV.double()
        weights["b_O"] = mla.b_O * config.n_heads / mla.config.n_heads  # the sum has it once
    if mla.c_KV_norm is not None:
        weights["c_KV_norm"] = torch.ones(config.d_latent_kv)  # has been done, over all of c_KV
    group = MultiHeadLatentAttention.of_weights(config, weights, dtype=mla.dtype, device=mla.device)
    return (kept.mT @ ups).to(c_KV.device, mla.dtype), group
