"""From a model of GQA to one of absorbable MLA, whose rotary key takes what turns.

`studies.transmla` gives every pair of k_R its own frequency. Here a pair stands where it is needed:
slow pairs hardly turn within a text and pass through the latent, and of fast ones k_R holds several
principal components over the KV heads (complex ones: a rotation commutes with complex factors).
A component counts by the logits that are lost if it does not turn. What k_R leaves, turned by the
mean of what its rotation would be, shares a latent with the values; errors of keys are weighed by
the queries that meet them and errors of values by W_O.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, einsum

from mla_engine.config import LongRopeScaling, RopeConfig
from mla_engine.grouped import GroupedQueryAttention
from mla_engine.language_model import LanguageModel
from mla_engine.language_model.reading import by_turns
from mla_engine.latent import LatentConfig, MultiHeadLatentAttention
from mla_engine.rope import inverse_frequencies

LATENT = 128
FARTHEST = 512  # tokens between a query and a key; the distances count by their logarithm
FIRST = 16.0  # times a text's first token counts: most heads look at it, and it is unlike others
BALANCES = (3.0, 10.0, 30.0)
"""Weights of keys beside values in the latent; each layer takes the one whose output errs least."""
TRIED = 256  # tokens of one text of each kind on which the balances are tried
DAMPED = 1e-4


class Components(NamedTuple):
    """The keys of a layer by pairs, in principal components over the KV heads, the largest first.

    A component is z_j = sum_g conj(basis[p,g,j]) size[g,p] k_g; k_g = sum_j basis z_j / size.
    """

    W_K: Tensor  # complex [g,p,d]
    size: Tensor  # [g,p], of the queries
    basis: Tensor  # complex [p,g,j]
    energy: Tensor  # [p,j], the mean square of the logits that it makes


@dataclass(frozen=True, eq=False)
class Converted:
    """The layers of MLA, and how their W_QR comes from W_Q: pair by pair, a factor a head."""

    layers: tuple[MultiHeadLatentAttention, ...]
    pairs: tuple[int, ...]
    mix: tuple[Tensor, ...]  # complex [h,p] of each layer


@torch.no_grad()
def convert(model: LanguageModel, texts: Sequence[Tensor], latent: int = LATENT) -> Converted:
    """Convert every layer to MLA of a latent and a rotary key as wide as a head.

    Args:
        model: of GQA with a rotation by halves.
        texts: int64 [n,t] of each kind, which decide what is kept.
        latent: its size.
    """
    inputs = _inputs(model, torch.cat(list(texts)))
    found = [_components(b.attention, h) for b, h in zip(model.blocks, inputs, strict=True)]
    frequencies = inverse_frequencies(model.config.attention.rope, model.config.attention.d_head)
    pairs = chosen_pairs(torch.stack([one.energy for one in found]).mean(0), frequencies)
    config = latent_config(model, pairs, latent)
    tried = [0, len(texts[0])]
    made = [
        _layer(block.attention, one, h, pairs, config, h[tried, :TRIED])
        for block, one, h in zip(model.blocks, found, inputs, strict=True)
    ]
    layers, mix = zip(*made, strict=True)
    return Converted(layers, pairs, mix)


def chosen_pairs(energy: Tensor, frequencies: Tensor) -> tuple[int, ...]:
    """Return the pair of a head that stands at each pair of k_R: as often as it pays [p]."""
    lost = energy * (1 - _mean_turn(frequencies).real)[:, None]
    best = lost.flatten().topk(len(frequencies)).indices
    return tuple(sorted((best // energy.shape[1]).tolist()))


def latent_config(model: LanguageModel, pairs: Sequence[int], latent: int) -> LatentConfig:
    """Return the configuration; LongRoPE's divisors give every pair the frequency that it has."""
    c = model.config.attention
    own = inverse_frequencies(c.rope, c.d_head)
    divisors = tuple((own / own[list(pairs)]).tolist())
    scaling = LongRopeScaling(
        short_factor=divisors,
        long_factor=divisors,
        original_max_position=model.config.max_context,
        attention_factor=1.0,
    )
    return LatentConfig(
        d_model=c.d_model,
        n_heads=c.n_heads,
        d_head=c.d_head,
        d_rope=c.d_head,
        d_latent_kv=latent,
        rope=RopeConfig(theta=c.rope.theta, pairing="half", scaling=scaling),
        softmax_scale=c.scale,
    )


def _inputs(model: LanguageModel, texts: Tensor) -> list[Tensor]:
    """Return what enters the attention of each layer [n,t,d]."""
    read = [[trace.attention.h for trace in by_turns(model, text[None])] for text in texts]
    return [torch.cat(layer) for layer in zip(*read, strict=True)]


def _components(layer: GroupedQueryAttention, h: Tensor) -> Components:
    c, later = layer.config, h[:, 1:].flatten(0, 1)
    q = _complex(einsum("nd,hkd->nhk", later, layer.W_Q))
    k = _complex(einsum("nd,gkd->ngk", later, layer.W_K))
    size = q.abs().square().mean(0).unflatten(0, (c.n_kv_heads, -1)).mean(1).sqrt()
    y = k * size * c.scale / c.n_kv_heads**0.5
    values, vectors = torch.linalg.eigh((einsum("ngp,nfp->pgf", y, y.conj()) / len(y)).cdouble())
    W_K = _complex(layer.W_K.double().mT).mT
    return Components(W_K, size.double(), vectors.flip(-1), values.flip(-1).clamp(min=0))


def _layer(
    layer: GroupedQueryAttention,
    found: Components,
    h: Tensor,
    pairs: Sequence[int],
    config: LatentConfig,
    tried: Tensor,
) -> tuple[MultiHeadLatentAttention, Tensor]:
    c = layer.config
    group = c.n_heads // c.n_kv_heads
    kept, W_KR, mix = torch.zeros_like(found.W_K), [], []
    for place, pair in enumerate(pairs):
        basis, size = found.basis[pair, :, pairs[:place].count(pair)], found.size[:, pair]
        z = (basis.conj() * size) @ found.W_K[:, pair]
        kept[:, pair] += (basis / size)[:, None] * z
        norm = found.energy[pair, pairs[:place].count(pair)].sqrt() / c.scale + 1e-6
        W_KR.append(z / norm)
        mix.append((basis / size * norm).conj().repeat_interleave(group))
    mix = torch.stack(mix, 1)
    W_Q = _complex(layer.W_Q.double().mT).mT
    frequencies = inverse_frequencies(c.rope, c.d_head)
    rest = _halves((found.W_K - kept) * _mean_turn(frequencies).conj()[:, None])
    fixed = {
        "W_UQ": layer.W_Q,
        "W_QR": _halves(mix[..., None] * W_Q[:, list(pairs)]),
        "W_KR": _halves(torch.stack(W_KR)),
        "W_O": layer.W_O,
    }
    u, best = layer(tried).u, None
    for balance in BALANCES:
        weights = fixed | _latent(layer, rest, h, balance, config.d_latent_kv)
        made = MultiHeadLatentAttention.of_weights(config, weights)
        error = float((made(tried).u - u).square().sum())
        if best is None or error < best[0]:
            best = error, made
    return best[1], mix


def _latent(
    layer: GroupedQueryAttention, rest: Tensor, h: Tensor, balance: float, latent: int
) -> dict[str, Tensor]:
    """Return W_DKV, W_UK and W_UV: the principal components of weighed keys and values."""
    c = layer.config
    group, kv_heads = c.n_heads // c.n_kv_heads, c.n_kv_heads
    of_queries = _second_moments(h[:, 1:])
    first_weighs = torch.cat((h[:, :1] * FIRST**0.5, h[:, 1:]), 1)
    W_Q = layer.W_Q.double().unflatten(0, (kv_heads, group))
    W_O = layer.W_O.double().unflatten(1, (kv_heads, group))
    met = einsum("gnkd,de,gnle->gkl", W_Q, of_queries, W_Q) / group * c.scale**2
    to_keys, from_keys = _root(met, DAMPED)
    to_values, from_values = _root(einsum("dgnv,dgnw->gvw", W_O, W_O), 1e-6)
    keys = balance * (to_keys @ rest).flatten(0, 1)
    stacked = torch.cat((keys, (to_values @ layer.W_V.double()).flatten(0, 1)))
    values, vectors = torch.linalg.eigh(stacked @ _second_moments(first_weighs) @ stacked.mT)
    values, vectors = values[-latent:].flip(0).sqrt(), vectors[:, -latent:].flip(1)
    up = (vectors * values).split([len(keys), len(stacked) - len(keys)])
    W_UK = from_keys @ up[0].unflatten(0, (kv_heads, -1)) / balance
    W_UV = from_values @ up[1].unflatten(0, (kv_heads, -1))
    return {
        "W_DKV": (vectors.mT @ stacked) / values[:, None],
        "W_UK": W_UK.repeat_interleave(group, 0),
        "W_UV": W_UV.repeat_interleave(group, 0),
    }


def _second_moments(h: Tensor) -> Tensor:
    rows = h.flatten(0, 1)
    return (rows.mT @ rows / len(rows)).double()


def _root(squares: Tensor, damped: float) -> tuple[Tensor, Tensor]:
    """Return square roots of matrices [g,k,k] and the inverses of these."""
    values, vectors = torch.linalg.eigh(squares)
    values = (values.clamp(min=0) + damped * values[:, -1:]).sqrt().unsqueeze(-2)
    return vectors * values @ vectors.mT, vectors / values @ vectors.mT


def _mean_turn(frequencies: Tensor) -> Tensor:
    """Return the mean of exp(i w distance) over the distances [p], complex."""
    distances = torch.linspace(0, math.log(FARTHEST), 200, dtype=torch.float64).exp()
    return torch.exp(1j * frequencies[:, None] * distances).mean(1)


def _complex(x: Tensor) -> Tensor:
    """Return pairs by halves [..., 2p] as complex numbers [..., p]."""
    return torch.complex(*x.chunk(2, -1))


def _halves(x: Tensor) -> Tensor:
    """Return complex rows [..., p, d] as real ones by halves [..., 2p, d]."""
    return torch.cat((x.real, x.imag), -2)
