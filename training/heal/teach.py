"""A model of MLA is taught to follow the model that it was made from, layer after layer.

The residual stream is to be behind each attention what it is in the original: W_O is fitted to that
by least squares, on what the taught model itself reads there, so that a layer also mends what those
before it left. Every token counts by the error over its stream's length; the first of a text, whose
stream is longer than all others by far, does not.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from mla_engine.language_model.real import RealModel
from training.heal.convert import Converted

DAMPINGS = (1e-3, 1e-2, 1e-1, 1.0)
"""Dampings of the change, over the mean square of the heads' outputs; each layer takes the one
that errs least on texts that are left out for that."""
LEFT_OUT = 4  # every so many texts


def student(original: RealModel, converted: Converted) -> RealModel:
    """Return the model of MLA; it shares with the original all but attention."""
    config = replace(original.config, attention=converted.layers[0].config)
    made = RealModel(config, tied=original.W_U is None)
    own = {name: w for name, w in original.state_dict().items() if ".attention." not in name}
    made.load_state_dict(own, strict=False, assign=True)
    for block, layer in zip(made.requires_grad_(False).blocks, converted.layers, strict=True):
        block.attention = layer
    return made


@torch.no_grad()
def teach(
    original: RealModel,
    taught: RealModel,
    texts: Tensor,
    tell: Callable[[int, float, float], object] = lambda *_: None,
) -> None:
    """Fit W_O of every layer.

    Args:
        original: is followed.
        taught: of `student`; is changed.
        texts: int64 [n,t], n at least LEFT_OUT.
        tell: called with each layer and its mean square error on the texts that are left out,
            over the square of the stream, before and after.
    """
    positions = torch.arange(texts.shape[1])
    x = theirs = original.W_E[texts]
    for number, (own, block) in enumerate(zip(taught.blocks, original.blocks, strict=True)):
        h = block.before_attention(theirs)
        wanted = theirs + original.mechanism.fused(block.attention, h, positions)
        o = torch.cat([own.attention(own.before_attention(text[None])).o for text in x])
        W_O, o = own.attention.W_O, o.flatten(2)
        weights = 1 / wanted.norm(dim=-1, keepdim=True)
        weights[:, 0] = 0
        missing = (wanted - x - o @ W_O.flatten(1).mT) * weights
        change, after = fitted(o * weights, missing)
        W_O = nn.Parameter(W_O + change.view_as(W_O), requires_grad=False)
        own.attention.W_O = W_O  # the first one may be the original's own
        tell(number, float(missing[::LEFT_OUT].square().sum(-1).mean()), after)
        x = own.mlp(x + o @ W_O.flatten(1).mT)["x_out"]
        theirs = block.mlp(wanted)["x_out"]


def fitted(given: Tensor, wanted: Tensor) -> tuple[Tensor, float]:
    """Return the matrix [d,m] that makes of rows [n,t,m] most of others [n,t,d], and what is left.

    That is the mean square on the texts that were left out as the damping was chosen.
    """
    out = torch.arange(len(given)) % LEFT_OUT == 0
    parts = [_products(given[rows], wanted[rows]) for rows in (out, ~out)]
    tried = {damping: _solved(*parts[1], damping) for damping in DAMPINGS}
    left = {
        damping: float((wanted[out] - given[out] @ matrix.mT).square().sum(-1).mean())
        for damping, matrix in tried.items()
    }
    best = min(left, key=left.get)
    squares, products = (sum(both) for both in zip(*parts, strict=True))
    return _solved(squares, products, best), left[best]


def _products(given: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    given, wanted = given.flatten(0, 1), wanted.flatten(0, 1)
    return (given.mT @ given).double(), (given.mT @ wanted).double()


def _solved(squares: Tensor, products: Tensor, damping: float) -> Tensor:
    damped = squares + damping * squares.diagonal().mean() * torch.eye(len(squares)).double()
    return torch.linalg.solve(damped, products).mT.float()
