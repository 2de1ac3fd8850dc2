"""From a GQA layer to MLA with one shared rotary key: TransMLA (arXiv 2502.07864).

A rotation turns pairs, and commutes with any mixing of the KV heads' keys in one pair. So in every
pair the keys of all KV heads are written in the basis of their principal components: the first
one becomes the shared rotary key k_R, and what it leaves of each KV head's key loses its rotation
(RoRoPE). What is left and the values, brought to one size (BKV), share a latent: the leading
principal components on a text's hidden states. Their size is that of the whole or, as in the
published code, the mean of their columns: outputs of the two are up to 28 % apart. The paper's
FreqFold, which folds neighbouring frequencies so that k_R may be narrower than a head, is left out:
here k_R is d_head wide.

What is lost has two causes: the rotation that falls away, and the rank of the latent. Nothing is
lost at full rank where there is one KV head, or no rotation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, einsum

from kvcount import checks
from kvcount.refusals import RefusedError, instance_of
from mla_engine.grouped import GroupedConfig, GroupedQueryAttention
from mla_engine.grouped.projections import shared_places
from mla_engine.latent import LatentConfig, MultiHeadLatentAttention
from mla_engine.layer import Places
from mla_engine.studies.agreement import relative_error

BALANCES = ("columns", "whole")
"""The sizes by which keys and values are brought together; the published code takes the first."""

WITHOUT = ("bias", "qk_norm", "logit_softcap", "sliding_window", "d_rotated", "sinks")
"""Features that a layer may not have: MLA has no place for them."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Relative RMS errors of a converted layer."""

    rank: int
    cached: int  # numbers per token: the latent's and those of k_R
    keys: float  # of what k_R leaves of the keys, out of the latent
    v: float
    u: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Conversion:
    """MLA layers of every rank in the place of one GQA layer."""

    source: GroupedQueryAttention
    W_KR: Tensor | None  # [r,d], float64; None without a rotation
    W_QR: Tensor | None  # [h,r,d]
    W_rest: Tensor  # what k_R leaves of W_K [g,k,d]
    balance: float  # the rest of the keys is multiplied by it beside the values
    directions: Tensor  # principal components of both, the first the largest [g k + g v, n]
    share: float  # of the keys' squared length that k_R holds

    @property
    def most(self) -> int:
        """The rank from which the latent loses nothing."""
        return self.directions.shape[1]

    def config(self, rank: int) -> LatentConfig:
        """Return the MLA of a latent of `rank` numbers."""
        c = self.source.config
        return LatentConfig(
            d_model=c.d_model,
            n_heads=len(self.source.heads),
            d_head=c.d_head,
            d_value=c.d_value,
            d_rope=0 if self.W_KR is None else c.d_head,
            d_latent_kv=rank,
            rope=c.rope,
            softmax_scale=c.scale,
        )

    def layer(self, rank: int) -> MultiHeadLatentAttention:
        """Return the MLA layer with these weights, in the dtype of the source and where it is.

        Raises:
            ValueError: a rank that there is not.
        """
        checks.whole("rank", rank, least=1, most=self.most)
        return MultiHeadLatentAttention.of_weights(
            self.config(rank),
            self._weights(rank),
            dtype=self.source.dtype,
            device=self.source.device,
        )

    def _weights(self, rank: int) -> dict[str, Tensor]:
        c, kept = self.source.config, self.directions[:, :rank]
        rest, values = self.W_rest.flatten(0, 1), self.source.W_V.double().flatten(0, 1)
        of_keys, of_values = kept.split([len(rest), len(values)])
        shared_by = _kv_head_of(self.source)
        W_UK = (of_keys / self.balance).unflatten(0, (-1, c.d_head))
        W_UV = of_values.unflatten(0, (-1, c.d_value))
        weights = {
            "W_UQ": self.source.W_Q.double() * magnitude(c) ** 2,  # k_R has it from its rotation
            "W_DKV": kept.mT @ torch.cat((self.balance * rest, values)),
            "W_UK": W_UK[shared_by],
            "W_UV": W_UV[shared_by],
            "W_O": self.source.W_O,
        }
        return weights if self.W_KR is None else weights | {"W_QR": self.W_QR, "W_KR": self.W_KR}


def converted(
    layer: GroupedQueryAttention, h: Tensor | None = None, balance: str = "columns"
) -> Conversion:
    """Return the MLA layers that come closest to a GQA layer on some hidden states.

    Args:
        layer: MHA, GQA or MQA; of some heads, these are brought over.
        h: hidden states [b,t,d] whose keys and values are to be kept; None takes white noise for
            them, so that the weights alone decide.
        balance: the size that the rest of the keys and the values are brought to: "columns" is the
            mean norm of their columns, of the keys' other principal components and of the values
            after the first d_head (of all where there are no more), as lora_qkv.py takes it
            (github.com/MuLabPKU/TransMLA, cdd6f8e, TransMLA_NeurIPS_2025/transmla); "whole" is
            their Frobenius norm, which is the same in every basis.

    Raises:
        ValueError: a layer with something that MLA has no place for, named; another balance.
    """
    checks.choice("balance", balance, BALANCES)
    checks.kind("layer", layer, GroupedQueryAttention, instance_of(GroupedQueryAttention))
    _check(layer)
    inputs = _inputs(layer, h)
    W_K, W_V = layer.W_K.double(), layer.W_V.double()
    turned = layer.config.rope is not None
    components = _components(layer, inputs) if turned else None
    first = _at_places(layer, components[..., -1].mT) if turned else None
    W_KR = einsum("gk,gkd->kd", first, W_K) if turned else None
    W_QR = first[_kv_head_of(layer)].unsqueeze(-1) * layer.W_Q.double() if turned else None
    rest_of_keys = W_K - first.unsqueeze(-1) * W_KR if turned else W_K
    rest, values = (
        einsum("nd,gkd->ngk", inputs, weight).flatten(1) for weight in (rest_of_keys, W_V)
    )
    factor = 1.0
    if float(rest.norm()) and balance == "whole":
        factor = float(values.norm() / rest.norm())
    elif float(rest.norm()):
        others = _others(layer, inputs, components) if turned else rest
        later = values[:, layer.config.d_head :]
        columns = later if turned and later.shape[1] else values
        factor = float(columns.norm(dim=0).mean() / others.norm(dim=0).mean())
    stacked = torch.cat((factor * rest, values), dim=1)
    directions = torch.linalg.eigh(stacked.mT @ stacked).eigenvectors.flip(1)
    all_keys = float(einsum("nd,gkd->ngk", inputs, W_K).square().sum())
    return Conversion(
        source=layer,
        W_KR=W_KR,
        W_QR=W_QR,
        W_rest=rest_of_keys,
        balance=factor,
        directions=directions[:, : min(stacked.shape[1], layer.config.d_model)],
        share=1 - float(rest.square().sum()) / all_keys if turned else 0.0,
    )


def losses(found: Conversion, h: Tensor, ranks: Sequence[int]) -> list[Loss]:
    """Return the converted layers beside their source, on hidden states [b,t,d].

    Raises:
        ValueError, MemoryBudgetError: a rank that there is not, or as a layer's call.
    """
    exact, shared_by = found.source(h), _kv_head_of(found.source)
    keys = einsum("bsd,gkd->bsgk", h.double(), found.W_rest)[:, :, shared_by]
    made = []
    for rank in ranks:
        trace = found.layer(rank)(h)
        made.append(
            Loss(
                rank=rank,
                cached=rank + found.config(rank).d_rope,
                keys=relative_error(trace.k_C, keys),
                v=relative_error(trace.v_C, exact.v[:, :, shared_by]),
                u=relative_error(trace.u, exact.u),
            )
        )
    return made


def magnitude(config: GroupedConfig) -> float:
    """Return the factor by which the rotation stretches a query and a key."""
    scaling = config.rope and config.rope.scaling
    return scaling.rotation_magnitude if scaling else 1.0


def _check(layer: GroupedQueryAttention) -> None:
    for name in WITHOUT:
        if value := getattr(layer.config, name):
            raise RefusedError("no_place_in_mla", name=name, value=value)


def _inputs(layer: GroupedQueryAttention, h: Tensor | None) -> Tensor:
    """Return the rows whose keys and values are to be kept [n,d], float64."""
    if h is None:
        return torch.eye(layer.config.d_model, dtype=torch.float64, device=layer.device)
    layer._check_hidden(h)
    return h.flatten(0, 1).double()


def _kv_head_of(layer: GroupedQueryAttention) -> Places:
    """Return the place of the KV head of each head [h]."""
    return shared_places(layer.config, layer.heads)


def _pairs(layer: GroupedQueryAttention, inputs: Tensor) -> Tensor:
    """Return the keys of every KV head by the pairs that a rotation turns [n,g,p,2]."""
    keys = einsum("nd,gkd->ngk", inputs, layer.W_K.double())
    half = layer.config.rope.pairing == "half"
    return keys.unflatten(-1, (2, -1)).mT if half else keys.unflatten(-1, (-1, 2))


def _components(layer: GroupedQueryAttention, inputs: Tensor) -> Tensor:
    """Return the principal components over KV heads of every pair, the last the largest [p,g,f]."""
    pairs = _pairs(layer, inputs)
    return torch.linalg.eigh(einsum("ngpx,nfpx->pgf", pairs, pairs)).eigenvectors


def _others(layer: GroupedQueryAttention, inputs: Tensor, components: Tensor) -> Tensor:
    """Return the keys in every component but the first, a column each [n,m]."""
    return einsum("ngpx,pgf->npxf", _pairs(layer, inputs), components[..., :-1]).flatten(1)


def _at_places(layer: GroupedQueryAttention, of_pairs: Tensor) -> Tensor:
    """Return a number of each pair [g,p] at both of its places [g,k]."""
    half = layer.config.rope.pairing == "half"
    return of_pairs.repeat(1, 2) if half else of_pairs.repeat_interleave(2, dim=1)
